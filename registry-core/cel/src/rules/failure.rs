//! Errors of rules that do not hold, with values as Kubernetes shows them.

use std::fmt::Write;

use serde_json::Value;

use registry_meta::validation::{FieldError, FieldErrorKind, FieldPath};

/// The error of a rule that does not hold. Objects and arrays are not shown.
pub(super) fn rule_failure(
    field: FieldPath,
    value: &Value,
    type_name: &str,
    detail: String,
    reason: FieldErrorKind,
) -> FieldError {
    let shows_value = matches!(reason, FieldErrorKind::Invalid | FieldErrorKind::Duplicate);
    let is_shown = shows_value && !matches!(type_name, "object" | "array");
    let detail = if reason == FieldErrorKind::Duplicate { String::new() } else { detail };
    FieldError {
        kind: reason,
        field,
        value: is_shown.then(|| value.clone()),
        shown: if is_shown { shown(value) } else { None },
        detail,
    }
}

/// The value as Go shows it, where that is not its JSON.
fn shown(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(quote(text)),
        Value::Number(number) if number.as_i64().is_none() => number.as_f64().map(float),
        _ => None,
    }
}

/// A number as Go's `%v` writes it.
fn float(number: f64) -> String {
    let scientific = format!("{number:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..21).contains(&exponent) {
        return number.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// A text in quotes, as Go's `%q` writes it.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        let escaped = match character {
            '"' => "\\\"",
            '\\' => "\\\\",
            '\n' => "\\n",
            '\r' => "\\r",
            '\t' => "\\t",
            '\u{7}' => "\\a",
            '\u{8}' => "\\b",
            '\u{b}' => "\\v",
            '\u{c}' => "\\f",
            _ if is_printable(character) => {
                quoted.push(character);
                continue;
            }
            _ => {
                let code = u32::from(character);
                // Writing to a string cannot fail.
                let _ = match code {
                    0..0x80 => write!(quoted, "\\x{code:02x}"),
                    0x80..0x1_0000 => write!(quoted, "\\u{code:04x}"),
                    _ => write!(quoted, "\\U{code:08x}"),
                };
                continue;
            }
        };
        quoted.push_str(escaped);
    }
    quoted.push('"');
    quoted
}

/// Whether Go prints a character as it is: neither control and format characters nor spaces but the plain one.
fn is_printable(character: char) -> bool {
    let is_invisible = character.is_control() || (character.is_whitespace() && character != ' ');
    let is_format = matches!(
        character,
        '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{e000}'..='\u{f8ff}' | '\u{feff}'
    );
    !is_invisible && !is_format
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_as_in_go() {
        assert_eq!(quote("a\"b\\\n\u{1}é\u{a0}"), r#""a\"b\\\n\x01é\u00a0""#);
        let numbers =
            [(1.5, "1.5"), (1e21, "1e+21"), (1e20, "100000000000000000000"), (1e-5, "1e-05"), (3.0, "3")];
        for (number, text) in numbers {
            assert_eq!(float(number), text);
        }
    }
}
