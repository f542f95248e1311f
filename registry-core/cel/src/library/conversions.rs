//! Conversions between types.

use std::sync::Arc;

use super::{Call, Native};
use crate::types::Type;
use crate::value::{Evaluated, Foreign, Timestamp, Value, fail, time};
use registry_meta::go_text;

pub(super) fn native(name: &str) -> Option<Native> {
    Some(match name {
        "bool" => to_bool,
        "bytes" => to_bytes,
        "double" => to_double,
        "duration" => to_duration,
        "int" => to_int,
        "string" => to_string,
        "timestamp" => to_timestamp,
        "uint" => to_uint,
        _ => return None,
    })
}

/// The error of a text that cannot be converted.
fn conversion_error<'a>(to: &Type) -> Evaluated<'a> {
    fail(format!("type conversion error from 'string' to '{}'", to.name()))
}

fn to_bool<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::Bool(value)] => Ok(Value::Bool(*value)),
        [Value::String(text)] => match text.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            _ => conversion_error(&Type::Bool),
        },
        _ => call.no_such_overload(),
    }
}

fn to_bytes<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::Bytes(bytes)] => Ok(Value::Bytes(Arc::clone(bytes))),
        [Value::String(text)] => Ok(Value::Bytes(Arc::from(text.as_str().as_bytes()))),
        _ => call.no_such_overload(),
    }
}

fn to_double<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::Double(number)] => Ok(Value::Double(*number)),
        [Value::Int(number)] => Ok(Value::Double(*number as f64)),
        [Value::Uint(number)] => Ok(Value::Double(*number as f64)),
        [Value::String(text)] => match text.as_str().parse::<f64>() {
            // Digits that are too large are no infinity.
            Ok(number) if number.is_finite() || !text.as_str().contains(|c: char| c.is_ascii_digit()) => {
                Ok(Value::Double(number))
            }
            _ => conversion_error(&Type::Double),
        },
        _ => call.no_such_overload(),
    }
}

fn to_duration<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::Duration(nanoseconds) | Value::Int(nanoseconds)] => Ok(Value::Duration(*nanoseconds)),
        [Value::String(text)] => match time::parse_duration(text.as_str()) {
            Ok(nanoseconds) => Ok(Value::Duration(nanoseconds)),
            Err(_) => conversion_error(&Type::Duration),
        },
        _ => call.no_such_overload(),
    }
}

fn to_int<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::Int(number)] => Ok(Value::Int(*number)),
        [Value::Uint(number)] => match i64::try_from(*number) {
            Ok(number) => Ok(Value::Int(number)),
            Err(_) => fail("integer overflow"),
        },
        // The bounds are exclusive: beyond them a double may have been rounded over the range.
        [Value::Double(number)] if number.abs() < 9_223_372_036_854_775_807.0 => {
            Ok(Value::Int(*number as i64))
        }
        [Value::Double(_)] => fail("integer overflow"),
        [Value::String(text)] => match text.as_str().parse() {
            Ok(number) => Ok(Value::Int(number)),
            Err(_) => conversion_error(&Type::Int),
        },
        [Value::Timestamp(time)] => Ok(Value::Int(time.seconds())),
        [Value::Duration(nanoseconds)] => Ok(Value::Int(*nanoseconds)),
        _ => call.no_such_overload(),
    }
}

fn to_uint<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::Uint(number)] => Ok(Value::Uint(*number)),
        [Value::Int(number)] => match u64::try_from(*number) {
            Ok(number) => Ok(Value::Uint(number)),
            Err(_) => fail("unsigned integer overflow"),
        },
        [Value::Double(number)] if *number >= 0.0 && *number < 18_446_744_073_709_551_615.0 => {
            Ok(Value::Uint(*number as u64))
        }
        [Value::Double(_)] => fail("unsigned integer overflow"),
        // In Go, a number without a sign has no `+` either.
        [Value::String(text)] => match text.as_str().parse() {
            Ok(number) if !text.as_str().starts_with('+') => Ok(Value::Uint(number)),
            _ => conversion_error(&Type::Uint),
        },
        _ => call.no_such_overload(),
    }
}

fn to_string<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let text = match call.args {
        [Value::String(text)] => return Ok(Value::String(text.clone())),
        [Value::Bytes(bytes)] => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => return fail("invalid UTF-8 in bytes, cannot convert to string"),
        },
        [Value::Double(number)] => go_text::float(*number),
        [
            value @ (Value::Bool(_)
            | Value::Int(_)
            | Value::Uint(_)
            | Value::Duration(_)
            | Value::Timestamp(_)),
        ] => value.to_string(),
        [Value::Foreign(foreign)] if matches!(foreign.as_ref(), Foreign::Ip(_) | Foreign::Cidr(_)) => {
            foreign.to_string()
        }
        _ => return call.no_such_overload(),
    };
    Ok(Value::string(text))
}

fn to_timestamp<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::Timestamp(time)] => Ok(Value::Timestamp(*time)),
        [Value::Int(seconds)] => match Timestamp::from_seconds(*seconds) {
            Some(time) => Ok(Value::Timestamp(time)),
            None => fail("timestamp overflow"),
        },
        [Value::String(text)] => match Timestamp::parse(text.as_str()) {
            Some(time) => Ok(Value::Timestamp(time)),
            None => conversion_error(&Type::Timestamp),
        },
        _ => call.no_such_overload(),
    }
}
