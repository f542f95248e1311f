//! Values as Go prints them, and numbers as Go reads them, for messages.

use std::collections::HashSet;
use std::fmt::{Display, Write};
use std::num::{IntErrorKind, ParseIntError};

use serde_json::{Map, Value};

/// Error of a text that is not a number, with the message of Go's `strconv`. Not retryable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("strconv.{function}: parsing {}: {}", quote(.text), if *.is_out_of_range { "value out of range" } else { "invalid syntax" })]
pub struct NumberError {
    function: &'static str,
    text: String,
    is_out_of_range: bool,
}

/// Parses a decimal number as `strconv.ParseInt` does.
///
/// # Errors
/// Fails if the text is not a number, or not an `i64`.
pub fn parse_int(text: &str) -> Result<i64, NumberError> {
    text.parse().map_err(|error| NumberError::new("ParseInt", text, &error))
}

/// Parses a decimal number as `strconv.ParseUint` does, which refuses signs.
///
/// # Errors
/// Fails if the text is not a number, or not a `u64`.
pub fn parse_uint(text: &str) -> Result<u64, NumberError> {
    let unsigned = if text.starts_with('+') { "" } else { text };
    unsigned.parse().map_err(|error| NumberError::new("ParseUint", text, &error))
}

/// Formats a value as `%v`.
pub fn print(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(list) => print_list(list),
        Value::Object(map) => print_map(map),
        Value::Number(number) if number.is_f64() => number.as_f64().map(float).unwrap_or_default(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
    }
}

/// Formats a list as `%v`.
pub fn print_list(list: &[Value]) -> String {
    format!("[{}]", list.iter().map(print).collect::<Vec<_>>().join(" "))
}

/// Formats a map as `%v`.
pub fn print_map(map: &Map<String, Value>) -> String {
    let entries: Vec<_> = map.iter().map(|(key, value)| format!("{key}:{}", print(value))).collect();
    format!("map[{}]", entries.join(" "))
}

/// Formats a floating point number as `%v`: with the fewest digits that are read as the same number, and with an exponent
/// if it is less than 0.0001 or at least a million.
pub fn float(number: f64) -> String {
    if !number.is_finite() {
        return if number.is_nan() {
            "NaN"
        } else if number > 0.0 {
            "+Inf"
        } else {
            "-Inf"
        }
        .to_owned();
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => number.to_string(),
    }
}

/// Formats the type of a decoded value as `%T`. Integers that are not `i64` are decoded as floating point numbers.
pub fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// Formats a text as `%q`.
pub fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            other if is_printable(other) => quoted.push(other),
            // Formatting to a string cannot fail.
            other => {
                let code = u32::from(other);
                let _ = match code {
                    ..0x80 => write!(quoted, "\\x{code:02x}"),
                    0x80..0x1_0000 => write!(quoted, "\\u{code:04x}"),
                    _ => write!(quoted, "\\U{code:08x}"),
                };
            }
        }
    }
    quoted.push('"');
    quoted
}

/// Formats a text as the package `time` quotes it: without names for characters, and characters outside of ASCII byte by byte.
pub fn quote_for_time(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            b' '..=0x7f => quoted.push(char::from(byte)),
            _ => {
                // Formatting to a string cannot fail.
                let _ = write!(quoted, "\\x{byte:02x}");
            }
        }
    }
    quoted.push('"');
    quoted
}

/// Formats a byte as the decoder of JSON quotes an invalid one: as a character in single quotes.
pub fn quote_byte(byte: u8) -> String {
    match byte {
        b'\'' => r"'\''".to_owned(),
        b'"' => r#"'"'"#.to_owned(),
        _ => format!("'{}'", quote(char::from(byte).encode_utf8(&mut [0; 4])).trim_matches('"')),
    }
}

/// Formats a character as `%#U`.
pub fn code_point(letter: char) -> String {
    let code = u32::from(letter);
    if is_printable(letter) { format!("U+{code:04X} '{letter}'") } else { format!("U+{code:04X}") }
}

/// Whether Go prints a character as it is: letters, marks, numbers, punctuation, symbols and the space of ASCII.
/// (`unicode.IsPrint`.)
pub fn is_printable(letter: char) -> bool {
    if letter.is_ascii() {
        return matches!(letter, ' '..='~');
    }
    if letter.is_control() || letter.is_whitespace() {
        return false;
    }
    // At the start of a text Rust also escapes combining characters.
    let mut buffer = [0; 8];
    let mut text = String::from("a");
    text.push_str(letter.encode_utf8(&mut buffer));
    text.escape_debug().count() == 2
}

/// Formats texts as `%q`.
pub fn quoted(texts: &[impl AsRef<str>]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quote(text.as_ref())).collect();
    format!("[{}]", texts.join(" "))
}

/// Escapes the characters of JSON that have a meaning in HTML or JavaScript, as `encoding/json` does. They only occur in
/// strings.
pub fn escape_html(json: String) -> String {
    const ESCAPED: [char; 5] = ['<', '>', '&', '\u{2028}', '\u{2029}'];
    if !json.contains(ESCAPED) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len());
    for letter in json.chars() {
        if ESCAPED.contains(&letter) {
            // Formatting to a string cannot fail.
            let _ = write!(escaped, "\\u{:04x}", u32::from(letter));
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

/// Joins errors as Go's aggregates do: each once, in brackets if there are several. Without any, the text is empty.
///
/// Kubernetes concept: `NewAggregate` in `k8s.io/apimachinery/pkg/util/errors`.
pub fn aggregate(errors: impl IntoIterator<Item = impl Display>) -> String {
    let mut texts: Vec<String> = errors.into_iter().map(|error| error.to_string()).collect();
    let mut known = HashSet::new();
    texts.retain(|text| known.insert(text.clone()));
    match texts.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}

// === impl NumberError ===

impl NumberError {
    fn new(function: &'static str, text: &str, error: &ParseIntError) -> Self {
        let is_out_of_range = matches!(error.kind(), IntErrorKind::PosOverflow | IntErrorKind::NegOverflow);
        Self { function, text: text.to_owned(), is_out_of_range }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_as_in_go() {
        assert_eq!(
            quote("a\"b\\\n\u{1}\u{7f}é\u{301}\u{200b}\u{a0}\u{1f600}"),
            "\"a\\\"b\\\\\\n\\x01\\x7fé\u{301}\\u200b\\u00a0😀\""
        );
        assert_eq!(quoted(&["a", "\0"]), r#"["a" "\x00"]"#);
    }

    #[test]
    fn bytes_and_times_are_quoted_as_in_go() {
        for (byte, text) in [
            (b'a', "'a'"),
            (b'\'', r"'\''"),
            (b'"', r#"'"'"#),
            (b'\\', r"'\\'"),
            (0, r"'\x00'"),
            (1, r"'\x01'"),
            (b'\n', r"'\n'"),
            (0xb, r"'\v'"),
            (0x7f, r"'\x7f'"),
            (0x80, r"'\u0080'"),
            (0xa0, r"'\u00a0'"),
            (0xe9, "'é'"),
        ] {
            assert_eq!(quote_byte(byte), text);
        }
        assert_eq!(quote_for_time("5\"\\'é\n\u{7f}"), "\"5\\\"\\\\'\\xc3\\xa9\\x0a\u{7f}\"");
    }

    #[test]
    fn characters_are_named_as_in_go() {
        for (letter, text) in [
            ('A', "U+0041 'A'"),
            (' ', "U+0020 ' '"),
            ('\u{301}', "U+0301 '\u{301}'"),
            ('\u{1f600}', "U+1F600 '😀'"),
            ('\u{1}', "U+0001"),
            ('\u{7f}', "U+007F"),
            ('\u{a0}', "U+00A0"),
            ('\u{ad}', "U+00AD"),
            ('\u{200b}', "U+200B"),
            ('\u{2028}', "U+2028"),
            ('\u{e000}', "U+E000"),
            ('\u{10ffff}', "U+10FFFF"),
        ] {
            assert_eq!(code_point(letter), text);
        }
    }

    #[test]
    fn floats_are_formatted_as_in_go() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (0.005, "0.005"),
            (0.0001, "0.0001"),
            (0.000_015, "1.5e-05"),
            (999_999.5, "999999.5"),
            (1e6, "1e+06"),
            (1_234_567.8, "1.2345678e+06"),
            (-2.5e21, "-2.5e+21"),
            (1.7e308, "1.7e+308"),
            (5e-324, "5e-324"),
            (f64::INFINITY, "+Inf"),
            (f64::NEG_INFINITY, "-Inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(float(number), text);
        }
        assert_eq!(print(&serde_json::json!([1, 2.0, 1e7, null])), "[1 2 1e+07 <nil>]");
    }

    #[test]
    fn numbers_are_read_as_in_go() {
        assert_eq!((parse_int("+5"), parse_uint("5")), (Ok(5), Ok(5)));
        for (error, text) in [
            (parse_int("a"), r#"strconv.ParseInt: parsing "a": invalid syntax"#),
            (
                parse_int("9223372036854775808"),
                r#"strconv.ParseInt: parsing "9223372036854775808": value out of range"#,
            ),
        ] {
            assert_eq!(error.unwrap_err().to_string(), text);
        }
        for (error, text) in [
            (parse_uint("+5"), r#"strconv.ParseUint: parsing "+5": invalid syntax"#),
            (
                parse_uint("18446744073709551616"),
                r#"strconv.ParseUint: parsing "18446744073709551616": value out of range"#,
            ),
        ] {
            assert_eq!(error.unwrap_err().to_string(), text);
        }
    }

    #[test]
    fn html_is_escaped_as_in_go() {
        assert_eq!(escape_html("\"<\u{2028}é&\"".to_owned()), r#""\u003c\u2028é\u0026""#);
    }
}
