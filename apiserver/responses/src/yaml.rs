//! YAML encoder: block style, keys in order, strings quoted if a parser could read them as another type.

use serde_json::{Map, Value};

/// Returns a value as a YAML document.
pub fn encode(value: &Value) -> String {
    let mut text = String::new();
    match value {
        Value::Object(fields) if !fields.is_empty() => write_fields(&mut text, fields, 0, false),
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                write_item(&mut text, item, 0);
            }
        }
        scalar => {
            write_scalar(&mut text, scalar, 0);
            text.push('\n');
        }
    }
    text
}

/// Writes a value as one item (`- …`) of a list at this depth.
pub fn write_item(text: &mut String, item: &Value, depth: usize) {
    indent(text, depth);
    text.push_str("- ");
    match item {
        Value::Object(fields) if !fields.is_empty() => write_fields(text, fields, depth + 1, true),
        Value::Array(items) if !items.is_empty() => {
            // A nested list begins on a line of its own.
            text.truncate(text.len() - 1);
            text.push('\n');
            for inner in items {
                write_item(text, inner, depth + 1);
            }
        }
        scalar => {
            write_scalar(text, scalar, depth + 1);
            text.push('\n');
        }
    }
}

/// Writes `key: value` lines at this depth; `continues` omits the indentation of the first one.
pub fn write_fields(text: &mut String, fields: &Map<String, Value>, depth: usize, continues: bool) {
    for (position, (key, value)) in fields.iter().enumerate() {
        if position > 0 || !continues {
            indent(text, depth);
        }
        write_string(text, key, depth, false);
        text.push(':');
        match value {
            Value::Object(inner) if !inner.is_empty() => {
                text.push('\n');
                write_fields(text, inner, depth + 1, false);
            }
            Value::Array(items) if !items.is_empty() => {
                text.push('\n');
                // Lists are indented like their key.
                for item in items {
                    write_item(text, item, depth);
                }
            }
            scalar => {
                text.push(' ');
                write_scalar(text, scalar, depth + 1);
                text.push('\n');
            }
        }
    }
}

fn write_scalar(text: &mut String, value: &Value, depth: usize) {
    match value {
        Value::String(string) => write_string(text, string, depth, true),
        // The remaining lists and objects are empty: `[]`, `{}`.
        other => text.push_str(&other.to_string()),
    }
}

fn write_string(text: &mut String, string: &str, depth: usize, may_be_block: bool) {
    if is_plain(string) {
        text.push_str(string);
    } else if may_be_block && is_block(string) {
        write_block(text, string, depth);
    } else {
        // A JSON string is a double-quoted YAML string.
        text.push_str(&Value::from(string).to_string());
    }
}

/// Returns whether a string can be written without quotes and is parsed as the same string.
fn is_plain(string: &str) -> bool {
    const INDICATORS: &str = "-?:,[]{}#&*!|>'\"%@`=<~";
    let (Some(first), Some(last)) = (string.chars().next(), string.chars().next_back()) else { return false };
    let is_word = !matches!(
        string.to_ascii_lowercase().as_str(),
        "null" | "true" | "false" | "yes" | "no" | "on" | "off" | "y" | "n"
    );
    is_word
        && !INDICATORS.contains(first)
        && !matches!(last, ' ' | ':')
        && !looks_like_number(string)
        && !string.contains(": ")
        && !string.contains(" #")
        && !string.starts_with(' ')
        && !string.chars().any(|character| {
            character.is_control() || matches!(character, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}')
        })
}

/// Returns whether a parser could read a string as a number, a date or a sexagesimal.
fn looks_like_number(string: &str) -> bool {
    let unsigned = string.trim_start_matches(['+', '-']);
    let starts = unsigned.starts_with(|character: char| character.is_ascii_digit() || character == '.');
    starts
        && unsigned
            .chars()
            .all(|character| character.is_ascii_hexdigit() || "xXoO_.:+-TZtz ".contains(character))
        || matches!(unsigned.to_ascii_lowercase().as_str(), ".inf" | ".nan")
}

fn is_block(string: &str) -> bool {
    let is_clean =
        !string.chars().any(|character| character != '\n' && character != '\t' && character.is_control());
    is_clean && string.contains('\n') && !string.starts_with([' ', '\n', '\t']) && !string.contains(" \n")
}

/// Writes a literal block: every line unchanged.
fn write_block(text: &mut String, string: &str, depth: usize) {
    let (body, chomping) = match string.strip_suffix('\n') {
        None => (string, "|-"),
        Some(body) if body.ends_with('\n') => (body, "|+"),
        Some(body) => (body, "|"),
    };
    text.push_str(chomping);
    for line in body.split('\n') {
        text.push('\n');
        if !line.is_empty() {
            indent(text, depth);
            text.push_str(line);
        }
    }
}

fn indent(text: &mut String, depth: usize) {
    (0..depth).for_each(|_| text.push_str("  "));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn writes_block_style() {
        let value = json!({
            "apiVersion": "v1",
            "data": { "k": "v", "script": "one\n  two\n", "open": "a\nb", "time": "2020-01-01T00:00:00Z" },
            "empty": {}, "none": [], "null": null, "n": 5, "yes": "yes", "quoted": "a: b", "digits": "0123",
            "list": [{ "name": "a", "ports": [80, 81] }, "x", [1, 2], {}],
        });
        let expected = "apiVersion: v1\ndata:\n  k: v\n  open: |-\n    a\n    b\n  script: |\n    one\n      two\n  time: \"2020-01-01T00:00:00Z\"\ndigits: \"0123\"\nempty: {}\nlist:\n- name: a\n  ports:\n  - 80\n  - 81\n- x\n-\n  - 1\n  - 2\n- {}\n\"n\": 5\nnone: []\n\"null\": null\nquoted: \"a: b\"\n\"yes\": \"yes\"\n";
        assert_eq!(encode(&value), expected);
        assert_eq!(encode(&json!({})), "{}\n");
        assert_eq!(encode(&json!("")), "\"\"\n");
    }

    #[test]
    fn plain_strings_are_only_those_read_back_as_strings() {
        for plain in ["nginx:1.2", "kube-system", "a b", "app.kubernetes.io/name", "v1", "10.0.0.1/24"] {
            assert!(is_plain(plain), "{plain}");
        }
        for quoted in [
            "",
            "true",
            "No",
            "1",
            "-1.5",
            "0x1F",
            "1e3",
            ".5",
            "~",
            "- a",
            "a:",
            "#x",
            "12:30:45",
            "2020-01-01",
        ] {
            assert!(!is_plain(quoted), "{quoted}");
        }
    }
}
