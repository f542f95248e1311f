//! Encodes trees to messages.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use registry_meta::time::moment::{Layout, Moment};
use serde_json::{Map, Value};

use crate::{FieldRef, Form, Message, Scalar, SchemaOr, Slot, TypeRef};

use super::reader::WireType;
use super::writer::{close, open, write_bytes, write_key, write_number, write_varint};

/// Error of encoding a value that does not have the type of its schema.
///
/// Conformed objects have none. Stored bytes can, if something other than this server wrote them.
#[derive(Debug)]
pub struct EncodeError(Box<Mismatch>);

#[derive(Debug)]
struct Mismatch {
    /// The path of the value from the innermost field outwards.
    path: Vec<String>,
    expected: &'static str,
    found: &'static str,
}

type Written = Result<(), EncodeError>;

/// Writes the message of a whole object.
pub(super) fn root(out: &mut Vec<u8>, ty: TypeRef<'_>, value: &Value) -> Written {
    match ty.form() {
        Form::Struct(message) => fields(out, message, object_of(value)?),
        _ => Ok(()),
    }
}

/// Writes all fields. For an absent struct (`None`), non-pointer fields are written nevertheless.
fn fields(out: &mut Vec<u8>, message: Message<'_>, object: Option<&Map<String, Value>>) -> Written {
    let object = object.filter(|object| !object.is_empty());
    for (number, slot) in message.slots() {
        match slot {
            Slot::Inlined(inner) => {
                let at = open(out, number);
                fields(out, inner, object)?;
                close(out, at);
            }
            Slot::Field(field) => {
                let value = object.and_then(|object| object.get(field.name()));
                self::field(out, number, field, value.unwrap_or(&Value::Null))
                    .map_err(|error| error.below(field.name()))?;
            }
        }
    }
    Ok(())
}

/// Writes a field if it is set: only pointers, lists and maps can be null or absent.
fn field(out: &mut Vec<u8>, number: u32, field: FieldRef<'_>, value: &Value) -> Written {
    if value.is_null() && field.is_pointer() {
        return Ok(());
    }
    let ty = field.ty();
    match (ty.form(), value) {
        (Form::List(element), Value::Array(items)) => {
            for (index, item) in items.iter().enumerate() {
                self::value(out, number, element, item).map_err(|error| error.below(&index))?;
            }
            Ok(())
        }
        (Form::Map(element), Value::Object(entries)) => map(out, number, element, entries),
        (
            Form::List(_) | Form::Map(_) | Form::Boxed | Form::SchemaOr(..) | Form::Scalar(Scalar::Bytes),
            Value::Null,
        ) => Ok(()),
        (Form::List(_), _) => Err(EncodeError::new("a list", value)),
        (Form::Map(_), _) => Err(EncodeError::new("an object", value)),
        _ => self::value(out, number, ty, value),
    }
}

/// Writes map entries, each a message with a key and a value. The tree is sorted by key.
fn map(out: &mut Vec<u8>, number: u32, element: TypeRef<'_>, entries: &Map<String, Value>) -> Written {
    for (key, item) in entries {
        let at = open(out, number);
        write_bytes(out, 1, key.as_bytes());
        let is_nil = item.is_null() && element.scalar() == Some(Scalar::Bytes);
        if !is_nil {
            value(out, 2, element, item).map_err(|error| error.below(key))?;
        }
        close(out, at);
    }
    Ok(())
}

/// Writes a value; null is written as the type's zero.
fn value(out: &mut Vec<u8>, number: u32, ty: TypeRef<'_>, value: &Value) -> Written {
    let scalar = match ty.form() {
        Form::Scalar(scalar) => scalar,
        // Protobuf has no lists of lists.
        Form::List(_) | Form::Map(_) => return Ok(()),
        Form::Struct(message) => return nested(out, number, |out| fields(out, message, object_of(value)?)),
        Form::Boxed => return nested(out, number, |out| strings(out, 1, value)),
        Form::SchemaOr(schema, or) => {
            return nested(out, number, |out| schema_or(out, schema, or, value));
        }
    };
    self::scalar(out, number, scalar, value)
}

/// Writes a field that is a message.
fn nested(out: &mut Vec<u8>, number: u32, write: impl FnOnce(&mut Vec<u8>) -> Written) -> Written {
    let at = open(out, number);
    write(out)?;
    close(out, at);
    Ok(())
}

fn strings(out: &mut Vec<u8>, number: u32, list: &Value) -> Written {
    for (index, item) in list_of(list)?.iter().enumerate() {
        let text = text_of(item).map_err(|error| error.below(&index))?;
        write_bytes(out, number, text.as_bytes());
    }
    Ok(())
}

/// Encodes a CRD's JSON schema, or the alternative to it.
fn schema_or(out: &mut Vec<u8>, schema: TypeRef<'_>, or: SchemaOr, value: &Value) -> Written {
    match or {
        SchemaOr::Bool => {
            let is_schema = value.is_object();
            write_number(out, 1, u64::from(is_schema || bool_of(value)?));
            if is_schema { self::value(out, 2, schema, value) } else { Ok(()) }
        }
        SchemaOr::List | SchemaOr::Strings if value.is_object() => self::value(out, 1, schema, value),
        SchemaOr::List => {
            for (index, item) in list_of(value)?.iter().enumerate() {
                self::value(out, 2, schema, item).map_err(|error| error.below(&index))?;
            }
            Ok(())
        }
        SchemaOr::Strings => strings(out, 2, value),
    }
}

fn scalar(out: &mut Vec<u8>, number: u32, scalar: Scalar, value: &Value) -> Written {
    match scalar {
        Scalar::Bool => write_number(out, number, u64::from(bool_of(value)?)),
        Scalar::Int32 => write_number(out, number, i64::from(int32_of(value)?).cast_unsigned()),
        Scalar::Int64 => write_number(out, number, int64_of(value)?.cast_unsigned()),
        Scalar::Double => {
            write_key(out, number, WireType::Fixed64);
            out.extend_from_slice(&double_of(value)?.to_le_bytes());
        }
        Scalar::String => write_bytes(out, number, text_of(value)?.as_bytes()),
        Scalar::Bytes => {
            let bytes = STANDARD.decode(text_of(value)?);
            let bytes = bytes.map_err(|_| EncodeError::new("base64", value))?;
            write_bytes(out, number, &bytes);
        }
        Scalar::Any => {}
        Scalar::Raw | Scalar::Time | Scalar::MicroTime | Scalar::Quantity | Scalar::IntOrString => {
            return nested(out, number, |out| special(out, scalar, value));
        }
    }
    Ok(())
}

/// Writes the fields of a value that is a message in protobuf but a scalar in JSON.
fn special(out: &mut Vec<u8>, scalar: Scalar, value: &Value) -> Written {
    match scalar {
        Scalar::Raw if value.is_null() => {}
        Scalar::Raw => {
            let at = open(out, 1);
            // Writing a tree to memory cannot fail.
            let written = serde_json::to_writer(&mut *out, value);
            debug_assert!(written.is_ok(), "memory takes everything");
            close(out, at);
        }
        Scalar::Time | Scalar::MicroTime => return time(out, scalar, value),
        Scalar::Quantity => match value {
            Value::Null => write_bytes(out, 1, b"0"),
            Value::Number(number) => write_bytes(out, 1, number.to_string().as_bytes()),
            _ => write_bytes(out, 1, text_of(value)?.as_bytes()),
        },
        _ => {
            let text = value.as_str();
            let number = if text.is_some() { 0 } else { int32_of(value)? };
            write_number(out, 1, u64::from(text.is_some()));
            write_number(out, 2, i64::from(number).cast_unsigned());
            write_bytes(out, 3, text.unwrap_or("").as_bytes());
        }
    }
    Ok(())
}

/// Writes seconds and nanoseconds since 1970; nothing for Go's zero time.
fn time(out: &mut Vec<u8>, scalar: Scalar, value: &Value) -> Written {
    if value.is_null() {
        return Ok(());
    }
    let text = text_of(value)?;
    let moment = match Moment::parse(text, Layout::Seconds) {
        Ok(moment) => moment,
        // An earlier version of this server stored such times; a whole list must not fail because of one of them.
        Err(_) if text.starts_with('-') => Moment::MIN,
        Err(_) => return Err(EncodeError::new("a time", value)),
    };
    let nanos = if scalar == Scalar::Time { 0 } else { moment.subsec_nanosecond() / 1000 * 1000 };
    write_number(out, 1, moment.as_second().cast_unsigned());
    write_key(out, 2, WireType::Varint);
    write_varint(out, i64::from(nanos).cast_unsigned());
    Ok(())
}

// Each of these returns the type's zero for null.

fn object_of(value: &Value) -> Result<Option<&Map<String, Value>>, EncodeError> {
    match value {
        Value::Null => Ok(None),
        Value::Object(fields) => Ok(Some(fields)),
        _ => Err(EncodeError::new("an object", value)),
    }
}

fn list_of(value: &Value) -> Result<&[Value], EncodeError> {
    match value {
        Value::Null => Ok(&[]),
        Value::Array(items) => Ok(items),
        _ => Err(EncodeError::new("a list", value)),
    }
}

fn text_of(value: &Value) -> Result<&str, EncodeError> {
    match value {
        Value::Null => Ok(""),
        Value::String(text) => Ok(text),
        _ => Err(EncodeError::new("a string", value)),
    }
}

fn bool_of(value: &Value) -> Result<bool, EncodeError> {
    match value {
        Value::Null => Ok(false),
        Value::Bool(is_set) => Ok(*is_set),
        _ => Err(EncodeError::new("a boolean", value)),
    }
}

fn int64_of(value: &Value) -> Result<i64, EncodeError> {
    if value.is_null() { Ok(0) } else { value.as_i64().ok_or_else(|| EncodeError::new("an integer", value)) }
}

fn int32_of(value: &Value) -> Result<i32, EncodeError> {
    i32::try_from(int64_of(value)?).map_err(|_| EncodeError::new("an integer of 32 bits", value))
}

fn double_of(value: &Value) -> Result<f64, EncodeError> {
    if value.is_null() { Ok(0.0) } else { value.as_f64().ok_or_else(|| EncodeError::new("a number", value)) }
}

// === impl EncodeError ===

impl EncodeError {
    fn new(expected: &'static str, found: &Value) -> Self {
        let found = match found {
            Value::Null => "null",
            Value::Bool(_) => "this boolean",
            Value::Number(_) => "this number",
            Value::String(_) => "this string",
            Value::Array(_) => "a list",
            Value::Object(_) => "an object",
        };
        Self(Box::new(Mismatch { path: Vec::new(), expected, found }))
    }

    /// Returns the same error, of a value below this field, index or key.
    fn below(mut self, step: &(impl ToString + ?Sized)) -> Self {
        self.0.path.push(step.to_string());
        self
    }
}

impl fmt::Display for EncodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mismatch { path, expected, found } = &*self.0;
        let path: Vec<&str> = path.iter().rev().map(String::as_str).collect();
        write!(formatter, "{}: {found} is not {expected}", path.join("."))
    }
}

impl std::error::Error for EncodeError {}
