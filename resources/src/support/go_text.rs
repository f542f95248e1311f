//! Formats values as messages show them whose Go type has no text of its own: as JSON of Kubernetes' internal types,
//! structs without JSON names, including unset fields.
//!
//! `cargo xtask codegen` writes `go_types.txt`: a line with a type's name, then a line for each field in Go's order,
//! with its Go name, its JSON name in the served version and its shape. `=` instead of names stands for an embedded
//! struct, `^` before a JSON name for a field of the struct around, and `@` before a kind of JSON for the value itself
//! if it is of this kind. Shapes: `s` text, `n` number, `b` boolean, `q` quantity, `i` number or text, `t` time, `y`
//! bytes, `r` or `j` other JSON; `*` pointer, `[` list, `{` map, `<name>` struct, `~` omitted if unset.

use std::collections::HashMap;
use std::sync::LazyLock;

use registry_core::api::go_text::escape_html;
use serde_json::Value;

pub(crate) mod difference;

/// A field of a struct.
struct GoField {
    go: &'static str,
    json: &'static str,
    shape: &'static str,
}

static TYPES: LazyLock<HashMap<&'static str, Vec<GoField>>> =
    LazyLock::new(|| parse(include_str!("../generated/go_types.txt")));

static TRUE: Value = Value::Bool(true);

fn parse(text: &'static str) -> HashMap<&'static str, Vec<GoField>> {
    let mut types: HashMap<&'static str, Vec<GoField>> = HashMap::new();
    let mut current = "";
    for line in text.lines() {
        let fields = types.entry(line.strip_prefix(' ').map_or(line, |_| current)).or_default();
        let Some(field) = line.strip_prefix(' ') else {
            current = line;
            continue;
        };
        let mut parts = field.split(' ');
        if let (Some(go), Some(json), Some(shape)) = (parts.next(), parts.next(), parts.next()) {
            fields.push(GoField { go, json, shape });
        }
    }
    types
}

/// Returns a value as Go's encoder writes one of a shape, such as `[<core.Taint>`.
pub(crate) fn text(value: Option<&Value>, shape: &str) -> String {
    text_within(value, shape, usize::MAX)
}

/// Returns a value as [`text`] does. After `max_bytes` nothing is added but the ends of what has begun.
pub(crate) fn text_within(value: Option<&Value>, shape: &str, max_bytes: usize) -> String {
    let mut writer = Writer { text: String::new(), max_bytes };
    writer.value(value, None, shape);
    writer.text
}

/// Returns the fields of a struct in Go's order: their names in Go and in JSON.
pub(crate) fn fields(name: &str) -> impl Iterator<Item = (&'static str, &'static str)> {
    TYPES.get(name).into_iter().flatten().map(|field| (field.go, field.json))
}

/// The text so far.
struct Writer {
    text: String,
    max_bytes: usize,
}

// === impl Writer ===

impl Writer {
    /// Writes a value; `parent` is the object around it.
    fn value(&mut self, value: Option<&Value>, parent: Option<&Value>, shape: &str) {
        if self.is_full() {
            return;
        }
        let value = value.filter(|value| !value.is_null());
        if let Some(name) = shape.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) {
            self.text.push('{');
            let start = self.text.len();
            self.fields(value, parent, name, start);
            self.text.push('}');
            return;
        }
        let inner = shape.get(1..).unwrap_or_default();
        match (shape.as_bytes().first(), value) {
            (Some(b's'), None) => self.text.push_str("\"\""),
            (Some(b'n' | b'i'), None) => self.text.push('0'),
            (Some(b'b'), None) => self.text.push_str("false"),
            (Some(b'q'), None) => self.text.push_str("\"0\""),
            (_, None) => self.text.push_str("null"),
            (Some(b'*'), value) => self.value(value, parent, inner),
            (Some(b'['), Some(Value::Array(elements))) => {
                self.text.push('[');
                for (index, element) in elements.iter().enumerate() {
                    if self.is_full() {
                        break;
                    }
                    self.text.push_str(if index == 0 { "" } else { "," });
                    self.value(Some(element), None, inner);
                }
                self.text.push(']');
            }
            (Some(b'{'), Some(Value::Object(entries))) => {
                self.text.push('{');
                for (index, (key, entry)) in entries.iter().enumerate() {
                    if self.is_full() {
                        break;
                    }
                    self.text.push_str(if index == 0 { "" } else { "," });
                    self.escaped(&Value::from(key.as_str()));
                    self.text.push(':');
                    self.value(Some(entry), None, inner);
                }
                self.text.push('}');
            }
            (_, Some(value)) => self.escaped(value),
        }
    }

    /// Writes the fields of a struct after those that were written since `start`.
    fn fields(&mut self, value: Option<&Value>, parent: Option<&Value>, name: &str, start: usize) {
        debug_assert!(TYPES.contains_key(name), "go_types.txt has no {name}");
        for field in TYPES.get(name).into_iter().flatten() {
            if field.go == "=" {
                let embedded = if field.json == "=" { value } else { field_of(value, field.json) };
                let name = field.shape.trim_start_matches(['<', '*']).trim_end_matches('>');
                self.fields(embedded, parent, name, start);
                continue;
            }
            let found = match field.json.strip_prefix('^') {
                Some(json) => field_of(parent, json),
                None => field_of(value, field.json),
            };
            let shape = match field.shape.strip_prefix('~') {
                Some(shape) if found.is_none_or(|value| is_zero(value) && !shape.starts_with('*')) => {
                    continue;
                }
                Some(shape) => shape,
                None => field.shape,
            };
            self.text.push_str(if self.text.len() == start { "" } else { "," });
            self.escaped(&Value::from(field.go));
            self.text.push(':');
            self.value(found, value, shape);
        }
    }

    /// Writes JSON as Go does, which escapes what HTML would read as markup.
    fn escaped(&mut self, value: &Value) {
        self.text.push_str(&escape_html(value.to_string()));
    }

    fn is_full(&self) -> bool {
        self.text.len() > self.max_bytes
    }
}

/// Returns the value of the field of a struct, by the field's JSON name in `go_types.txt`.
fn field_of<'v>(value: Option<&'v Value>, json: &str) -> Option<&'v Value> {
    let value = value?;
    match json {
        "@allows" => Some(if value.is_boolean() { value } else { &TRUE }),
        "@array" => Some(value).filter(|value| value.is_array()),
        "@elements" => Some(value).filter(|value| value.as_array().is_some_and(|list| !list.is_empty())),
        "@object" => Some(value).filter(|value| value.is_object()),
        json => value.get(json).filter(|value| !value.is_null()),
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

    #[test]
    fn a_schema_shows_all_its_fields() {
        let schema = json!({
            "type": "object",
            "additionalProperties": false,
            "dependencies": {"a": ["b"]},
            "items": {"type": "string"},
            "x-kubernetes-validations": [{"rule": "self < 1"}],
        });
        let text = text(Some(&schema), "*<apiextensions.JSONSchemaProps>");
        assert!(text.starts_with(r#"{"ID":"","Schema":"","Ref":null,"Description":"","Type":"object""#));
        assert!(text.contains(r#""AdditionalProperties":{"Allows":false,"Schema":null}"#));
        assert!(text.contains(r#""Dependencies":{"a":{"Schema":null,"Property":["b"]}}"#));
        assert!(text.contains(r#""Items":{"Schema":{"ID":"""#));
        assert!(text.contains(r#""XValidations":[{"Rule":"self \u003c 1","Message":"""#));
        assert!(text.ends_with(r#""FieldPath":"","OptionalOldSelf":null}]}"#));
    }

    #[test]
    fn a_huge_value_is_cut() {
        let many: serde_json::Map<String, Value> = (0..100_000).map(|n| (n.to_string(), json!({}))).collect();
        let schema = json!({"properties": many});
        let text = text_within(Some(&schema), "*<apiextensions.JSONSchemaProps>", 1 << 18);
        assert!(text.len() < 1 << 19);
    }
}
