//! The CBOR decoder.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use minicbor::Decoder;
use minicbor::data::Type;
use serde_json::{Map, Value, map::Entry};

use crate::codec::{Limits, json};
use registry_meta::budget::memory::{LIST_BYTES, MAP_BYTES, VALUE_BYTES};

use super::{DecodeError, LATER_BASE64};

/// The interpretation of a byte string, which depends on its tag.
#[derive(Clone, Copy)]
enum Bytes {
    /// As text.
    Text,
    Base64,
    Base64Url,
    Base16,
}

/// Decodes a single value without trailing data.
pub(super) fn whole(bytes: &[u8], limits: &Limits<'_>) -> Result<Value, DecodeError> {
    let mut decoder = Decoder::new(bytes);
    let value = tree(&mut decoder, limits, Bytes::Text)?;
    let left = bytes.len().saturating_sub(decoder.position());
    if left > 0 {
        return Err(DecodeError::CborRest(left, decoder.position()));
    }
    Ok(value)
}

/// Reads a value. Lists and maps grow as their elements are read, independent of the declared length.
fn tree(decoder: &mut Decoder<'_>, limits: &Limits<'_>, bytes: Bytes) -> Result<Value, DecodeError> {
    let depth = limits.depth.checked_sub(1).ok_or_else(|| DecodeError::TooDeep)?;
    let limits = &Limits { depth, ..*limits };
    limits.take_next(VALUE_BYTES)?;
    Ok(match decoder.datatype().map_err(malformed)? {
        Type::Null | Type::Undefined => {
            decoder.skip().map_err(malformed)?;
            Value::Null
        }
        Type::Bool => decoder.bool().map_err(malformed)?.into(),
        Type::U8
        | Type::U16
        | Type::U32
        | Type::U64
        | Type::I8
        | Type::I16
        | Type::I32
        | Type::I64
        | Type::Int => decoder.i64().map_err(malformed)?.into(),
        Type::F16 => float(f64::from(decoder.f16().map_err(malformed)?))?,
        Type::F32 => float(f64::from(decoder.f32().map_err(malformed)?))?,
        Type::F64 => float(decoder.f64().map_err(malformed)?)?,
        Type::Bytes | Type::BytesIndef | Type::String | Type::StringIndef => {
            Value::String(string(decoder, bytes)?)
        }
        Type::Array | Type::ArrayIndef => Value::Array(list(decoder, limits, bytes)?),
        Type::Map | Type::MapIndef => Value::Object(map(decoder, limits, bytes)?),
        Type::Tag => {
            let expected = match decoder.tag().map_err(malformed)?.as_u64() {
                21 => Bytes::Base64Url,
                LATER_BASE64 => Bytes::Base64,
                23 => Bytes::Base16,
                2 | 3 => return Err(DecodeError::CborNumber),
                _ => bytes,
            };
            tree(decoder, limits, expected)?
        }
        other => return Err(DecodeError::CborType(other)),
    })
}

fn list(decoder: &mut Decoder<'_>, limits: &Limits<'_>, bytes: Bytes) -> Result<Vec<Value>, DecodeError> {
    let mut items = Vec::new();
    let mut left = decoder.array().map_err(malformed)?;
    while more(decoder, &mut left)? {
        if items.is_empty() {
            limits.take(LIST_BYTES)?;
        }
        items.push(tree(decoder, limits, bytes)?);
    }
    Ok(items)
}

fn map(
    decoder: &mut Decoder<'_>,
    limits: &Limits<'_>,
    bytes: Bytes,
) -> Result<Map<String, Value>, DecodeError> {
    let mut map = Map::new();
    let mut left = decoder.map().map_err(malformed)?;
    while more(decoder, &mut left)? {
        if map.is_empty() {
            limits.take(MAP_BYTES)?;
        }
        let key = string(decoder, Bytes::Text)?;
        let value = tree(decoder, limits, bytes)?;
        match map.entry(key) {
            Entry::Vacant(slot) => slot.insert(value),
            Entry::Occupied(slot) => {
                return Err(DecodeError::CborDuplicate(slot.key().clone()));
            }
        };
    }
    Ok(map)
}

/// Whether another element follows; consumes the break code of an indefinite-length item.
fn more(decoder: &mut Decoder<'_>, left: &mut Option<u64>) -> Result<bool, DecodeError> {
    if let Some(left) = left {
        let is_more = *left > 0;
        *left = left.saturating_sub(1);
        return Ok(is_more);
    }
    if decoder.datatype().map_err(malformed)? != Type::Break {
        return Ok(true);
    }
    decoder.skip().map_err(malformed)?;
    Ok(false)
}

/// Reads a text or byte string, in one or several chunks.
fn string(decoder: &mut Decoder<'_>, bytes: Bytes) -> Result<String, DecodeError> {
    match decoder.datatype().map_err(malformed)? {
        Type::String | Type::StringIndef => {
            let pieces = decoder.str_iter().map_err(malformed)?;
            pieces.collect::<Result<String, _>>().map_err(malformed)
        }
        Type::Bytes | Type::BytesIndef => {
            let mut all = Vec::new();
            for piece in decoder.bytes_iter().map_err(malformed)? {
                all.extend_from_slice(piece.map_err(malformed)?);
            }
            Ok(match bytes {
                Bytes::Text => String::from_utf8(all)
                    .unwrap_or_else(|fault| String::from_utf8_lossy(fault.as_bytes()).into_owned()),
                Bytes::Base64 => STANDARD.encode(all),
                Bytes::Base64Url => URL_SAFE_NO_PAD.encode(all),
                Bytes::Base16 => base16(&all),
            })
        }
        other => Err(DecodeError::CborKey(other)),
    }
}

fn base16(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn float(number: f64) -> Result<Value, DecodeError> {
    let number = json::float(number);
    number.map(Value::Number).ok_or_else(|| DecodeError::CborFloat)
}

fn malformed(fault: minicbor::decode::Error) -> DecodeError {
    if fault.is_end_of_input() { DecodeError::EndOfCbor } else { fault.into() }
}
