//! Regular expressions in RE2's syntax.

use super::{Call, Native, list_of_texts};
use crate::cel::value::{Evaluated, EvaluationError, Value, fail};
use crate::schema::go_regexp::{self, Limits};

/// The states that matching keeps may be as large as the expression: they are kept for one evaluation only.
const LIMITS: Limits = Limits { compiled_bytes: 4 << 20, cached_bytes: 4 << 20 };

/// Estimated size up to which compiling a pattern costs nothing.
const FREE_SIZE: u64 = 100;
/// The cost of compiling what is larger, for each unit of its estimated size.
const COST_OF_SIZE: u64 = 4;

pub(super) fn native(name: &str) -> Option<Native> {
    Some(match name {
        "find" => find,
        "findAll" => find_all,
        _ => return None,
    })
}

/// Compiles a regular expression of Go's syntax. The message of an error is Go's as far as it is known.
///
/// # Errors
/// Fails if it is malformed, uses what Go does not have, or is too large.
pub(crate) fn compile(pattern: &str) -> Result<regex::Regex, String> {
    go_regexp::compile_within(LIMITS, pattern)
}

/// Calls a function with the compiled pattern and the text.
fn with_pattern<T>(
    call: &mut Call<'_, '_>,
    pattern: &str,
    prefix: &str,
    apply: impl FnOnce(&regex::Regex) -> T,
) -> Result<T, Box<EvaluationError>> {
    match call.pattern {
        Some(known) if known.text == pattern => Ok(apply(&known.regex)),
        _ => {
            call.budget.charge(compile_cost(pattern))?;
            match compile(pattern) {
                Ok(compiled) => Ok(apply(&compiled)),
                Err(message) => fail(format!("{prefix}{message}")),
            }
        }
    }
}

/// Returns the cost of compiling a pattern that is known only when it is evaluated: Kubernetes' costs leave it out, and a
/// short pattern may be large compiled. Usual patterns cost nothing.
fn compile_cost(pattern: &str) -> u64 {
    go_regexp::size(pattern).saturating_sub(FREE_SIZE).saturating_mul(COST_OF_SIZE)
}

pub(super) fn matches<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::String(text), Value::String(pattern)] => {
            with_pattern(call, pattern.as_str(), "", |regex| Value::Bool(regex.is_match(text.as_str())))
        }
        _ => call.no_such_overload(),
    }
}

fn find<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::String(text), Value::String(pattern)] => {
            with_pattern(call, pattern.as_str(), "Illegal regex: ", |regex| {
                Value::string(regex.find(text.as_str()).map_or("", |found| found.as_str()))
            })
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
    with_pattern(call, pattern.as_str(), "Illegal regex: ", |regex| {
        list_of_texts(regex.find_iter(text.as_str()).take(limit).map(|found| found.as_str().to_owned()))
    })
}
