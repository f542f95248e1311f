//! CBOR (RFC 8949) as Kubernetes writes and reads it.
//!
//! Written: begun by the tag that says «this is CBOR» (55799), maps in the deterministic order, strings as byte
//! strings, Go's `[]byte` under the tag that says «base64, if you need text» (22), numbers as short as they go.
//! Read: text and byte strings alike, any tag whose content JSON can hold, lengths given or not.
//!
//! Kubernetes concept: `k8s.io/apimachinery/pkg/runtime/serializer/cbor`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use minicbor::data::Tag;
use minicbor::{Decoder, Encoder};
use serde_json::{Map, Number, Value};

use crate::schema::{Form, Scalar, Schema, TypeRef};

use super::{DecodeError, Limits};

mod read;
#[cfg(test)]
mod tests;

/// What every object in CBOR begins with: tag 55799.
pub const MAGIC: &[u8; 3] = &[0xd9, 0xd9, 0xf7];

/// Bytes that are base64 where text is needed.
const LATER_BASE64: u64 = 22;

/// What says which type an object is.
const TYPE_META: [&str; 2] = ["apiVersion", "kind"];

/// The wire-level writer, onto memory, which takes everything.
type Out<'a> = Encoder<&'a mut Vec<u8>>;

/// Writing into memory cannot fail; the type system does not know.
type Written = Result<(), minicbor::encode::Error<std::convert::Infallible>>;

// === out ===

/// An object. With a schema, the fields that are bytes are written as such; without, as the base64 they are in
/// JSON, which reads the same.
pub fn encode(value: &Value, schema: Option<&Schema>) -> Bytes {
    let mut out = Vec::with_capacity(1024);
    out.extend_from_slice(MAGIC);
    write_item(&mut out, value, schema);
    out.into()
}

/// An object as a part of another: without the tag every whole begins with.
pub fn write_item(out: &mut Vec<u8>, value: &Value, schema: Option<&Schema>) {
    let written = tree(&mut Encoder::new(out), value, schema.map(Schema::root));
    debug_assert!(written.is_ok(), "memory takes everything");
}

/// An object's fields but for `apiVersion` and `kind`: the item of a typed list as it is, and what
/// [`write_object`] makes an object of.
pub fn encode_fields(fields: &Map<String, Value>, schema: Option<&Schema>) -> Bytes {
    let mut out = Vec::with_capacity(1024);
    let fields = sorted(fields).into_iter().filter(|(key, _)| !TYPE_META.contains(&key.as_str()));
    let written = entries(&mut Encoder::new(&mut out), &fields.collect::<Vec<_>>(), schema.map(Schema::root));
    debug_assert!(written.is_ok(), "memory takes everything");
    out.into()
}

/// Writes an object of this type with these fields ([`encode_fields`]), which are copied as they are. `apiVersion`
/// and `kind` come first: what is sent needs no order, which is for what is compared.
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

/// A list up to its items: `head` is the list without them, and so many items follow it, the field named `items` (of
/// a table, `rows`) being last.
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

/// Writes an event of a watch up to its object, which follows as a whole, begun by [`MAGIC`]. Events follow each
/// other without anything between them (`application/cbor-seq`).
pub fn begin_watch_event(out: &mut Vec<u8>, event: &str) {
    out.extend_from_slice(MAGIC);
    let mut encoder = Encoder::new(&mut *out);
    let written = (|| -> Written {
        encoder.map(2)?.bytes(b"type")?.bytes(event.as_bytes())?.bytes(b"object")?;
        Ok(())
    })();
    debug_assert!(written.is_ok(), "memory takes everything");
}

/// The deterministic order: as their encodings sort, which begin with the length.
fn sorted(map: &Map<String, Value>) -> Vec<(&String, &Value)> {
    let mut entries: Vec<_> = map.iter().collect();
    entries.sort_by(|(one, _), (other, _)| one.len().cmp(&other.len()).then_with(|| one.cmp(other)));
    entries
}

/// Recursion is bounded: no deeper value is ever decoded.
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

/// Writes a map of these entries.
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

/// Whole numbers as such, all others in the narrowest form that keeps their value.
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

/// Whether 16 bits keep a number: its exponent and the 10 bits of its fraction fit.
fn half_keeps(number: f32) -> bool {
    let bits = number.to_bits();
    let exponent = i32::try_from(bits >> 23 & 0xff).unwrap_or_default() - 127;
    match exponent {
        -14..=15 => bits.trailing_zeros() >= 13,
        // Below that, bits of the fraction are given up one by one.
        -24..=-15 => (bits & 0x7f_ffff | 0x80_0000).trailing_zeros().cast_signed() >= -exponent - 1,
        _ => number == 0.0,
    }
}

// === in ===

/// Decodes an object.
///
/// # Errors
/// The bytes are no CBOR, have something after their one value, repeat a field, nest too deep, or hold what JSON
/// cannot.
pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Value, DecodeError> {
    read::whole(bytes, limits.depth)
}
