//! The JSON encoder of objects: their top-level fields in the order of their kind, everything below by name.

use std::io::Write;

use serde_json::{Map, Value};

use super::words::has_escapes;
use crate::FieldOrder;

/// The first fields of every Go struct of an object; `metadata` follows.
const TYPE_META: [&str; 2] = ["kind", "apiVersion"];

const METADATA: &str = "metadata";

/// The fields after the metadata, where a kind declares no others.
const USUAL_FIELDS: [&str; 2] = ["spec", "status"];

/// Encodes an object with its top-level fields in this order.
pub fn encode(object: &Map<String, Value>, order: FieldOrder<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    out.push(b'{');
    write_fields(&mut out, object, order, |out, metadata| {
        if let Some(metadata) = metadata {
            write_field(out, METADATA, metadata);
        }
    });
    close(&mut out);
    out
}

/// Writes the fields of an object; `write_metadata` is called once, at the place of that field, with its value.
pub(in crate::codec) fn write_fields(
    out: &mut Vec<u8>,
    object: &Map<String, Value>,
    order: FieldOrder<'_>,
    write_metadata: impl FnMut(&mut Vec<u8>, Option<&Value>),
) {
    match order {
        FieldOrder::Usual => write_struct(out, object, &USUAL_FIELDS.into_iter(), write_metadata),
        FieldOrder::Declared(names) => {
            write_struct(out, object, &names.iter().map(|name| &**name), write_metadata);
        }
        FieldOrder::ByName => write_map(out, object, write_metadata),
    }
}

/// Writes the fields as of a Go struct; fields that it does not declare follow by name.
fn write_struct<'n>(
    out: &mut Vec<u8>,
    object: &Map<String, Value>,
    declared: &(impl Iterator<Item = &'n str> + Clone),
    mut write_metadata: impl FnMut(&mut Vec<u8>, Option<&Value>),
) {
    let mut written = 0;
    let mut write_known = |out: &mut Vec<u8>, field| {
        if let Some(value) = object.get(field) {
            written += 1;
            write_field(out, field, value);
        }
    };
    for field in TYPE_META {
        write_known(out, field);
    }
    let metadata = object.get(METADATA);
    write_metadata(out, metadata);
    for field in declared.clone() {
        write_known(out, field);
    }
    written += usize::from(metadata.is_some());
    if written == object.len() {
        return;
    }
    for (field, value) in object {
        if !TYPE_META.into_iter().chain([METADATA]).chain(declared.clone()).any(|known| known == field) {
            write_field(out, field, value);
        }
    }
}

fn write_map(
    out: &mut Vec<u8>,
    object: &Map<String, Value>,
    mut write_metadata: impl FnMut(&mut Vec<u8>, Option<&Value>),
) {
    let mut has_metadata = false;
    for (field, value) in object {
        if field == METADATA {
            write_metadata(out, Some(value));
            has_metadata = true;
        } else {
            write_field(out, field, value);
        }
    }
    if !has_metadata {
        write_metadata(out, None);
    }
}

/// Writes a field, with a comma before it unless it is the first one.
pub(in crate::codec) fn write_field(out: &mut Vec<u8>, field: &str, value: &Value) {
    write_comma(out);
    write_string(out, field);
    out.push(b':');
    write_value(out, value);
}

/// Writes a comma unless the next entry is the first one, or follows a comma.
pub(in crate::codec) fn write_comma(out: &mut Vec<u8>) {
    if !matches!(out.last(), Some(b'{' | b',')) {
        out.push(b',');
    }
}

/// Writes the end of an object.
pub(in crate::codec) fn close(out: &mut Vec<u8>) {
    out.push(b'}');
}

/// Writes a number.
pub(in crate::codec) fn write_number(out: &mut Vec<u8>, number: u64) {
    let written = write!(out, "{number}");
    debug_assert!(written.is_ok(), "memory takes everything");
}

/// Writes a value as `serde_json` does, which looks at each byte of a string by itself.
fn write_value(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Number(number) => write_by_serde(out, number),
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_value(out, item);
            }
            out.push(b']');
        }
        Value::Object(fields) => {
            out.push(b'{');
            for (index, (name, value)) in fields.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_string(out, name);
                out.push(b':');
                write_value(out, value);
            }
            out.push(b'}');
        }
    }
}

fn write_string(out: &mut Vec<u8>, text: &str) {
    if has_escapes(text.as_bytes()) {
        return write_by_serde(out, text);
    }
    out.reserve(text.len() + 2);
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

/// Writing strings and numbers to memory cannot fail: there is no I/O.
fn write_by_serde<T: serde::Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let written = serde_json::to_writer(out, value);
    debug_assert!(written.is_ok(), "memory takes everything");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_written_as_by_serde() {
        let mut texts: Vec<String> = (0..=0x7f).map(|byte| char::from(byte).to_string()).collect();
        for length in 0..20 {
            let plain = "é".repeat(length / 2) + &"x".repeat(length % 2);
            texts.push(format!("{plain}\"{plain}"));
            texts.push(format!("{plain}\u{1f}"));
            texts.push(plain);
        }
        let value = json!({
            "texts": texts, "numbers": [0, -1, u64::MAX, i64::MIN, 1.5, 1e300, -0.0], "literals": [null, true, false],
            "nested": {"a\"b": {}, "list": [[], [{"x": [1, 2]}]], "": ""},
        });
        let mut out = Vec::new();
        write_value(&mut out, &value);
        assert_eq!(String::from_utf8(out).unwrap(), value.to_string());
    }
}
