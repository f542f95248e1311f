//! Values as Go formats them in messages.

use std::fmt::Write;

/// Formats as `%q`.
pub(super) fn quote(text: &str) -> String {
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
            ' '..='~' => quoted.push(letter),
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

/// Whether Go prints a character outside of ASCII as it is.
fn is_printable(letter: char) -> bool {
    if letter.is_ascii() || letter.is_control() || letter.is_whitespace() {
        return false;
    }
    // At the start of a text Rust also escapes combining characters.
    let mut buffer = [0; 8];
    let mut text = String::from("a");
    text.push_str(letter.encode_utf8(&mut buffer));
    text.escape_debug().count() == 2
}

/// Formats a floating point number as `%v`.
pub(super) fn float(number: f64) -> String {
    const PLAIN_FROM: i32 = -4;
    const EXPONENT_FROM: i32 = 21;
    if number == 0.0 {
        return if number.is_sign_negative() { "-0" } else { "0" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or_default();
    if (PLAIN_FROM..EXPONENT_FROM).contains(&exponent) {
        return number.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_as_in_go() {
        assert_eq!(
            quote("a\"b\\\n\u{1}\u{7f}é\u{301}\u{200b}\u{1f600}"),
            "\"a\\\"b\\\\\\n\\x01\\x7fé\u{301}\\u200b😀\""
        );
    }

    #[test]
    fn floats_are_formatted_as_in_go() {
        for (number, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.5e-5, "1.5e-05"),
            (0.0001, "0.0001"),
            (1.7e308, "1.7e+308"),
        ] {
            assert_eq!(float(number), text);
        }
    }
}
