//! Decoding of parts of an object: fields that the caller does not read are skipped instead of built.

use std::fmt;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::scan::Scanner;
use super::{Node, errors};
use crate::codec::DecodeError;

/// Paths of fields. A list on a path stands for each of its elements. At most 64 of them are respected.
pub type PartPaths = &'static [&'static [&'static str]];

/// The parts of an object that are decoded.
#[derive(Clone, Copy, Debug)]
pub enum Parts {
    /// Only these fields, with everything below them and the objects above them.
    Only(PartPaths),
    /// Everything except these fields.
    Except(PartPaths),
}

/// Reads a value some of whose fields are skipped.
#[derive(Clone, Copy)]
struct Part {
    parts: Parts,
    /// A bit mask of the paths that lead here.
    leading: u64,
    /// The number of steps of these paths so far.
    steps: usize,
    depth_left: usize,
}

/// The treatment of a field.
enum Step {
    Skip,
    Whole(String),
    /// Some of the paths lead on.
    Part(String, u64),
}

/// Decodes parts of a JSON text.
pub(in crate::codec) fn decode(bytes: &[u8], parts: Parts, depth: usize) -> Result<Value, DecodeError> {
    let part = Part { parts, leading: u64::MAX, steps: 0, depth_left: depth };
    let scanned = Scanner::new(bytes).and_then(|mut scanner| {
        let value = part.scan(&mut scanner)?;
        scanner.is_at_end().then_some(value)
    });
    if let Some(value) = scanned {
        return Ok(value);
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    deserializer.disable_recursion_limit();
    part.deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value))
        .map_err(|error| errors::translate(bytes, &error))
}

// === impl Part ===

impl Part {
    fn step(&self, key: &str) -> Step {
        let (Parts::Only(paths) | Parts::Except(paths)) = self.parts;
        let mut through = 0;
        let mut ends = false;
        for (position, path) in paths.iter().enumerate().take(u64::BITS as usize) {
            let bit = 1 << position;
            if self.leading & bit != 0 && path.get(self.steps) == Some(&key) {
                through |= bit;
                ends |= path.len() == self.steps + 1;
            }
        }
        let is_only = matches!(self.parts, Parts::Only(_));
        match (through, ends) {
            (0, _) if is_only => Step::Skip,
            (0, _) => Step::Whole(key.to_owned()),
            (_, true) if is_only => Step::Whole(key.to_owned()),
            (_, true) => Step::Skip,
            (through, false) => Step::Part(key.to_owned(), through),
        }
    }

    /// Reads a value of a compact text; `None` if the decoder has to do it.
    fn scan(self, scanner: &mut Scanner<'_>) -> Option<Value> {
        match scanner.peek()? {
            b'{' => self.scan_map(scanner).map(Value::Object),
            b'[' => self.scan_list(scanner).map(Value::Array),
            _ => scanner.value(self.depth_left),
        }
    }

    fn scan_list(self, scanner: &mut Scanner<'_>) -> Option<Vec<Value>> {
        let depth_left = self.depth_left.checked_sub(1)?;
        let mut list = Vec::new();
        let mut has_next = scanner.open()?;
        while has_next {
            list.push(Self { depth_left, ..self }.scan(scanner)?);
            has_next = scanner.has_next(b']')?;
        }
        Some(list)
    }

    fn scan_map(self, scanner: &mut Scanner<'_>) -> Option<Map<String, Value>> {
        let depth_left = self.depth_left.checked_sub(1)?;
        let mut map = Map::new();
        let mut has_next = scanner.open()?;
        while has_next {
            match self.step(scanner.key()?) {
                Step::Skip => scanner.skip()?,
                Step::Whole(key) => {
                    map.insert(key, scanner.value(depth_left)?);
                }
                Step::Part(key, leading) => {
                    let below = Self { leading, steps: self.steps + 1, depth_left, ..self };
                    map.insert(key, below.scan(scanner)?);
                }
            }
            has_next = scanner.has_next(b'}')?;
        }
        Some(map)
    }

    fn enter<E: serde::de::Error>(&self) -> Result<usize, E> {
        self.depth_left.checked_sub(1).ok_or_else(|| E::custom(errors::TOO_DEEP))
    }

    fn whole(depth_left: usize) -> Node<'static> {
        Node { depth_left, keeps_floats: false, duplicates: None }
    }
}

impl<'de> DeserializeSeed<'de> for Part {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part {
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
        Self::whole(self.depth_left).visit_u64(value)
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Self::whole(self.depth_left).visit_f64(value)
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let depth_left = self.enter()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Self { depth_left, ..self })? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let depth_left = self.enter()?;
        let mut map = Map::new();
        while let Some(step) = entries.next_key_seed(Key(&self))? {
            match step {
                Step::Skip => {
                    entries.next_value::<IgnoredAny>()?;
                }
                Step::Whole(key) => {
                    map.insert(key, entries.next_value_seed(Self::whole(depth_left))?);
                }
                Step::Part(key, leading) => {
                    let below = Self { leading, steps: self.steps + 1, depth_left, ..self };
                    map.insert(key, entries.next_value_seed(below)?);
                }
            }
        }
        Ok(Value::Object(map))
    }
}

/// Deserialises a key to what happens to its field.
struct Key<'a>(&'a Part);

impl<'de> DeserializeSeed<'de> for Key<'_> {
    type Value = Step;

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<Step, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_> {
    type Value = Step;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field's name")
    }

    fn visit_str<E>(self, key: &str) -> Result<Step, E> {
        Ok(self.0.step(key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        r#"{"a":{"b":[{"c":1,"d":{"e":null}},{"c":-2.5,"d":[]},7],"f":{"g":true}},"h":"x","i":{"j":{}}}"#;

    #[track_caller]
    fn check(parts: Parts, expected: &str) {
        let found = decode(TEXT.as_bytes(), parts, 64).unwrap();
        assert_eq!(found.to_string(), expected);
    }

    #[test]
    fn only_the_wanted_parts_are_there() {
        check(Parts::Only(&[]), "{}");
        check(Parts::Only(&[&["h"], &["a", "b", "c"]]), r#"{"a":{"b":[{"c":1},{"c":-2.5},7]},"h":"x"}"#);
        check(
            Parts::Only(&[&["a", "b", "d", "e"], &["i"]]),
            r#"{"a":{"b":[{"d":{"e":null}},{"d":[]},7]},"i":{"j":{}}}"#,
        );
        // A path below one that is wanted whole adds nothing.
        check(Parts::Only(&[&["a", "f"], &["a", "f", "x"], &["i", "x"]]), r#"{"a":{"f":{"g":true}},"i":{}}"#);
    }

    #[test]
    fn everything_else_is_there() {
        check(Parts::Except(&[]), TEXT);
        check(Parts::Except(&[&["a", "b"], &["h"]]), r#"{"a":{"f":{"g":true}},"i":{"j":{}}}"#);
        check(
            Parts::Except(&[&["a", "b", "d"], &["i", "x"]]),
            r#"{"a":{"b":[{"c":1},{"c":-2.5},7],"f":{"g":true}},"h":"x","i":{"j":{}}}"#,
        );
    }

    #[test]
    fn damage_and_depth_are_refused() {
        for text in ["", "{", "{}x", r#"{"a":"#, r#"{"x":[}"#] {
            assert!(decode(text.as_bytes(), Parts::Only(&[&["a"]]), 64).is_err(), "{text}");
        }
        let deep = format!(r#"{{"a":{}{}}}"#, "[".repeat(70), "]".repeat(70));
        assert!(decode(deep.as_bytes(), Parts::Only(&[&["a", "b"]]), 64).is_err());
        assert!(decode(deep.as_bytes(), Parts::Only(&[&["a"]]), 64).is_err());
        assert!(decode(deep.as_bytes(), Parts::Only(&[&["b"]]), 64).is_ok());
    }
}
