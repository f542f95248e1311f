//! CBOR (RFC 8949) in Kubernetes' form.
//!
//! Encoding: starts with the self-described CBOR tag (55799), maps in deterministic order, strings as byte strings,
//! Go's `[]byte` with the tag for expected base64 (22), numbers in the shortest form. Decoding: accepts text and byte
//! strings, any tag whose content JSON can represent, and definite and indefinite lengths.
//!
//! Kubernetes concept: `k8s.io/apimachinery/pkg/runtime/serializer/cbor`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use minicbor::data::Tag;
use minicbor::{Decoder, Encoder};
use serde_json::{Map, Number, Value};

use crate::{Form, Scalar, Schema, TypeRef};

use super::{DecodeError, Limits};

mod read;
#[cfg(test)]
mod tests;

/// The prefix of every object in CBOR: tag 55799.
pub const MAGIC: &[u8; 3] = &[0xd9, 0xd9, 0xf7];

/// Tag of byte strings that are converted to base64 in JSON.
const LATER_BASE64: u64 = 22;

/// The fields of `metav1.TypeMeta`.
const TYPE_META: [&str; 2] = ["apiVersion", "kind"];

/// The low-level encoder, which writes to memory.
type Out<'a> = Encoder<&'a mut Vec<u8>>;

/// Result of a write to memory, which cannot fail.
type Written = Result<(), minicbor::encode::Error<std::convert::Infallible>>;

// === out ===

/// Encodes an object. With a schema, fields of type bytes are byte strings; without, they are the base64 text of the
/// JSON form, which decodes to the same.
pub fn encode(value: &Value, schema: Option<&Schema>) -> Bytes {
    let mut out = Vec::with_capacity(1024);
    out.extend_from_slice(MAGIC);
    write_item(&mut out, value, schema);
    out.into()
}

/// Encodes an object that is part of another, without the leading tag.
pub fn write_item(out: &mut Vec<u8>, value: &Value, schema: Option<&Schema>) {
    let written = tree(&mut Encoder::new(out), value, schema.map(Schema::root));
    debug_assert!(written.is_ok(), "memory takes everything");
}

/// Encodes an object's fields except `apiVersion` and `kind`: the form of an item in a typed list, and the input of
/// [`write_object`].
pub fn encode_fields(fields: &Map<String, Value>, schema: Option<&Schema>) -> Bytes {
    let mut out = Vec::with_capacity(1024);
    let fields = sorted(fields).into_iter().filter(|(key, _)| !TYPE_META.contains(&key.as_str()));
    let written = entries(&mut Encoder::new(&mut out), &fields.collect::<Vec<_>>(), schema.map(Schema::root));
    debug_assert!(written.is_ok(), "memory takes everything");
    out.into()
}

/// Writes an object of this type from encoded fields ([`encode_fields`]), which are copied unchanged. `apiVersion` and
/// `kind` come first: responses do not need the deterministic order.
pub fn write_object(out: &mut Vec<u8>, api_version: &str, kind: &str, fields: &[u8]) {
    let mut head = Decoder::new(fields);
    let count = head.map().ok().flatten().unwrap_or_default();
    let written = (|| -> Written {
        let mut encoder = Encoder::new(&mut *out);
        encoder.map(count + 2)?.bytes(b"apiVersion")?.bytes(api_version.as_bytes())?;
        encoder.bytes(b"kind")?.bytes(kind.as_bytes())?;
        Ok(())
    })();
    debug_assert!(written.is_ok(), "memory takes everything");
    out.extend_from_slice(fields.get(head.position()..).unwrap_or_default());
}

/// Encodes a list up to its items: `head` is the list without them, and `count` items follow in the field `items` (for
/// a table, `rows`), which is the last one.
pub fn list_prefix(head: &Map<String, Value>, items: &str, count: usize) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    let mut encoder = Encoder::new(&mut out);
    let written = (|| -> Written {
        encoder.map(head.len() as u64 + 1)?;
        for (key, value) in sorted(head) {
            encoder.bytes(key.as_bytes())?;
            tree(&mut encoder, value, None)?;
        }
        encoder.bytes(items.as_bytes())?.array(count as u64)?;
        Ok(())
    })();
    debug_assert!(written.is_ok(), "memory takes everything");
    out
}

/// Writes a watch event up to its object, which follows with its [`MAGIC`]. Events follow each other without a
/// separator (`application/cbor-seq`).
pub fn begin_watch_event(out: &mut Vec<u8>, event: &str) {
    out.extend_from_slice(MAGIC);
    let mut encoder = Encoder::new(&mut *out);
    let written = (|| -> Written {
        encoder.map(2)?.bytes(b"type")?.bytes(event.as_bytes())?.bytes(b"object")?;
        Ok(())
    })();
    debug_assert!(written.is_ok(), "memory takes everything");
}

/// Sorts in deterministic order: by the encoded keys, which start with the length.
fn sorted(map: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by(|(left, _), (right, _)| left.len().cmp(&right.len()).then_with(|| left.cmp(right)));
    entries
}

/// The recursion is bounded, since the decoder limits the depth.
fn tree(out: &mut Out<'_>, value: &Value, ty: Option<TypeRef<'_>>) -> Written {
    match value {
        Value::Null => out.null()?,
        Value::Bool(value) => out.bool(*value)?,
        Value::Number(number) => return self::number(out, number),
        Value::String(text) => {
            let is_bytes = ty.is_some_and(|ty| ty.scalar() == Some(Scalar::Bytes));
            match is_bytes.then(|| STANDARD.decode(text)) {
                Some(Ok(bytes)) => out.tag(Tag::new(LATER_BASE64))?.bytes(&bytes)?,
                _ => out.bytes(text.as_bytes())?,
            }
        }
        Value::Array(items) => {
            let element = ty.and_then(|ty| ty.element());
            out.array(items.len() as u64)?;
            for item in items {
                tree(out, item, element)?;
            }
            out
        }
        Value::Object(map) => return entries(out, &sorted(map), ty),
    };
    Ok(())
}

/// Writes a map.
fn entries(out: &mut Out<'_>, entries: &[(&String, &Value)], ty: Option<TypeRef<'_>>) -> Written {
    out.map(entries.len() as u64)?;
    let form = ty.map(|ty| (ty, ty.form()));
    for (key, item) in entries {
        out.bytes(key.as_bytes())?;
        let below = match form {
            Some((ty, Form::Struct(_))) => ty.field(key).map(|field| field.ty()),
            Some((_, Form::Map(value))) => Some(value),
            _ => None,
        };
        tree(out, item, below)?;
    }
    Ok(())
}

/// Writes integers as such, and other numbers in the shortest form that preserves their value.
fn number(out: &mut Out<'_>, number: &Number) -> Written {
    if let Some(whole) = number.as_i64() {
        out.i64(whole)?;
        return Ok(());
    }
    let wide = number.as_f64().unwrap_or_default();
    #[expect(clippy::cast_possible_truncation, reason = "what is lost is looked for right below")]
    let narrow = wide as f32;
    if f64::from(narrow).to_bits() != wide.to_bits() {
        out.f64(wide)?;
    } else if half_keeps(narrow) {
        out.f16(narrow)?;
    } else {
        out.f32(narrow)?;
    }
    Ok(())
}

/// Whether a 16-bit float preserves the number: its exponent and a fraction of 10 bits fit.
fn half_keeps(number: f32) -> bool {
    let bits = number.to_bits();
    let exponent = i32::try_from(bits >> 23 & 0xff).unwrap_or_default() - 127;
    match exponent {
        -14..=15 => bits.trailing_zeros() >= 13,
        // Subnormal numbers have one fraction bit less for each step.
        -24..=-15 => (bits & 0x7f_ffff | 0x80_0000).trailing_zeros().cast_signed() >= -exponent - 1,
        _ => number == 0.0,
    }
}

// === in ===

/// Decodes an object.
///
/// # Errors
/// Fails if the bytes are not CBOR, have trailing data, duplicate a field, exceed the depth limit, or contain values
/// that JSON cannot represent.
pub fn decode(bytes: &[u8], limits: &Limits<'_>) -> Result<Value, DecodeError> {
    read::whole(bytes, limits)
}
