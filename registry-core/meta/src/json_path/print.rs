//! Results as text.

use std::fmt;

use serde::Serialize;
use serde_json::Number;

use super::Found;

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

/// Writes JSON that can be embedded in HTML, as Go does: the escaped characters only occur in strings.
fn json(value: &(impl Serialize + ?Sized), f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let text = serde_json::to_string(value).map_err(|_| fmt::Error)?;
    let mut written = 0;
    for (at, found) in text.match_indices(['<', '>', '&', '\u{2028}', '\u{2029}']) {
        f.write_str(text.get(written..at).unwrap_or_default())?;
        let code = found.chars().next().map(u32::from).unwrap_or_default();
        write!(f, "\\u{code:04x}")?;
        written = at + found.len();
    }
    f.write_str(text.get(written..).unwrap_or_default())
}

/// Formats a number as Go's `fmt.Print`: the shortest digits of a float, with an exponent from a million on.
fn number_text(number: &Number) -> String {
    match (number.as_i64(), number.as_f64()) {
        (None, Some(float)) => float_text(float),
        _ => number.to_string(),
    }
}

fn float_text(float: f64) -> String {
    let scientific = format!("{float:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let Ok(exponent) = exponent.parse::<i32>() else { return scientific };
    if (-4..6).contains(&exponent) {
        return float.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}
