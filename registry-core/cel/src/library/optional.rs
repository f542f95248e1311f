//! Values that may be absent.

use super::{Call, Native};
use crate::value::{Evaluated, Value, fail};

pub(super) fn native(name: &str) -> Option<Native> {
    Some(match name {
        "optional.none" => none,
        "optional.of" => optional_of,
        "optional.ofNonZeroValue" => optional_of_non_zero,
        "optional.unwrap" | "unwrapOpt" => unwrap,
        "hasValue" => has_value,
        "value" => value,
        _ => return None,
    })
}

fn none<'a>(_call: &mut Call<'a, '_>) -> Evaluated<'a> {
    Ok(Value::Optional(None))
}

fn optional_of<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [value] => Ok(Value::some(value.clone())),
        _ => call.no_such_overload(),
    }
}

fn optional_of_non_zero<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let [value] = call.args else {
        return call.no_such_overload();
    };
    let is_zero = match value {
        Value::Null | Value::Bool(false) | Value::Int(0) | Value::Uint(0) | Value::Duration(0) => true,
        Value::Optional(inner) => inner.is_none(),
        Value::Double(number) => *number == 0.0,
        Value::String(text) => text.as_str().is_empty(),
        Value::Bytes(bytes) => bytes.is_empty(),
        Value::List(list) => list.is_empty(),
        Value::Map(map) => map.is_empty(),
        Value::Timestamp(time) => time.is_first(),
        _ => false,
    };
    Ok(if is_zero { Value::Optional(None) } else { Value::some(value.clone()) })
}

fn unwrap<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let [Value::List(list)] = call.args else {
        return call.no_such_overload();
    };
    let mut unwrapped = Vec::new();
    for element in list.iter() {
        call.budget.visit(1)?;
        match element? {
            Value::Optional(Some(value)) => unwrapped.push(value.as_ref().clone()),
            Value::Optional(None) => {}
            other => return fail(format!("value {other} is not optional")),
        }
    }
    Ok(Value::list(unwrapped))
}

fn has_value<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::Optional(value)] => Ok(Value::Bool(value.is_some())),
        _ => call.no_such_overload(),
    }
}

fn value<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::Optional(Some(value))] => Ok(value.as_ref().clone()),
        [Value::Optional(None)] => fail("optional.none() dereference"),
        _ => call.no_such_overload(),
    }
}
