//! The encoding at rest, and its conversion to responses.
//!
//! The canonical form has the top-level fields in the order of the kind ([`FieldOrder`]) and everything below by name,
//! without white space, `metadata.resourceVersion` and `metadata.selfLink`.
//!
//! This order makes reads cheap: the start of `metadata` is found by inspecting a few bytes, so the resource version is
//! inserted without parsing, and the item of a typed list is the same bytes from `"metadata"` on. Values that an earlier
//! version of this server, or kube-apiserver, wrote in another order are read in the same way.
//!
//! A canonical value has no line feed at its end, and Go's encoder writes one. This tells values of other servers apart
//! ([`is_of_another_server`]), which may lack defaults that canonical values have, so that the latter need not be parsed.
//!
//! All canonical values have the same defaults, because there has been one release at most. A later release that adds a default
//! to a built-in kind writes its values with a space at the end, and the next such release with two: the number of spaces is the
//! generation of the defaults, and values with fewer are completed as those of other servers are. JSON remains JSON, so that
//! kube-apiserver and earlier releases, which ignore white space at the end, read these values too.

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::FieldOrder;
use registry_meta::Object;

use super::json::Parts;
use super::json::write::{close, write_comma, write_field, write_fields, write_number};
use super::{DecodeError, json};

mod compact;

use compact::METADATA;
pub use compact::{METADATA_KEY, api_version, metadata_opening, value_len};

/// Metadata that is part of responses but not stored.
const NEVER_STORED: [&str; 2] = ["resourceVersion", "selfLink"];

const RESOURCE_VERSION: &[u8] = b"\"resourceVersion\":\"";

/// Maximum nesting depth of stored values: larger than for requests, because `managedFields` mirrors an object's fields
/// at a deeper level.
const STORED_DEPTH: usize = 512;

/// Encodes an object in canonical form, with its top-level fields in this order.
pub fn encode(object: &Object, order: FieldOrder<'_>) -> Bytes {
    let mut out = Vec::with_capacity(1024);
    write_object(&mut out, &object.0, None, order);
    out.into()
}

/// Whether JSON at rest ends as another server writes it: with a line feed.
pub fn is_of_another_server(value: &[u8]) -> bool {
    value.ends_with(b"\n")
}

/// Decodes a stored value: canonical JSON, or JSON as kube-apiserver writes it.
///
/// # Errors
/// Fails if the value is not a JSON object or exceeds the depth limit.
pub fn decode(value: &[u8]) -> Result<Object, DecodeError> {
    let decoded = json::decode_value(value, STORED_DEPTH)?;
    Object::from_value(decoded).map_err(|_| DecodeError::NotAnObject)
}

/// Decodes parts of a stored value.
///
/// # Errors
/// Fails if the value is not a JSON object, or if the parts exceed the depth limit.
pub fn decode_parts(value: &[u8], parts: Parts) -> Result<Object, DecodeError> {
    let decoded = json::parts::decode(value, parts, STORED_DEPTH)?;
    Object::from_value(decoded).map_err(|_| DecodeError::NotAnObject)
}

/// Decodes JSON made of stored values. It may nest as deep as they do, and deeper than serde_json's own limit.
///
/// # Errors
/// Fails if the text is not JSON or exceeds the depth limit of stored values.
pub fn decode_value(json: &[u8]) -> Result<Value, DecodeError> {
    json::decode_value(json, STORED_DEPTH)
}

/// Returns the response: the stored value with `metadata.resourceVersion` inserted, without parsing if it is canonical,
/// and a newline; and the offset of the fields after `kind` and `apiVersion`. If other fields precede the metadata, as
/// in custom resources, that is the end.
///
/// A value that is written like a canonical one, to its last bracket, is assumed to be canonical: neither server stores a
/// resource version.
///
/// # Errors
/// Fails if the value is neither canonical nor a JSON object.
pub fn with_resource_version(value: &Bytes, revision: u64) -> Result<(Bytes, u32), DecodeError> {
    let is_whole = value.trim_ascii_end().ends_with(b"}");
    if let Some(opening) = compact::metadata_after_type(value).filter(|_| is_whole) {
        return Ok((splice(value, opening, revision), offset(opening - METADATA.len())));
    }
    if let Some(opening) = compact::metadata_opening(value).filter(|_| is_whole) {
        let line = splice(value, opening, revision);
        let end = offset(line.len());
        return Ok((line, end));
    }
    let object = decode(value)?;
    let mut out = Vec::with_capacity(value.len() + RESOURCE_VERSION.len() + 24);
    let metadata_at = write_object(&mut out, &object.0, Some(revision), FieldOrder::Usual);
    out.push(b'\n');
    Ok((out.into(), offset(metadata_at)))
}

/// Inserts the resource version with a single allocation of the exact size.
fn splice(value: &[u8], opening: usize, revision: u64) -> Bytes {
    let value = value.trim_ascii_end();
    let (before, after) = value.split_at(opening.min(value.len()));
    let separator: &[u8] = if after.first() == Some(&b'}') { b"\"" } else { b"\"," };
    let digits = revision.checked_ilog10().map_or(1, |log| log as usize + 1);
    let length = value.len() + RESOURCE_VERSION.len() + digits + separator.len() + 1;
    let mut out = Vec::with_capacity(length);
    out.extend_from_slice(before);
    out.extend_from_slice(RESOURCE_VERSION);
    write_number(&mut out, revision);
    out.extend_from_slice(separator);
    out.extend_from_slice(after);
    out.push(b'\n');
    debug_assert_eq!(out.len(), length, "the size was computed beforehand");
    out.into()
}

/// Converts an offset. Values are limited to a few MiB, so it fits.
fn offset(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}

/// Writes the object in canonical form; returns the offset of `"metadata"` (0, if there is none).
fn write_object(
    out: &mut Vec<u8>,
    object: &Map<String, Value>,
    revision: Option<u64>,
    order: FieldOrder<'_>,
) -> usize {
    let mut metadata_at = 0;
    out.push(b'{');
    write_fields(out, object, order, |out, metadata| match metadata {
        Some(Value::Object(metadata)) => metadata_at = write_metadata(out, metadata, revision),
        Some(other) if revision.is_none() => write_field(out, "metadata", other),
        None if revision.is_none() => {}
        _ => metadata_at = write_metadata(out, &Map::new(), revision),
    });
    close(out);
    metadata_at
}

fn write_metadata(out: &mut Vec<u8>, metadata: &Map<String, Value>, revision: Option<u64>) -> usize {
    write_comma(out);
    let metadata_at = out.len();
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
    metadata_at
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    fn object(value: Value) -> Object {
        Object::from_value(value).unwrap()
    }

    fn names(fields: &[&str]) -> Vec<Arc<str>> {
        fields.iter().map(|field| Arc::from(*field)).collect()
    }

    #[test]
    fn the_order_is_canonical_and_versions_are_not_kept() {
        let full = object(json!({
            "data": {"b": "2", "a": "1"}, "kind": "ConfigMap", "apiVersion": "v1",
            "metadata": {"resourceVersion": "7", "name": "x", "selfLink": "/x", "labels": {"k": "{\"metadata\":{"}},
            "a": 1, "status": {}, "spec": {},
        }));
        let metadata = r#""metadata":{"labels":{"k":"{\"metadata\":{"},"name":"x"}"#;
        let data = r#""data":{"a":"1","b":"2"}"#;
        let declared = names(&["status", "absent", "data", "spec"]);
        for (order, expected) in [
            (
                FieldOrder::Usual,
                format!(
                    r#"{{"kind":"ConfigMap","apiVersion":"v1",{metadata},"spec":{{}},"status":{{}},"a":1,{data}}}"#
                ),
            ),
            (
                FieldOrder::Declared(&declared),
                format!(
                    r#"{{"kind":"ConfigMap","apiVersion":"v1",{metadata},"status":{{}},{data},"spec":{{}},"a":1}}"#
                ),
            ),
            (
                FieldOrder::ByName,
                format!(
                    r#"{{"a":1,"apiVersion":"v1",{data},"kind":"ConfigMap",{metadata},"spec":{{}},"status":{{}}}}"#
                ),
            ),
        ] {
            let bytes = encode(&full, order);
            assert_eq!(bytes, expected);
            assert_eq!(encode(&decode(&bytes).unwrap(), order), bytes);
            assert!(!is_of_another_server(&bytes));
            let (line, offset) = with_resource_version(&bytes, 12).unwrap();
            let tail = &line[offset as usize..];
            let is_struct = !matches!(order, FieldOrder::ByName);
            assert_eq!(tail.starts_with(b"\"metadata\":{\"resourceVersion\":\"12\",\"labels\""), is_struct);
            assert_eq!(tail.is_empty(), !is_struct);
            assert_eq!(line.len(), bytes.len() + "\"resourceVersion\":\"12\",\n".len(), "{expected}");
        }
        for (partial, expected) in [
            (json!({}), "{}"),
            (json!({"kind": "A"}), r#"{"kind":"A"}"#),
            (json!({"spec": 1}), r#"{"spec":1}"#),
            (json!({"metadata": null, "spec": 1}), r#"{"metadata":null,"spec":1}"#),
            (json!({"metadata": {"resourceVersion": "1"}}), r#"{"metadata":{}}"#),
        ] {
            for order in [FieldOrder::Usual, FieldOrder::ByName, FieldOrder::Declared(&declared)] {
                assert_eq!(encode(&object(partial.clone()), order), expected);
            }
        }
    }

    #[test]
    fn versions_are_spliced_in_or_written_in() {
        let table = [
            // Canonical: the version is inserted.
            (
                r#"{"kind":"A","apiVersion":"v1","metadata":{"name":"x"},"s":1}"#,
                r#"{"kind":"A","apiVersion":"v1","metadata":{"resourceVersion":"12","name":"x"},"s":1}"#,
            ),
            (
                "{\"kind\":\"A\",\"apiVersion\":\"v1\",\"metadata\":{}}\n",
                r#"{"kind":"A","apiVersion":"v1","metadata":{"resourceVersion":"12"}}"#,
            ),
            // Written by a later release.
            (
                "{\"kind\":\"A\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"x\"}}  ",
                r#"{"kind":"A","apiVersion":"v1","metadata":{"resourceVersion":"12","name":"x"}}"#,
            ),
            // Written by kube-apiserver, with Go's order below the top level.
            (
                "{\"kind\":\"A\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"x\",\"labels\":{}},\"s\":1}\n",
                r#"{"kind":"A","apiVersion":"v1","metadata":{"resourceVersion":"12","name":"x","labels":{}},"s":1}"#,
            ),
            // Custom resources, and the order of earlier versions of this server.
            (
                r#"{"apiVersion":"v1","kind":"A","metadata":{"name":"x"},"a":1}"#,
                r#"{"apiVersion":"v1","kind":"A","metadata":{"resourceVersion":"12","name":"x"},"a":1}"#,
            ),
            (
                r#"{"a":[{"metadata":{}},"]}\",",-1.5],"apiVersion":"v1","b":null,"c":"\"metadata\":{","kind":"A","metadata":{"name":"x"},"s":1}"#,
                r#"{"a":[{"metadata":{}},"]}\",",-1.5],"apiVersion":"v1","b":null,"c":"\"metadata\":{","kind":"A","metadata":{"resourceVersion":"12","name":"x"},"s":1}"#,
            ),
            // In any other form: encoded again.
            (
                r#"{ "metadata": {"name":"x","resourceVersion":"3"}, "kind":"A" }"#,
                r#"{"kind":"A","metadata":{"resourceVersion":"12","name":"x"}}"#,
            ),
            (
                r#"{"apiVersion":"v1" ,"kind":"A","metadata":{"name":"x"}}"#,
                r#"{"kind":"A","apiVersion":"v1","metadata":{"resourceVersion":"12","name":"x"}}"#,
            ),
            (r#"{"spec":1}"#, r#"{"metadata":{"resourceVersion":"12"},"spec":1}"#),
        ];
        for (stored, expected) in table {
            let (line, offset) = with_resource_version(&Bytes::from_static(stored.as_bytes()), 12).unwrap();
            assert_eq!(line, format!("{expected}\n"));
            let tail = &line[offset as usize..];
            let starts = tail.starts_with(b"\"metadata\":{\"resourceVersion\":\"12\"");
            assert!(starts || (tail.is_empty() && stored.starts_with("{\"a\"")), "{stored}");
        }
        for revision in [0, 9, 10, u64::MAX] {
            let canonical = Bytes::from_static(br#"{"kind":"A","apiVersion":"v1","metadata":{"name":"x"}}"#);
            let (bytes, _) = with_resource_version(&canonical, revision).unwrap();
            assert_eq!(decode(&bytes).unwrap().resource_version(), revision.to_string());
        }
    }

    #[test]
    fn values_without_an_object_are_refused() {
        // The last one begins as a canonical value.
        let cut = r#"{"kind":"Pod","apiVersion":"v1","metadata":{"name":"a"}"#.trim_end_matches('}');
        for garbage in ["", "[]", "null", "{", "{}x", "k8s\0", cut] {
            assert!(decode(garbage.as_bytes()).is_err(), "{garbage}");
            assert!(with_resource_version(&Bytes::from_static(garbage.as_bytes()), 1).is_err(), "{garbage}");
        }
    }
}
