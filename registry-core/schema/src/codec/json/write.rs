//! The JSON encoder of objects: their top-level fields in the order of their kind, everything below by name.

use std::io::Write;

use serde_json::{Map, Value};

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
    write_json(out, field);
    out.push(b':');
    write_json(out, value);
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

/// Writing strings and trees to memory cannot fail: there is no I/O, and all keys are strings.
fn write_json<T: serde::Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let written = serde_json::to_writer(out, value);
    debug_assert!(written.is_ok(), "memory takes everything");
}
