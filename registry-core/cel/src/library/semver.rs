//! Semantic versions.

use super::{Call, Native};
use crate::value::foreign::semver::Version;
use crate::value::{Evaluated, EvaluationError, Foreign, Value};

pub(super) fn native(name: &str) -> Option<Native> {
    Some(match name {
        "semver" => semver,
        "isSemver" => is_semver,
        "major" | "minor" | "patch" => part,
        _ => return None,
    })
}

fn parse_args(call: &Call<'_, '_>) -> Option<Result<Version, Box<EvaluationError>>> {
    match call.args {
        [Value::String(text)] | [Value::String(text), Value::Bool(false)] => {
            Some(Version::parse(text.as_str()))
        }
        [Value::String(text), Value::Bool(true)] => Some(Version::parse_tolerant(text.as_str())),
        _ => None,
    }
}

fn semver<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match parse_args(call) {
        Some(Ok(version)) => Ok(Value::foreign(Foreign::Semver(version))),
        Some(Err(error)) => Err(error),
        None => call.no_such_overload(),
    }
}

fn is_semver<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match parse_args(call) {
        Some(parsed) => Ok(Value::Bool(parsed.is_ok())),
        None => call.no_such_overload(),
    }
}

fn part<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let [Value::Foreign(foreign)] = call.args else {
        return call.no_such_overload();
    };
    let Foreign::Semver(version) = foreign.as_ref() else {
        return call.no_such_overload();
    };
    let [major, minor, patch] = version.core;
    let part = match call.function {
        "major" => major,
        "minor" => minor,
        _ => patch,
    };
    Ok(Value::Int(part as i64))
}
