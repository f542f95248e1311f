//! Regular expressions in RE2's syntax.

use super::{Call, Native, list_of_texts};
use crate::cel::value::{Evaluated, EvaluationError, Value, fail};
use crate::schema::pattern_size;

mod go_syntax;

/// Maximum size in bytes of a compiled expression: a pattern can be much larger compiled than written.
const MAX_COMPILED_BYTES: usize = 4 << 20;

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
pub fn compile(pattern: &str) -> Result<regex::Regex, String> {
    let translated =
        go_syntax::translate(pattern).map_err(|reason| format!("error parsing regexp: {reason}"))?;
    regex::RegexBuilder::new(&translated)
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MAX_COMPILED_BYTES)
        .build()
        .map_err(|error| go_message(pattern, &error))
}

fn go_message(pattern: &str, error: &regex::Error) -> String {
    let text = error.to_string();
    let reason = if text.contains("unclosed character class") {
        let start = pattern.rfind('[').and_then(|start| pattern.get(start..)).unwrap_or(pattern);
        format!("missing closing ]: `{start}`")
    } else if text.contains("unclosed group") {
        format!("missing closing ): `{pattern}`")
    } else if text.contains("unopened group") {
        format!("unexpected ): `{pattern}`")
    } else if text.contains("repetition operator missing expression") {
        let operator = pattern.chars().find(|character| matches!(character, '*' | '+' | '?')).unwrap_or('*');
        format!("missing argument to repetition operator: `{operator}`")
    } else if text.contains("look-around") {
        format!("invalid or unsupported Perl syntax: `{}`", pattern.get(..3).unwrap_or(pattern))
    } else if text.contains("size limit") {
        "expression too large".to_owned()
    } else {
        format!("invalid syntax: `{pattern}`")
    };
    format!("error parsing regexp: {reason}")
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
    pattern_size(pattern).saturating_sub(FREE_SIZE).saturating_mul(COST_OF_SIZE)
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
