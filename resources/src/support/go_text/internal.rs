//! Formats values in messages whose Go type is one of Kubernetes' internal types: structs without JSON names.
//!
//! `internal_types.txt` lists them: a line with the type's name, then a line for each field in Go's order, with its Go
//! name, its JSON name in the served version (`^` if there it belongs to the struct around) and its type. `=` instead of
//! names stands for an embedded struct. Types: `s` text, `n` number, `b` boolean, `q` quantity, `i` number or text,
//! `t` time, `y` bytes, `r` or `j` other JSON; `*` pointer, `[` list, `{` map, `<name>` struct, `~` omitted if unset.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde_json::Value;

/// A field of a struct.
struct InternalField {
    go: &'static str,
    json: &'static str,
    shape: &'static str,
}

static TYPES: LazyLock<HashMap<&'static str, Vec<InternalField>>> =
    LazyLock::new(|| parse(include_str!("internal_types.txt")));

/// Maximum number of structs within each other. The structs of schemas contain themselves.
const MAX_DEPTH: usize = 64;

fn parse(text: &'static str) -> HashMap<&'static str, Vec<InternalField>> {
    let mut types: HashMap<&'static str, Vec<InternalField>> = HashMap::new();
    let mut current = "";
    for line in text.lines() {
        match line.strip_prefix(' ') {
            None => current = line,
            Some(field) => {
                let mut parts = field.split(' ');
                if let (Some(go), Some(json), Some(shape)) = (parts.next(), parts.next(), parts.next()) {
                    types.entry(current).or_default().push(InternalField { go, json, shape });
                }
            }
        }
    }
    types
}

/// Returns a value as Go's encoder writes one of a type of `internal_types.txt`, or of a list of it with `[` in front.
pub(crate) fn text(value: Option<&Value>, shape: &str) -> String {
    let mut text = String::new();
    write_value(value.filter(|value| !value.is_null()), None, shape, 0, &mut text);
    text
}

fn write_value(value: Option<&Value>, parent: Option<&Value>, shape: &str, depth: usize, text: &mut String) {
    let value = value.filter(|value| !value.is_null());
    if let Some(name) = shape.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) {
        text.push('{');
        let start = text.len();
        write_fields(value, parent, name, depth + 1, start, text);
        text.push('}');
        return;
    }
    let inner = shape.get(1..).unwrap_or_default();
    match (shape.as_bytes().first(), value) {
        (Some(b's'), None) => text.push_str("\"\""),
        (Some(b'n' | b'i'), None) => text.push('0'),
        (Some(b'b'), None) => text.push_str("false"),
        (Some(b'q'), None) => text.push_str("\"0\""),
        (_, None) => text.push_str("null"),
        (Some(b'*'), value) => write_value(value, parent, inner, depth, text),
        (Some(b'['), Some(Value::Array(elements))) => {
            text.push('[');
            for (index, element) in elements.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { "," });
                write_value(Some(element), None, inner, depth, text);
            }
            text.push(']');
        }
        (Some(b'{'), Some(Value::Object(entries))) => {
            text.push('{');
            for (index, (key, entry)) in entries.iter().enumerate() {
                text.push_str(if index == 0 { "" } else { "," });
                write_escaped(&Value::from(key.as_str()), text);
                text.push(':');
                write_value(Some(entry), None, inner, depth, text);
            }
            text.push('}');
        }
        (_, Some(value)) => write_escaped(value, text),
    }
}

/// Writes the fields of a struct after those that were written since `start`.
fn write_fields(
    value: Option<&Value>,
    parent: Option<&Value>,
    name: &str,
    depth: usize,
    start: usize,
    text: &mut String,
) {
    if depth > MAX_DEPTH {
        return;
    }
    for field in TYPES.get(name).into_iter().flatten() {
        let of = |json: &str| value.and_then(|value| value.get(json)).filter(|value| !value.is_null());
        if field.go == "=" {
            let embedded = if field.json == "=" { value } else { of(field.json) };
            let name = field.shape.trim_start_matches(['<', '*']).trim_end_matches('>');
            write_fields(embedded, parent, name, depth + 1, start, text);
            continue;
        }
        let found = match field.json.strip_prefix('^') {
            Some(json) => parent.and_then(|parent| parent.get(json)),
            None => of(field.json),
        };
        let shape = match field.shape.strip_prefix('~') {
            Some(shape) if found.is_none_or(|value| is_zero(value) && !shape.starts_with('*')) => continue,
            Some(shape) => shape,
            None => field.shape,
        };
        text.push_str(if text.len() == start { "" } else { "," });
        write_escaped(&Value::from(field.go), text);
        text.push(':');
        write_value(found, value, shape, depth, text);
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(truth) => !truth,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(entries) => entries.is_empty(),
    }
}

/// Writes JSON as Go does, which escapes what HTML would read as markup.
fn write_escaped(value: &Value, text: &mut String) {
    for letter in value.to_string().chars() {
        match letter {
            '<' => text.push_str("\\u003c"),
            '>' => text.push_str("\\u003e"),
            '&' => text.push_str("\\u0026"),
            '\u{2028}' => text.push_str("\\u2028"),
            '\u{2029}' => text.push_str("\\u2029"),
            other => text.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_type_that_a_field_names_is_there() {
        for field in TYPES.values().flatten() {
            let named = field.shape.split_once('<').map(|(_, rest)| rest.trim_end_matches('>'));
            assert!(named.is_none_or(|name| TYPES.contains_key(name)), "{}: {}", field.go, field.shape);
        }
    }

    #[test]
    fn structs_have_all_fields_in_the_order_of_go() {
        let selector =
            json!({"nodeSelectorTerms": [{"matchExpressions": [{"key": "<k>", "operator": "Exists"}]}]});
        assert_eq!(
            text(Some(&selector), "<core.NodeSelector>"),
            r#"{"NodeSelectorTerms":[{"MatchExpressions":[{"Key":"\u003ck\u003e","Operator":"Exists","Values":null}],"MatchFields":null}]}"#
        );
        assert_eq!(text(None, "*<core.NodeSelector>"), "null");
        let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"hostNetwork": true}});
        let shown = text(Some(&template), "<core.PodTemplateSpec>");
        assert!(shown.starts_with(r#"{"labels":{"a":"b"},"Spec":{"Volumes":null,"#), "{shown}");
        assert!(shown.contains(r#""SecurityContext":{"HostNetwork":true,"HostPID":false,"#), "{shown}");
    }
}
