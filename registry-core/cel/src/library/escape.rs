//! Keys in JSON pointers.

use super::{Call, Native};
use crate::value::{Evaluated, Value};

pub(super) fn native(name: &str) -> Option<Native> {
    (name == "jsonpatch.escapeKey").then_some(escape_key as Native)
}

fn escape_key<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::String(text)] => Ok(Value::string(text.as_str().replace('~', "~0").replace('/', "~1"))),
        _ => call.no_such_overload(),
    }
}
