//! The encoding at rest, and its conversion to responses.
//!
//! The canonical form has `apiVersion`, `kind`, `metadata` first and everything below in key order, without white
//! space, `metadata.resourceVersion` and `metadata.selfLink`.
//!
//! This order makes reads cheap: the start of `metadata` is found by inspecting a few bytes, so the resource version is
//! inserted without parsing, and the item of a typed list is the same bytes from `"metadata"` on.

use std::io::Write;

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::api::Object;

use super::{DecodeError, json};

/// Metadata that is part of responses but not stored.
const NEVER_STORED: [&str; 2] = ["resourceVersion", "selfLink"];

/// Maximum nesting depth of stored values: larger than for requests, because `managedFields` mirrors an object's fields
/// at a deeper level.
const STORED_DEPTH: usize = 512;

/// Encodes an object in canonical form.
pub fn encode(object: &Object) -> Bytes {
    let mut out = Vec::with_capacity(1024);
    write_object(&mut out, &object.0, None);
    out.into()
}

/// Decodes a stored value: canonical JSON, or JSON as kube-apiserver writes it.
///
/// # Errors
/// Fails if the value is not a JSON object or exceeds the depth limit.
pub fn decode(value: &[u8]) -> Result<Object, DecodeError> {
    let decoded = json::decode_value(value, STORED_DEPTH)?;
    Object::from_value(decoded).map_err(|_| DecodeError("the stored value is not a JSON object".to_owned()))
}

/// Decodes JSON made of stored values. It may nest as deep as they do, and deeper than serde_json's own limit.
///
/// # Errors
/// Fails if the text is not JSON or exceeds the depth limit of stored values.
pub fn decode_value(json: &[u8]) -> Result<Value, DecodeError> {
    json::decode_value(json, STORED_DEPTH)
}

/// Returns the response bytes: the stored value with `metadata.resourceVersion` inserted, without parsing if it is
/// canonical; and the offset of the fields after `apiVersion` and `kind`.
///
/// A value that starts like a canonical one is assumed to be canonical: neither server stores a resource version.
///
/// # Errors
/// Fails if the value is neither canonical nor a JSON object.
pub fn with_resource_version(value: &Bytes, revision: u64) -> Result<(Bytes, u32), DecodeError> {
    if let Some(opening) = metadata_opening(value) {
        return Ok((splice(value, opening, revision), offset(opening - METADATA.len())));
    }
    let object = decode(value)?;
    let mut out = Vec::with_capacity(value.len() + RESOURCE_VERSION.len() + 24);
    let metadata_at = write_object(&mut out, &object.0, Some(revision));
    Ok((out.into(), offset(metadata_at)))
}

// === without parsing ===

const METADATA: &[u8] = b"\"metadata\":{";
/// The key that follows `apiVersion` and `kind` in canonical form.
pub(crate) const METADATA_KEY: &[u8] = b"\"metadata\":";
const RESOURCE_VERSION: &[u8] = b"\"resourceVersion\":\"";

/// Returns the position after `{"apiVersion":"…","kind":"…","metadata":{`, if the value starts so.
fn metadata_opening(value: &[u8]) -> Option<usize> {
    let rest = after_string(value.strip_prefix(b"{\"apiVersion\":\"")?)?;
    let rest = after_string(rest.strip_prefix(b",\"kind\":\"")?)?;
    let rest = rest.strip_prefix(b",")?.strip_prefix(METADATA)?;
    Some(value.len() - rest.len())
}

/// Returns the bytes after a string's closing quote. Versions and kinds have no escapes; a value with one is parsed.
fn after_string(text: &[u8]) -> Option<&[u8]> {
    let end = text.iter().position(|byte| matches!(byte, b'"' | b'\\'))?;
    text.get(end..)?.strip_prefix(b"\"")
}

/// Returns the length of the JSON object or list at the start of the bytes.
pub(crate) fn object_len(bytes: &[u8]) -> Option<usize> {
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for (at, byte) in bytes.iter().enumerate() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.checked_sub(1)?,
            _ if depth == 0 => return None,
            _ => {}
        }
        if depth == 0 && !in_string {
            return Some(at + 1);
        }
    }
    None
}

/// Inserts the resource version with a single allocation of the exact size.
fn splice(value: &[u8], opening: usize, revision: u64) -> Bytes {
    let value = value.trim_ascii_end();
    let (before, after) = value.split_at(opening.min(value.len()));
    let separator: &[u8] = if after.first() == Some(&b'}') { b"\"" } else { b"\"," };
    let digits = revision.checked_ilog10().map_or(1, |log| log as usize + 1);
    let length = value.len() + RESOURCE_VERSION.len() + digits + separator.len();
    let mut out = Vec::with_capacity(length);
    out.extend_from_slice(before);
    out.extend_from_slice(RESOURCE_VERSION);
    write_number(&mut out, revision);
    out.extend_from_slice(separator);
    out.extend_from_slice(after);
    debug_assert_eq!(out.len(), length, "the size was computed beforehand");
    out.into()
}

/// Converts an offset. Values are limited to a few MiB, so it fits.
fn offset(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

// === writing ===

/// Writes the object in canonical order; returns the offset of `"metadata"` (the end, if there is none).
fn write_object(out: &mut Vec<u8>, object: &Map<String, Value>, revision: Option<u64>) -> usize {
    out.push(b'{');
    for field in ["apiVersion", "kind"] {
        if let Some(value) = object.get(field) {
            write_field(out, field, value);
        }
    }
    write_comma(out);
    let metadata_at = out.len();
    let empty = Map::new();
    match object.get("metadata") {
        Some(Value::Object(metadata)) => write_metadata(out, metadata, revision),
        Some(other) if revision.is_none() => write_field(out, "metadata", other),
        None if revision.is_none() => {}
        _ => write_metadata(out, &empty, revision),
    }
    for (field, value) in object {
        if !matches!(field.as_str(), "apiVersion" | "kind" | "metadata") {
            write_field(out, field, value);
        }
    }
    if out.last() == Some(&b',') {
        out.pop();
    }
    out.push(b'}');
    metadata_at
}

fn write_metadata(out: &mut Vec<u8>, metadata: &Map<String, Value>, revision: Option<u64>) {
    write_comma(out);
    out.extend_from_slice(METADATA);
    if let Some(revision) = revision {
        out.extend_from_slice(RESOURCE_VERSION);
        write_number(out, revision);
        out.push(b'"');
    }
    for (field, value) in metadata {
        if !NEVER_STORED.contains(&field.as_str()) {
            write_field(out, field, value);
        }
    }
    out.push(b'}');
}

fn write_field(out: &mut Vec<u8>, field: &str, value: &Value) {
    write_comma(out);
    write_json(out, field);
    out.push(b':');
    write_json(out, value);
}

/// Writes a comma unless this is the first entry.
fn write_comma(out: &mut Vec<u8>) {
    if !matches!(out.last(), Some(b'{' | b',')) {
        out.push(b',');
    }
}

/// Writing strings and trees to memory cannot fail: there is no I/O, and all keys are strings.
fn write_json<T: serde::Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let written = serde_json::to_writer(out, value);
    debug_assert!(written.is_ok(), "memory takes everything");
}

fn write_number(out: &mut Vec<u8>, number: u64) {
    let written = write!(out, "{number}");
    debug_assert!(written.is_ok(), "memory takes everything");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Object {
        Object::from_value(value).unwrap()
    }

    #[test]
    fn the_order_is_canonical_and_versions_are_not_kept() {
        let full = object(json!({
            "data": {"b": "2", "a": "1"}, "kind": "ConfigMap", "apiVersion": "v1",
            "metadata": {"resourceVersion": "7", "name": "x", "selfLink": "/x", "labels": {"k": "{\"metadata\":{"}},
            "a": 1,
        }));
        let bytes = encode(&full);
        let expected = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"k":"{\"metadata\":{"},"name":"x"},"a":1,"data":{"a":"1","b":"2"}}"#;
        assert_eq!(bytes, expected);
        assert_eq!(encode(&decode(&bytes).unwrap()), bytes);
        for (partial, expected) in [
            (json!({}), "{}"),
            (json!({"kind": "A"}), r#"{"kind":"A"}"#),
            (json!({"spec": 1}), r#"{"spec":1}"#),
            (json!({"metadata": null, "spec": 1}), r#"{"metadata":null,"spec":1}"#),
            (json!({"metadata": {"resourceVersion": "1"}}), r#"{"metadata":{}}"#),
        ] {
            assert_eq!(encode(&object(partial)), expected);
        }
    }

    #[test]
    fn versions_are_spliced_in_or_written_in() {
        let table = [
            // Canonical: the version is inserted.
            (
                r#"{"apiVersion":"v1","kind":"A","metadata":{"name":"x"},"s":1}"#,
                r#"{"apiVersion":"v1","kind":"A","metadata":{"resourceVersion":"12","name":"x"},"s":1}"#,
            ),
            (
                "{\"apiVersion\":\"v1\",\"kind\":\"A\",\"metadata\":{}}\n",
                r#"{"apiVersion":"v1","kind":"A","metadata":{"resourceVersion":"12"}}"#,
            ),
            // Written by kube-apiserver, or in any other form: encoded again.
            (
                "{\"kind\":\"A\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"x\",\"resourceVersion\":\"3\"},\"s\":1}\n",
                r#"{"apiVersion":"v1","kind":"A","metadata":{"resourceVersion":"12","name":"x"},"s":1}"#,
            ),
            (
                r#"{ "metadata": {"name":"x"}, "kind":"A" }"#,
                r#"{"kind":"A","metadata":{"resourceVersion":"12","name":"x"}}"#,
            ),
            (
                r#"{"apiVersion":"v\u0031","kind":"A","metadata":{"name":"x"}}"#,
                r#"{"apiVersion":"v1","kind":"A","metadata":{"resourceVersion":"12","name":"x"}}"#,
            ),
            (r#"{"spec":1}"#, r#"{"metadata":{"resourceVersion":"12"},"spec":1}"#),
        ];
        for (stored, expected) in table {
            let (bytes, offset) = with_resource_version(&Bytes::from_static(stored.as_bytes()), 12).unwrap();
            assert_eq!(bytes, expected);
            assert!(
                bytes[offset as usize..].starts_with(b"\"metadata\":{\"resourceVersion\":\"12\""),
                "{stored}"
            );
        }
        for revision in [0, 9, 10, u64::MAX] {
            let canonical = Bytes::from_static(br#"{"apiVersion":"v1","kind":"A","metadata":{"name":"x"}}"#);
            let (bytes, _) = with_resource_version(&canonical, revision).unwrap();
            assert_eq!(decode(&bytes).unwrap().resource_version(), revision.to_string());
        }
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for garbage in ["", "[]", "null", "{", "{}x", "k8s\0"] {
            assert!(decode(garbage.as_bytes()).is_err(), "{garbage}");
            assert!(with_resource_version(&Bytes::from_static(garbage.as_bytes()), 1).is_err(), "{garbage}");
        }
    }
}
