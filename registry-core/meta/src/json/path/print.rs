//! Results as text.

use std::fmt;

use serde::Serialize;
use serde_json::Number;

use super::Found;
use crate::go_text::{escape_html, float};

/// Writes a result: strings without quotes, lists and objects as Go's JSON.
pub(super) fn write(value: Found<'_>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match value {
        Found::Null => f.write_str("null"),
        Found::Bool(value) => write!(f, "{value}"),
        Found::Number(number) => f.write_str(&number_text(number)),
        Found::String(text) => f.write_str(text),
        Found::Array(items) => json(items, f),
        Found::Object(fields) => json(fields, f),
    }
}

fn json(value: &(impl Serialize + ?Sized), f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(&escape_html(serde_json::to_string(value).map_err(|_| fmt::Error)?))
}

fn number_text(number: &Number) -> String {
    match (number.as_i64(), number.as_f64()) {
        (None, Some(number)) => float(number),
        _ => number.to_string(),
    }
}
