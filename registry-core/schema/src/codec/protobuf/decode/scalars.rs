//! Scalar values.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Number, Value};

use crate::codec::json;
use crate::codec::protobuf::DecodeError;
use crate::codec::protobuf::reader::{Key, Reader, WireType};
use crate::{Quantity, Scalar};
use registry_meta::time::moment::Moment;
use registry_meta::time::{format_microseconds, format_seconds};

/// Reads a scalar.
pub(super) fn scalar(
    scalar: Scalar,
    name: &str,
    key: Key,
    reader: &mut Reader<'_>,
    depth: usize,
) -> Result<Value, DecodeError> {
    match scalar {
        Scalar::Bool => Ok(Value::Bool(varint(name, key, reader)? != 0)),
        #[expect(clippy::cast_possible_truncation, reason = "as Go does")]
        Scalar::Int32 => Ok((varint(name, key, reader)? as i32).into()),
        Scalar::Int64 => Ok(varint(name, key, reader)?.cast_signed().into()),
        Scalar::Double => {
            key.expect(WireType::Fixed64, name)?;
            let number = f64::from_bits(reader.fixed64()?);
            double(number).ok_or(DecodeError::Float(number))
        }
        Scalar::String => string(name, key, reader).map(Value::String),
        Scalar::Bytes => {
            key.expect(WireType::Bytes, name)?;
            Ok(Value::String(STANDARD.encode(reader.bytes()?)))
        }
        Scalar::Any => reader.skip(key).map(|()| Value::Null),
        Scalar::Raw | Scalar::Time | Scalar::MicroTime | Scalar::Quantity | Scalar::IntOrString => {
            key.expect(WireType::Bytes, name)?;
            special(scalar, name, reader.bytes()?, depth)
        }
    }
}

/// Reads a string. Go accepts invalid UTF-8 here and replaces it when it writes JSON.
pub(super) fn string(name: &str, key: Key, reader: &mut Reader<'_>) -> Result<String, DecodeError> {
    key.expect(WireType::Bytes, name)?;
    Ok(String::from_utf8_lossy(reader.bytes()?).into_owned())
}

fn varint(name: &str, key: Key, reader: &mut Reader<'_>) -> Result<u64, DecodeError> {
    key.expect(WireType::Varint, name)?;
    reader.varint()
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
    while let Some(key) = reader.key()? {
        match key.number {
            1 => {
                key.expect(WireType::Bytes, name)?;
                text = reader.bytes()?;
            }
            _ => reader.skip(key)?,
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
    while let Some(key) = reader.key()? {
        match key.number {
            1 => text = string(name, key, &mut reader)?,
            _ => reader.skip(key)?,
        }
    }
    Ok(Quantity::parse(&text)?.to_string().into())
}

fn int_or_string(name: &str, message: &[u8]) -> Result<Value, DecodeError> {
    let mut reader = Reader::new(message);
    let mut kind = 0;
    let mut number = 0;
    let mut text = String::new();
    while let Some(key) = reader.key()? {
        match key.number {
            1 => kind = varint(name, key, &mut reader)?,
            #[expect(clippy::cast_possible_truncation, reason = "as Go does")]
            2 => number = varint(name, key, &mut reader)? as i32,
            3 => text = string(name, key, &mut reader)?,
            _ => reader.skip(key)?,
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
    while let Some(key) = reader.key()? {
        match key.number {
            1 => seconds = varint(name, key, &mut reader)?.cast_signed(),
            #[expect(clippy::cast_possible_truncation, reason = "as Go does")]
            2 => nanos = varint(name, key, &mut reader)? as i32,
            _ => reader.skip(key)?,
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
