//! The standard library's functions of texts, sizes and types.

use std::sync::Arc;

use super::{Call, Native, regex};
use crate::value::{Evaluated, Value};

pub(super) fn native(name: &str) -> Option<Native> {
    Some(match name {
        "size" => size,
        "contains" => contains,
        "startsWith" => starts_with,
        "endsWith" => ends_with,
        "matches" => regex::matches,
        "type" => type_of,
        "dyn" => dyn_of,
        _ => return None,
    })
}

fn size<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let size = match call.args {
        [Value::String(text)] => {
            call.work(text.as_str().len() / 64)?;
            text.as_str().chars().count()
        }
        [Value::Bytes(bytes)] => bytes.len(),
        [Value::List(list)] => list.len(),
        [Value::Map(map)] => map.len(),
        _ => return call.no_such_overload(),
    };
    Ok(Value::Int(size as i64))
}

fn contains<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::String(text), Value::String(part)] => Ok(Value::Bool(text.as_str().contains(part.as_str()))),
        _ => call.no_such_overload(),
    }
}

fn starts_with<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::String(text), Value::String(part)] => {
            Ok(Value::Bool(text.as_str().starts_with(part.as_str())))
        }
        _ => call.no_such_overload(),
    }
}

fn ends_with<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::String(text), Value::String(part)] => Ok(Value::Bool(text.as_str().ends_with(part.as_str()))),
        _ => call.no_such_overload(),
    }
}

fn type_of<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [value] => Ok(Value::Type(Arc::new(value.type_of()))),
        _ => call.no_such_overload(),
    }
}

fn dyn_of<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [value] => Ok(value.clone()),
        _ => call.no_such_overload(),
    }
}
