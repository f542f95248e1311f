//! Encodes trees to messages.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value};

use crate::schema::{FieldRef, Form, Message, Scalar, SchemaOr, Slot, TypeRef};

use super::reader::WireType;
use super::writer::{close, open, write_bytes, write_key, write_number, write_varint};

/// Writes the message of a whole object.
pub(super) fn root(out: &mut Vec<u8>, ty: TypeRef<'_>, value: &Value) {
    if let Form::Struct(message) = ty.form() {
        fields(out, message, value.as_object());
    }
}

/// Writes all fields. For an absent struct (`None`), non-pointer fields are written nevertheless.
fn fields(out: &mut Vec<u8>, message: Message<'_>, object: Option<&Map<String, Value>>) {
    let object = object.filter(|object| !object.is_empty());
    for (number, slot) in message.slots() {
        match slot {
            Slot::Inlined(inner) => {
                let at = open(out, number);
                fields(out, inner, object);
                close(out, at);
            }
            Slot::Field(field) => {
                let value = object.and_then(|object| object.get(field.name()));
                self::field(out, number, field, value.unwrap_or(&Value::Null));
            }
        }
    }
}

/// Writes a field if it is set: only pointers, lists and maps can be null or absent.
fn field(out: &mut Vec<u8>, number: u32, field: FieldRef<'_>, value: &Value) {
    if value.is_null() && field.is_pointer() {
        return;
    }
    let ty = field.ty();
    match (ty.form(), value) {
        (Form::List(element), Value::Array(items)) => {
            for item in items {
                self::value(out, number, element, item);
            }
        }
        (Form::Map(element), Value::Object(entries)) => map(out, number, element, entries),
        (Form::List(_) | Form::Map(_), _)
        | (Form::Boxed | Form::SchemaOr(..) | Form::Scalar(Scalar::Bytes), Value::Null) => {}
        _ => self::value(out, number, ty, value),
    }
}

/// Writes map entries, each a message with a key and a value. The tree is sorted by key.
fn map(out: &mut Vec<u8>, number: u32, element: TypeRef<'_>, entries: &Map<String, Value>) {
    for (key, item) in entries {
        let at = open(out, number);
        write_bytes(out, 1, key.as_bytes());
        let is_nil = item.is_null() && element.scalar() == Some(Scalar::Bytes);
        if !is_nil {
            value(out, 2, element, item);
        }
        close(out, at);
    }
}

/// Writes a value; null is written as the type's zero.
fn value(out: &mut Vec<u8>, number: u32, ty: TypeRef<'_>, value: &Value) {
    match ty.form() {
        Form::Scalar(scalar) => self::scalar(out, number, scalar, value),
        Form::Struct(message) => {
            let at = open(out, number);
            fields(out, message, value.as_object());
            close(out, at);
        }
        Form::Boxed => {
            let at = open(out, number);
            strings(out, 1, value);
            close(out, at);
        }
        Form::SchemaOr(schema, or) => {
            let at = open(out, number);
            schema_or(out, schema, or, value);
            close(out, at);
        }
        // Protobuf has no lists of lists.
        Form::List(_) | Form::Map(_) => {}
    }
}

fn strings(out: &mut Vec<u8>, number: u32, list: &Value) {
    for item in list.as_array().into_iter().flatten() {
        write_bytes(out, number, item.as_str().unwrap_or_default().as_bytes());
    }
}

/// Encodes a CRD's JSON schema, or the alternative to it.
fn schema_or(out: &mut Vec<u8>, schema: TypeRef<'_>, or: SchemaOr, value: &Value) {
    match or {
        SchemaOr::Bool => {
            let is_schema = value.is_object();
            write_number(out, 1, u64::from(is_schema || value.as_bool().unwrap_or_default()));
            if is_schema {
                self::value(out, 2, schema, value);
            }
        }
        SchemaOr::List | SchemaOr::Strings if value.is_object() => self::value(out, 1, schema, value),
        SchemaOr::List => {
            for item in value.as_array().into_iter().flatten() {
                self::value(out, 2, schema, item);
            }
        }
        SchemaOr::Strings => strings(out, 2, value),
    }
}

fn scalar(out: &mut Vec<u8>, number: u32, scalar: Scalar, value: &Value) {
    match scalar {
        Scalar::Bool => write_number(out, number, u64::from(value.as_bool().unwrap_or_default())),
        Scalar::Int32 | Scalar::Int64 => {
            write_number(out, number, value.as_i64().unwrap_or_default().cast_unsigned());
        }
        Scalar::Double => {
            write_key(out, number, WireType::Fixed64);
            out.extend_from_slice(&value.as_f64().unwrap_or_default().to_le_bytes());
        }
        Scalar::String => write_bytes(out, number, value.as_str().unwrap_or_default().as_bytes()),
        Scalar::Bytes => {
            let bytes = STANDARD.decode(value.as_str().unwrap_or_default()).unwrap_or_default();
            write_bytes(out, number, &bytes);
        }
        Scalar::Any => {}
        Scalar::Raw | Scalar::Time | Scalar::MicroTime | Scalar::Quantity | Scalar::IntOrString => {
            let at = open(out, number);
            special(out, scalar, value);
            close(out, at);
        }
    }
}

/// Writes the fields of a value that is a message in protobuf but a scalar in JSON.
fn special(out: &mut Vec<u8>, scalar: Scalar, value: &Value) {
    match scalar {
        Scalar::Raw if value.is_null() => {}
        Scalar::Raw => {
            let at = open(out, 1);
            // Writing a tree to memory cannot fail.
            let written = serde_json::to_writer(&mut *out, value);
            debug_assert!(written.is_ok(), "memory takes everything");
            close(out, at);
        }
        Scalar::Time | Scalar::MicroTime => time(out, scalar, value),
        Scalar::Quantity => write_bytes(out, 1, value.as_str().unwrap_or("0").as_bytes()),
        _ => {
            let text = value.as_str();
            write_number(out, 1, u64::from(text.is_some()));
            write_number(out, 2, value.as_i64().unwrap_or_default().cast_unsigned());
            write_bytes(out, 3, text.unwrap_or_default().as_bytes());
        }
    }
}

/// Writes seconds and nanoseconds since 1970; nothing for Go's zero time.
fn time(out: &mut Vec<u8>, scalar: Scalar, value: &Value) {
    let Some(moment) = value.as_str().and_then(|text| text.parse::<Timestamp>().ok()) else { return };
    // Before 1970, the fraction is negative here but positive in protobuf.
    let mut seconds = moment.as_second();
    let mut nanos = moment.subsec_nanosecond();
    if nanos < 0 {
        (seconds, nanos) = (seconds - 1, nanos + 1_000_000_000);
    }
    let nanos = if scalar == Scalar::Time { 0 } else { nanos / 1000 * 1000 };
    write_number(out, 1, seconds.cast_unsigned());
    write_key(out, 2, WireType::Varint);
    write_varint(out, i64::from(nanos).cast_unsigned());
}
