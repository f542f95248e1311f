//! Named formats that texts are validated against.

use super::{Call, Native, list_of_texts};
use crate::value::foreign::format::NamedFormat;
use crate::value::{Evaluated, Foreign, Value};

pub(super) fn native(name: &str) -> Option<Native> {
    Some(match name {
        "format.named" => named,
        "validate" => validate,
        _ => NamedFormat::find(name.strip_prefix("format.")?).map(|_| constant as Native)?,
    })
}

fn constant<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.function.strip_prefix("format.").and_then(NamedFormat::find) {
        Some(format) => Ok(Value::foreign(Foreign::Format(format))),
        None => call.no_such_overload(),
    }
}

fn named<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let [Value::String(name)] = call.args else {
        return call.no_such_overload();
    };
    let format = NamedFormat::find(name.as_str()).map(|format| Value::foreign(Foreign::Format(format)));
    Ok(format.map_or(Value::Optional(None), Value::some))
}

fn validate<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let [Value::Foreign(foreign), Value::String(text)] = call.args else {
        return call.no_such_overload();
    };
    let Foreign::Format(format) = foreign.as_ref() else {
        return call.no_such_overload();
    };
    let complaints = format.complaints(text.as_str());
    if complaints.is_empty() {
        return Ok(Value::Optional(None));
    }
    Ok(Value::some(list_of_texts(complaints)))
}
