//! The JSON decoder.
//!
//! Builds the value, records duplicate fields and limits the depth in one pass. Numbers are represented as by Go's
//! decoder: integers that fit as 64-bit integers, everything else as floats; floats without a fraction are written as
//! integers.

use std::borrow::Cow;
use std::fmt;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use super::{DecodeError, Decoded, Limits, duplicates};
use duplicates::Duplicates;
use registry_meta::budget::memory;
use scan::Scanner;

mod errors;
mod order;
pub(super) mod parts;
mod replacement;
pub mod scan;
pub(super) mod words;
pub(super) mod write;

pub use crate::scalars::type_name;
pub use order::sort_as_written;
pub use parts::{PartPaths, Parts};
pub use replacement::from_slice;
pub use write::encode;

/// Decodes a JSON body and records the paths of duplicate fields. In strings, bytes that are not UTF-8 and halves of
/// surrogate pairs are read as U+FFFD, as by Go: clients cut messages in the middle of a character.
///
/// # Errors
/// Fails if the body is malformed, has trailing data, or exceeds a limit.
pub fn decode(bytes: &[u8], limits: &Limits<'_>) -> Result<Decoded, DecodeError> {
    decode_unicode(bytes, limits).or_else(|error| {
        if limits.is_exhausted() {
            return Err(error);
        }
        let Cow::Owned(replaced) = replacement::replaced(bytes) else { return Err(error) };
        // The memory of the value was taken before, and here that of the text with replacements, which may be longer.
        limits.take(replaced.len())?;
        read_noting_duplicates(&replaced, limits)
    })
}

/// Decodes a JSON body as [`decode`] does, and refuses strings with text that is not Unicode.
///
/// # Errors
/// As [`decode`], or if a string has bytes that are not UTF-8, or half of a surrogate pair.
pub(super) fn decode_unicode(bytes: &[u8], limits: &Limits<'_>) -> Result<Decoded, DecodeError> {
    if let Some(budget) = limits.budget {
        let made = memory::json_bytes(bytes);
        // Nothing is made of a text that nests too deep, however much it would be.
        if !budget.has_bytes(made) && nests_deeper(bytes, limits.depth) {
            return Err(DecodeError::TooDeep);
        }
        limits.take(made)?;
    }
    read_noting_duplicates(bytes, limits)
}

fn read_noting_duplicates(bytes: &[u8], limits: &Limits<'_>) -> Result<Decoded, DecodeError> {
    if let Some((value, has_floats)) = scanned(bytes, limits.depth, limits.keeps_floats) {
        return Ok(Decoded { value, duplicates: Vec::new(), has_floats });
    }
    let mut duplicates = Duplicates::default();
    let (depth_left, keeps_floats) = (limits.depth, limits.keeps_floats);
    let value = read(bytes, Node { depth_left, keeps_floats, duplicates: Some(&mut duplicates) })?;
    Ok(Decoded { value, duplicates: duplicates.into_issues(), has_floats: keeps_floats })
}

/// Reads a text with the scanner, if it can; returns also whether there are floats that are kept.
fn scanned(bytes: &[u8], depth: usize, keeps_floats: bool) -> Option<(Value, bool)> {
    let mut scanner = Scanner::new(bytes)?.keeping_floats(keeps_floats);
    let value = scanner.value(depth)?;
    scanner.is_at_end().then(|| (value, scanner.has_floats()))
}

/// Whether more brackets are open at one place of a JSON text. Those in strings do not count.
fn nests_deeper(text: &[u8], depth: usize) -> bool {
    let mut open = 0_usize;
    let mut in_string = false;
    let mut bytes = text.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => in_string = !in_string,
            b'\\' if in_string => drop(bytes.next()),
            b'[' | b'{' if !in_string => open += 1,
            b']' | b'}' if !in_string => open = open.saturating_sub(1),
            _ => {}
        }
        if open > depth {
            return true;
        }
    }
    false
}

/// Decodes a JSON text and ignores duplicate fields.
pub(super) fn decode_value(bytes: &[u8], depth: usize) -> Result<Value, DecodeError> {
    match scanned(bytes, depth, false) {
        Some((value, _)) => Ok(value),
        None => read(bytes, Node { depth_left: depth, keeps_floats: false, duplicates: None }),
    }
}

/// Converts the floats without a fraction of a value to integers, as they are written.
pub fn shorten_floats(value: &mut Value) {
    match value {
        Value::Number(number) if number.is_f64() => {
            if let Some(shortened) = number.as_f64().and_then(float) {
                *number = shortened;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(shorten_floats),
        Value::Object(fields) => fields.values_mut().for_each(shorten_floats),
        _ => {}
    }
}

/// Reads a text with the general decoder.
fn read(bytes: &[u8], seed: Node<'_>) -> Result<Value, DecodeError> {
    // Checking the text once costs less than checking every string in it. The error for other bytes names their place.
    let outcome = match std::str::from_utf8(bytes) {
        Ok(text) => read_with(seed, serde_json::Deserializer::from_str(text)),
        Err(_) => read_with(seed, serde_json::Deserializer::from_slice(bytes)),
    };
    outcome.map_err(|error| errors::translate(bytes, &error))
}

fn read_with<'de, R: serde_json::de::Read<'de>>(
    seed: Node<'_>,
    mut deserializer: serde_json::Deserializer<R>,
) -> Result<Value, serde_json::Error> {
    // Our limit replaces serde_json's, because stored values may nest deeper than requests.
    deserializer.disable_recursion_limit();
    let value = seed.deserialize(&mut deserializer)?;
    deserializer.end().map(|()| value)
}

/// Reads a JSON text with the general decoder; `None` if it is damaged.
fn read_any(text: &str, keeps_floats: bool) -> Option<Value> {
    let seed = Node { depth_left: usize::MAX, keeps_floats, duplicates: None };
    read_with(seed, serde_json::Deserializer::from_str(text)).ok()
}

/// Converts a float as Go does: to an integer if it has no fraction.
pub(super) fn float(number: f64) -> Option<Number> {
    // Integers of this size fit an i64, even if their last digits become zeros below.
    const LIMIT: f64 = 9.2e18;
    if number.fract() == 0.0 && number.abs() < LIMIT {
        // Converted through text: the shortest digits of the float, padded with zeros, as Go prints it.
        if let Ok(whole) = number.to_string().parse::<i64>() {
            return Some(whole.into());
        }
    }
    Number::from_f64(number)
}

// === the visitor ===

/// Reads a value recursively.
struct Node<'d> {
    depth_left: usize,
    /// See [`Limits::keeps_floats`].
    keeps_floats: bool,
    duplicates: Option<&'d mut Duplicates>,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Node<'_> {
    fn enter<E: serde::de::Error>(&self) -> Result<usize, E> {
        self.depth_left.checked_sub(1).ok_or_else(|| E::custom(errors::TOO_DEEP))
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<Value, E> {
        #[expect(clippy::cast_precision_loss, reason = "Go keeps what is larger than int64 as float64")]
        i64::try_from(value).map_or_else(|_| self.visit_f64(value as f64), |value| Ok(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        // `-0` is an integer of Go.
        let is_kept = self.keeps_floats && (value != 0.0 || value.is_sign_positive());
        let number = if is_kept { Number::from_f64(value) } else { float(value) };
        number.map(Value::Number).ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<Value, A::Error> {
        let depth_left = self.enter()?;
        let mut list = Vec::new();
        loop {
            let noted = self.duplicates.as_ref().map_or(0, |noted| noted.len());
            let child = Node {
                depth_left,
                keeps_floats: self.keeps_floats,
                duplicates: self.duplicates.as_deref_mut(),
            };
            let Some(item) = items.next_element_seed(child)? else { return Ok(Value::Array(list)) };
            if let Some(duplicates) = &mut self.duplicates {
                duplicates.below_index(noted, list.len());
            }
            list.push(item);
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<Value, A::Error> {
        let depth_left = self.enter()?;
        let begin = self.duplicates.as_ref().map_or(0, |noted| noted.len());
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let noted = self.duplicates.as_ref().map_or(0, |noted| noted.len());
            let child = Node {
                depth_left,
                keeps_floats: self.keeps_floats,
                duplicates: self.duplicates.as_deref_mut(),
            };
            let value = entries.next_value_seed(child)?;
            if let Some(duplicates) = &mut self.duplicates {
                duplicates.below_field(noted, &key);
            }
            match map.entry(key) {
                serde_json::map::Entry::Vacant(slot) => {
                    slot.insert(value);
                }
                serde_json::map::Entry::Occupied(mut slot) => {
                    if let Some(duplicates) = &mut self.duplicates {
                        duplicates.note(begin, slot.key());
                    }
                    merge(slot.get_mut(), value);
                }
            }
        }
        Ok(Value::Object(map))
    }
}

/// Combines the values of a duplicate field: Go decodes into the existing struct or map, so objects are merged; other
/// values are replaced.
pub(super) fn merge(present: &mut Value, again: Value) {
    match (present, again) {
        (Value::Object(present), Value::Object(again)) => {
            for (key, value) in again {
                match present.get_mut(&key) {
                    Some(slot) => merge(slot, value),
                    None => {
                        present.insert(key, value);
                    }
                }
            }
        }
        (present, again) => *present = again,
    }
}

#[cfg(test)]
mod tests;
