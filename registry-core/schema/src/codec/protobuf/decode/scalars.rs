//! Scalar values.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Number, Value};

use crate::codec::json;
use crate::codec::protobuf::DecodeError;
use crate::codec::protobuf::reader::{Occurrence, Reader};
use crate::{Quantity, Scalar};
use registry_meta::time::moment::Moment;
use registry_meta::time::{format_microseconds, format_seconds};

/// Reads a scalar.
pub(super) fn scalar(scalar: Scalar, field: Occurrence<'_, '_>, depth: usize) -> Result<Value, DecodeError> {
    match scalar {
        Scalar::Bool => Ok(Value::Bool(field.varint()? != 0)),
        #[expect(clippy::cast_possible_truncation, reason = "as Go does")]
        Scalar::Int32 => Ok((field.varint()? as i32).into()),
        Scalar::Int64 => Ok(field.varint()?.cast_signed().into()),
        Scalar::Double => {
            let number = f64::from_bits(field.fixed64()?);
            double(number).ok_or(DecodeError::Float(number))
        }
        Scalar::String => field.string().map(Value::String),
        Scalar::Bytes => Ok(Value::String(STANDARD.encode(field.bytes()?))),
        Scalar::Any => field.skip().map(|()| Value::Null),
        Scalar::Raw | Scalar::Time | Scalar::MicroTime | Scalar::Quantity | Scalar::IntOrString => {
            special(scalar, field.name, field.bytes()?, depth)
        }
    }
}

/// Converts as Go does: integers without a fraction.
fn double(number: f64) -> Option<Value> {
    json::float(number).or_else(|| Number::from_f64(number)).map(Value::Number)
}

/// Decodes a value that is a message in protobuf but a scalar in JSON.
fn special(scalar: Scalar, name: &str, message: &[u8], depth: usize) -> Result<Value, DecodeError> {
    match scalar {
        Scalar::Raw => raw(name, message, depth),
        Scalar::Quantity => quantity(name, message),
        Scalar::IntOrString => int_or_string(name, message),
        _ => time(scalar, name, message),
    }
}

fn raw(name: &str, message: &[u8], depth: usize) -> Result<Value, DecodeError> {
    let mut reader = Reader::new(message);
    let mut text: &[u8] = &[];
    while let Some(field) = reader.field(name)? {
        match field.key.number {
            1 => text = field.bytes()?,
            _ => field.skip()?,
        }
    }
    if text.is_empty() {
        return Ok(Value::Null);
    }
    json::decode_value(text, super::deeper(depth)?)
}

fn quantity(name: &str, message: &[u8]) -> Result<Value, DecodeError> {
    let mut reader = Reader::new(message);
    let mut text = "0".to_owned();
    while let Some(field) = reader.field(name)? {
        match field.key.number {
            1 => text = field.string()?,
            _ => field.skip()?,
        }
    }
    Ok(Quantity::parse(&text)?.to_string().into())
}

fn int_or_string(name: &str, message: &[u8]) -> Result<Value, DecodeError> {
    let mut reader = Reader::new(message);
    let mut kind = 0;
    let mut number = 0;
    let mut text = String::new();
    while let Some(field) = reader.field(name)? {
        match field.key.number {
            1 => kind = field.varint()?,
            #[expect(clippy::cast_possible_truncation, reason = "as Go does")]
            2 => number = field.varint()? as i32,
            3 => text = field.string()?,
            _ => field.skip()?,
        }
    }
    match kind {
        0 => Ok(number.into()),
        1 => Ok(text.into()),
        _ => Err(DecodeError::IntOrString),
    }
}

/// Decodes a time; null for Go's zero time, which is an empty message too.
///
/// Go's messages have times that RFC 3339 has not, and kube-apiserver stores them. They are read as the nearest one that
/// it has, so that a list does not fail because of one of them.
fn time(scalar: Scalar, name: &str, message: &[u8]) -> Result<Value, DecodeError> {
    if message.is_empty() {
        return Ok(Value::Null);
    }
    let mut reader = Reader::new(message);
    let mut seconds = 0;
    let mut nanos = 0;
    while let Some(field) = reader.field(name)? {
        match field.key.number {
            1 => seconds = field.varint()?.cast_signed(),
            #[expect(clippy::cast_possible_truncation, reason = "as Go does")]
            2 => nanos = field.varint()? as i32,
            _ => field.skip()?,
        }
    }
    // Kubernetes' times have no fraction in JSON, so it is dropped here too.
    let moment = Moment::nearest(seconds, if scalar == Scalar::Time { 0 } else { nanos });
    Ok(match scalar {
        _ if moment == Moment::ZERO => Value::Null,
        Scalar::Time => format_seconds(moment).into(),
        _ => format_microseconds(moment).into(),
    })
}
