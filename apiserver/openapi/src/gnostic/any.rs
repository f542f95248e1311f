//! A value of any type as YAML in block style, which is how the format has it.
//!
//! Kubernetes concept: `Marshal` in `github.com/google/gnostic-models/compiler`, which writes with `gopkg.in/yaml.v3`.

use serde_json::{Map, Value};

/// Number of columns of an indentation. The elements of a list are indented by the two columns of their mark.
const INDENT: usize = 4;
const MARK: &str = "- ";

/// Characters that cannot begin a plain text.
const INDICATORS: &str = "#,[]{}&*!|>'\"%@`";
/// Texts that YAML 1.1 or 1.2 reads as something else.
const WORDS: [&str; 14] =
    ["", "~", "null", "true", "false", "y", "n", "yes", "no", "on", "off", ".nan", "<<", "="];

/// Returns a value as a document.
pub(super) fn to_yaml(value: &Value) -> String {
    let mut out = String::new();
    match value {
        Value::Object(map) if !map.is_empty() => write_map(&mut out, map, 0, false),
        Value::Array(list) if !list.is_empty() => write_list(&mut out, list, 0, false),
        other => write_scalar(&mut out, other, 0),
    }
    out
}

/// Writes a map at a column, in which the output is if `is_begun`.
fn write_map(out: &mut String, map: &Map<String, Value>, column: usize, is_begun: bool) {
    for (place, (key, value)) in map.iter().enumerate() {
        if place > 0 || !is_begun {
            push_column(out, column);
        }
        out.push_str(&one_line(key));
        out.push(':');
        let inner = INDENT * ((column + INDENT) / INDENT);
        match value {
            Value::Object(map) if !map.is_empty() => {
                out.push('\n');
                write_map(out, map, inner, false);
            }
            Value::Array(list) if !list.is_empty() => {
                out.push('\n');
                write_list(out, list, inner, false);
            }
            other => {
                out.push(' ');
                write_scalar(out, other, inner);
            }
        }
    }
}

/// Writes a list at a column, in which the output is if `is_begun`.
fn write_list(out: &mut String, list: &[Value], column: usize, is_begun: bool) {
    for (place, item) in list.iter().enumerate() {
        if place > 0 || !is_begun {
            push_column(out, column);
        }
        out.push_str(MARK);
        let inner = column + MARK.len();
        match item {
            Value::Object(map) if !map.is_empty() => write_map(out, map, inner, true),
            Value::Array(list) if !list.is_empty() => write_list(out, list, inner, true),
            other => write_scalar(out, other, inner),
        }
    }
}

/// Writes a value on the rest of a line, and the following lines of a text at a column.
fn write_scalar(out: &mut String, value: &Value, column: usize) {
    match value {
        Value::String(text) if is_literal(text) => write_literal(out, text, column),
        Value::String(text) => out.push_str(&one_line(text)),
        Value::Null => out.push_str("null"),
        other => out.push_str(&other.to_string()),
    }
    if !out.ends_with('\n') {
        out.push('\n');
    }
}

fn push_column(out: &mut String, column: usize) {
    out.extend(std::iter::repeat_n(' ', column));
}

/// Whether a text is written as lines.
fn is_literal(text: &str) -> bool {
    text.contains('\n')
        && !text.starts_with([' ', '\n'])
        && !text.contains(" \n")
        && !text.ends_with(' ')
        && !text.contains(|letter: char| letter.is_control() && letter != '\n')
}

fn write_literal(out: &mut String, text: &str, column: usize) {
    let lines = text.trim_end_matches('\n');
    let ends = text.len() - lines.len();
    out.push_str(match ends {
        0 => "|-",
        1 => "|",
        _ => "|+",
    });
    for line in lines.split('\n') {
        out.push('\n');
        if !line.is_empty() {
            push_column(out, column.max(INDENT));
            out.push_str(line);
        }
    }
    out.extend(std::iter::repeat_n('\n', ends));
}

/// Returns a text on one line: plain if it is read back as this text, else quoted.
fn one_line(text: &str) -> String {
    if is_other_type(text) || text.contains(char::is_control) {
        return Value::from(text).to_string();
    }
    if is_plain(text) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "''"))
}

/// Whether YAML reads a plain text as another type.
fn is_other_type(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    if WORDS.contains(&lower.as_str()) {
        return true;
    }
    let unsigned = lower.trim_start_matches(['+', '-']);
    if !unsigned.starts_with(|first: char| first.is_ascii_digit() || first == '.') {
        return false;
    }
    let digits = unsigned.replace('_', "");
    let of_base = |prefix: &str, base| {
        digits.strip_prefix(prefix).is_some_and(|digits| u128::from_str_radix(digits, base).is_ok())
    };
    let is_sexagesimal = digits.contains(':') && digits.split(':').all(|part| part.parse::<f64>().is_ok());
    let is_date = digits.len() >= 8
        && digits.get(4..5) == Some("-")
        && digits.split('-').take(3).all(|part| part.starts_with(|first: char| first.is_ascii_digit()));
    unsigned == ".inf"
        || digits.parse::<f64>().is_ok()
        || of_base("0x", 16)
        || of_base("0o", 8)
        || of_base("0b", 2)
        || is_sexagesimal
        || is_date
}

/// Whether a text needs no quotes.
fn is_plain(text: &str) -> bool {
    let is_free = |rest: &str| rest.starts_with(' ') || rest.is_empty();
    let begins_badly = text.starts_with(|first: char| INDICATORS.contains(first))
        || text.starts_with("---")
        || text.starts_with("...")
        || text.strip_prefix(['-', '?', ':']).is_some_and(is_free);
    let has_space_outside = text.starts_with(' ') || text.ends_with(' ');
    let has_comment = text.contains(" #");
    let has_key = text.contains(": ") || text.ends_with(':');
    !(begins_badly || has_space_outside || has_comment || has_key)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_as_go_writes_them() {
        let table = [
            (json!([{"fieldPath": "spec.a"}, {"fieldPath": "b"}]), "- fieldPath: spec.a\n- fieldPath: b\n"),
            (
                json!([{"group": "", "kind": "Pod", "version": "v1"}]),
                "- group: \"\"\n  kind: Pod\n  version: v1\n",
            ),
            (json!({}), "{}\n"),
            (json!([]), "[]\n"),
            (json!(true), "true\n"),
            (json!(null), "null\n"),
            (json!(1.5), "1.5\n"),
            (json!("atomic"), "atomic\n"),
            (
                json!(["name", "true", "1", "a: b", "it's: #1"]),
                "- name\n- \"true\"\n- \"1\"\n- 'a: b'\n- 'it''s: #1'\n",
            ),
            (
                json!({"a": {"b": [1, {"c": {"d": 2}}], "e": {}}}),
                "a:\n    b:\n        - 1\n        - c:\n            d: 2\n    e: {}\n",
            ),
            (json!([[1, 2], [[]]]), "- - 1\n  - 2\n- - []\n"),
            (json!({"rule": "self.a > 1\n&& x"}), "rule: |-\n    self.a > 1\n    && x\n"),
        ];
        for (value, text) in table {
            assert_eq!(to_yaml(&value), text, "{value}");
        }
    }

    #[test]
    fn every_text_is_read_back() {
        let texts = [
            "",
            " ",
            "-",
            "- a",
            "---",
            "?",
            ":",
            "a:",
            "a #b",
            "#",
            "'",
            "\"",
            "%a",
            "0x1F",
            "1_000",
            "12:30:45",
            "2020-01-02",
            "yes",
            "NULL",
            "~",
            ".inf",
            "<<",
            "a\nb\n",
            "a\n\n",
            "\na",
            " a\nb",
            "a \nb",
            "\u{7}",
            "tab\there",
            "ä: ö",
            "{a}",
            "[x",
            "@x",
            "`x",
            "!x",
            "&x",
            "*x",
            "|",
            ">",
            "a,b",
            "http://x/y",
            "\u{85}",
            "=",
        ];
        for text in texts {
            let value = json!({"k": [text], "l": text, text: 1});
            let yaml = to_yaml(&value);
            let read =
                registry_core::codec::yaml::decode(yaml.as_bytes(), &registry_core::codec::Limits::default());
            assert_eq!(read.unwrap().value, value, "{yaml}");
        }
    }
}
