//! OpenAPI documents as protobuf, in the form that gnostic defines and client-go reads.
//!
//! A document is traversed along with a table that maps each JSON field to a field of a message. The format
//! has two peculiarities: maps are lists of `(name, value)` messages, and values of any type are stored as
//! text.
//!
//! Kubernetes concept: `k8s.io/kube-openapi/pkg/handler`, `github.com/google/gnostic-models`.

use serde_json::Value;

mod any;
mod v2;
mod v3;

/// Encodes the document as `openapi.v2.Document`.
pub(super) fn v2(document: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    v2::DOCUMENT.write(&mut out, document);
    out
}

/// Encodes the document as `openapi.v3.Document`.
pub(super) fn v3(document: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    v3::DOCUMENT.write(&mut out, document);
    out
}

/// A message: JSON fields with their numbers, and the field number of vendor extensions (0: none).
struct Message {
    fields: &'static [(&'static str, u32, Kind)],
    extensions: u32,
}

/// The encoding of a JSON value.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Bool,
    Integer,
    Double,
    /// Any value, as the text of its YAML.
    Any,
    /// A repeated field.
    List(&'static Kind),
    Message(&'static Message),
    /// A message with this one field.
    Wrapped(u32, &'static Kind),
    /// A message with this list of names and values.
    Map(u32, &'static Kind),
    /// One of several, chosen by the value.
    Choice(fn(&Value) -> usize, &'static [Kind]),
}

/// Field numbers of a map entry's name and value.
const NAME: u32 = 1;
const VALUE: u32 = 2;
/// Field number of the text of an `Any`.
const YAML: u32 = 2;

// === impl Message ===

impl Message {
    fn write(&self, out: &mut Vec<u8>, value: &Value) {
        let Some(object) = value.as_object() else { return };
        for (name, number, kind) in self.fields {
            if let Some(value) = object.get(*name) {
                kind.write(out, *number, value);
            }
        }
        if self.extensions != 0 {
            for (name, value) in object.iter().filter(|(name, _)| name.starts_with("x-")) {
                entry(out, self.extensions, name, value, Kind::Any);
            }
        }
    }
}

// === impl Kind ===

impl Kind {
    fn write(self, out: &mut Vec<u8>, number: u32, value: &Value) {
        match self {
            Self::Text => text(out, number, value.as_str().unwrap_or_default()),
            Self::Bool if value == true => varint(out, number, 1),
            Self::Bool => {}
            Self::Integer => varint(out, number, value.as_i64().unwrap_or_default().cast_unsigned()),
            Self::Double => {
                key(out, number, 1);
                out.extend_from_slice(&value.as_f64().unwrap_or_default().to_le_bytes());
            }
            Self::Any => nested(out, number, |inner| text(inner, YAML, &any::to_yaml(value))),
            Self::List(element) => {
                for value in value.as_array().into_iter().flatten() {
                    element.write(out, number, value);
                }
            }
            Self::Message(message) => nested(out, number, |inner| message.write(inner, value)),
            Self::Wrapped(field, kind) => nested(out, number, |inner| kind.write(inner, field, value)),
            Self::Map(field, kind) => nested(out, number, |inner| {
                for (name, value) in value.as_object().into_iter().flatten() {
                    entry(inner, field, name, value, *kind);
                }
            }),
            Self::Choice(which, kinds) => {
                if let Some(kind) = kinds.get(which(value)) {
                    kind.write(out, number, value);
                }
            }
        }
    }
}

fn entry(out: &mut Vec<u8>, number: u32, name: &str, value: &Value, kind: Kind) {
    nested(out, number, |named| {
        text(named, NAME, name);
        kind.write(named, VALUE, value);
    });
}

/// Chooses 0 for a value, 1 for a reference.
fn by_reference(value: &Value) -> usize {
    usize::from(value.get("$ref").is_some())
}

/// Chooses 0 for a schema, 1 for a boolean.
fn by_boolean(value: &Value) -> usize {
    usize::from(value.is_boolean())
}

// === the wire ===

fn varint(out: &mut Vec<u8>, number: u32, value: u64) {
    key(out, number, 0);
    push_varint(out, value);
}

fn text(out: &mut Vec<u8>, number: u32, text: &str) {
    key(out, number, 2);
    push_varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

fn nested(out: &mut Vec<u8>, number: u32, write: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    write(&mut inner);
    key(out, number, 2);
    push_varint(out, inner.len() as u64);
    out.append(&mut inner);
}

fn key(out: &mut Vec<u8>, number: u32, wire_type: u64) {
    push_varint(out, u64::from(number) << 3 | wire_type);
}

fn push_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push((value & 0x7f) as u8);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A length of one byte.
    fn len(content: &[u8]) -> [u8; 1] {
        [u8::try_from(content.len()).expect("it is short")]
    }

    #[test]
    fn maps_texts_and_extensions_are_where_the_messages_have_them() {
        let document =
            json!({ "swagger": "2.0", "definitions": { "a": { "type": "object", "x-b": ["c"] } } });
        let any = b"\x12\x04- c\n";
        let extension = [&b"\x0a\x03x-b\x12\x06"[..], any].concat();
        // Field 22 of a schema is its type, 31 its extensions.
        let schema = [&b"\xb2\x01\x08\x0a\x06object\xfa\x01"[..], &len(&extension), &extension].concat();
        let named = [&b"\x0a\x01a\x12"[..], &len(&schema), &schema].concat();
        let definitions = [&b"\x0a"[..], &len(&named), &named].concat();
        let expected = [&b"\x0a\x032.0\x4a"[..], &len(&definitions), &definitions].concat();
        assert_eq!(v2(&document), expected);
    }

    #[test]
    fn references_are_told_from_schemas() {
        let document = json!({ "components": { "schemas": {
            "a": { "items": { "$ref": "#/b" } },
        } } });
        let reference = b"\x12\x05\x0a\x03#/b";
        let items = [&b"\x0a\x07"[..], reference].concat();
        let schema = [&b"\xf2\x01\x09"[..], &items].concat();
        let named = [&b"\x0a\x01a\x12\x0e\x0a\x0c"[..], &schema].concat();
        let schemas = [&b"\x0a"[..], &len(&named), &named].concat();
        let components = [&b"\x0a"[..], &len(&schemas), &schemas].concat();
        assert_eq!(v3(&document), [&b"\x2a"[..], &len(&components), &components].concat());
    }
}
