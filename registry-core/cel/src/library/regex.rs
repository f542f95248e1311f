//! Regular expressions in RE2's syntax.

use std::ops::Range;

use super::{Call, Native, list_of_texts};
use crate::value::{Evaluated, EvaluationError, Value, fail};
use registry_meta::budget::Budget;
use registry_schema::go_regexp::{MatchError, Pattern};

pub(super) fn native(name: &str) -> Option<Native> {
    Some(match name {
        "find" => find,
        "findAll" => find_all,
        _ => return None,
    })
}

/// Calls a function with the pattern.
fn with_pattern<T>(
    call: &Call<'_, '_>,
    pattern: &str,
    prefix: &str,
    apply: impl FnOnce(&Pattern, &Budget) -> Result<T, MatchError>,
) -> Result<T, Box<EvaluationError>> {
    let made;
    let pattern = match call.pattern {
        Some(known) if known.text() == pattern => known,
        _ => match Pattern::parse(pattern) {
            Ok(parsed) => {
                made = parsed;
                &made
            }
            Err(error) => return fail(format!("{prefix}{error}")),
        },
    };
    match call.budget.with_request(|request| apply(pattern, request)) {
        Ok(outcome) => Ok(outcome),
        Err(MatchError::Exhausted(exhausted)) => Err(Box::new(exhausted.into())),
        Err(error @ MatchError::TooLarge { .. }) => fail(format!("{prefix}{error}")),
    }
}

pub(super) fn matches<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::String(text), Value::String(pattern)] => {
            let is_match = with_pattern(call, pattern.as_str(), "", |pattern, request| {
                pattern.is_match(text.as_str(), request)
            });
            is_match.map(Value::Bool)
        }
        _ => call.no_such_overload(),
    }
}

/// Returns the places of matches.
fn places(
    call: &Call<'_, '_>,
    text: &str,
    pattern: &str,
    limit: usize,
) -> Result<Vec<Range<usize>>, Box<EvaluationError>> {
    with_pattern(call, pattern, "Illegal regex: ", |pattern, request| pattern.find_all(text, limit, request))
}

fn find<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::String(text), Value::String(pattern)] => {
            let text = text.as_str();
            let found = places(call, text, pattern.as_str(), 1)?.into_iter().next();
            Ok(Value::string(found.and_then(|place| text.get(place)).unwrap_or_default()))
        }
        _ => call.no_such_overload(),
    }
}

fn find_all<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let (text, pattern, limit) = match call.args {
        [Value::String(text), Value::String(pattern)] => (text, pattern, usize::MAX),
        [Value::String(text), Value::String(pattern), Value::Int(limit)] => {
            (text, pattern, usize::try_from(*limit).unwrap_or(usize::MAX))
        }
        _ => return call.no_such_overload(),
    };
    let text = text.as_str();
    let found = places(call, text, pattern.as_str(), limit)?;
    Ok(list_of_texts(found.into_iter().map(|place| text.get(place).unwrap_or_default().to_owned())))
}
