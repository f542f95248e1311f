//! Extracts attributes from stored bytes in one pass, without building anything but the fields for selectors.
//!
//! A cache of 150,000 objects is filled, and every event processed, through this module: decoding each object to a tree
//! would dominate the cost.

use std::fmt;

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::api::Object;
use crate::codec::json::scan::Scanner;
use crate::storage::{Attributes, InvalidValue};

use super::{ResourceType, scalar_text};

const NAME: &[&str] = &["metadata", "name"];
const NAMESPACE: &[&str] = &["metadata", "namespace"];
/// Number of names by which every resource can be selected.
const NAMES: usize = 2;
const LABELS: &[&str] = &["metadata", "labels"];

/// A path and the value found there.
struct Wanted {
    path: &'static [&'static str],
    found: Option<Value>,
}

/// Searches for paths in a JSON value, which may be nested in the value where the paths begin.
struct Search<'a> {
    wanted: &'a mut [Wanted],
    /// A bit mask of the paths that lead here.
    leading: u128,
    depth: usize,
}

/// Returns the attributes of a value. They equal the attributes of the decoded object.
///
/// # Errors
/// Fails if the value is not a JSON object.
pub(super) fn attributes(resource: &ResourceType, value: &[u8]) -> Result<Attributes, InvalidValue> {
    let own = resource.selectable.iter().map(|field| field.path);
    let other = resource.selectable.iter().map(|field| field.other_path).filter(|path| !path.is_empty());
    let paths = [LABELS, NAME, NAMESPACE].into_iter().chain(own).chain(other);
    let mut wanted: Vec<Wanted> = paths.map(|path| Wanted { path, found: None }).collect();
    let Some(leading) = every_path(wanted.len()) else {
        let value = serde_json::from_slice(value).map_err(InvalidValue::new)?;
        let not_an_object = |_| InvalidValue::new("the stored value is not a JSON object");
        return Ok(resource.attributes(&Object::from_value(value).map_err(not_an_object)?));
    };
    let scanned = Scanner::new(value).and_then(|mut scanner| {
        Search { wanted: &mut wanted, leading, depth: 0 }.scan(&mut scanner)?;
        scanner.is_at_end().then_some(())
    });
    if scanned.is_none() {
        decode(&mut wanted, leading, value)?;
    }
    let mut found = wanted.into_iter().map(|path| path.found);
    let labels: Vec<(String, String)> = match found.next().flatten() {
        Some(Value::Object(labels)) => {
            let text =
                |(key, value)| if let Value::String(value) = value { Some((key, value)) } else { None };
            labels.into_iter().filter_map(text).collect()
        }
        _ => Vec::new(),
    };
    let found: Vec<Option<Value>> = found.collect();
    let (names, found) = found.split_at(NAMES.min(found.len()));
    let (values, others) = found.split_at(resource.selectable.len().min(found.len()));
    // The name and the namespace are always present, possibly empty.
    let names = names.iter().map(|value| scalar_text(value.as_ref(), ""));
    let mut others = others.iter();
    let own = resource.selectable.iter().zip(values).map(|(field, value)| {
        let other = if field.other_path.is_empty() { None } else { others.next() };
        field.text(value.as_ref(), other.and_then(Option::as_ref))
    });
    let fields = names.chain(own);
    Ok(Attributes::new(labels, fields, resource.field_names))
}

/// Searches in a value that is not compact, or is not an object.
fn decode(wanted: &mut [Wanted], leading: u128, value: &[u8]) -> Result<(), InvalidValue> {
    for path in &mut *wanted {
        path.found = None;
    }
    // As text, so that skipped strings are checked too.
    let text = std::str::from_utf8(value).map_err(InvalidValue::new)?;
    let mut input = serde_json::Deserializer::from_str(text);
    let is_object = Search { wanted, leading, depth: 0 }
        .deserialize(&mut input)
        .and_then(|is_object| input.end().map(|()| is_object))
        .map_err(InvalidValue::new)?;
    if is_object { Ok(()) } else { Err(InvalidValue::new("the stored value is not a JSON object")) }
}

/// Returns the mask of so many paths; `None` if they are more than a mask has bits. (A custom kind with many versions
/// can have more: each has up to eight selectable fields of its own.)
fn every_path(paths: usize) -> Option<u128> {
    let unused = u128::BITS.checked_sub(u32::try_from(paths).ok()?)?;
    u128::MAX.checked_shr(unused)
}

// === impl Search ===

impl Search<'_> {
    /// Returns the paths that continue through `key`, and whether one of them ends there.
    fn step(&self, key: &str) -> (u128, bool) {
        let mut through = 0;
        let mut ends = false;
        for (position, wanted) in self.wanted.iter().enumerate() {
            if self.leading & (1 << position) != 0 && wanted.path.get(self.depth) == Some(&key) {
                through |= 1 << position;
                ends |= wanted.path.len() == self.depth + 1;
            }
        }
        (through, ends)
    }

    /// Searches in an object of a compact text; `None` if the decoder has to do it.
    fn scan(mut self, scanner: &mut Scanner<'_>) -> Option<()> {
        let mut has_next = scanner.peek()? == b'{' && scanner.open()?;
        while has_next {
            match self.step(scanner.key()?) {
                (0, _) => scanner.skip()?,
                (through, true) => self.take(through, &serde_json::from_str(scanner.value_text()?).ok()?),
                (leading, false) if scanner.peek()? == b'{' => {
                    let depth = self.depth + 1;
                    Search { wanted: &mut *self.wanted, leading, depth }.scan(scanner)?;
                }
                (_, false) => scanner.skip()?,
            }
            has_next = scanner.has_next(b'}')?;
        }
        Some(())
    }

    /// Stores a value at which paths end, and the values in it that longer paths lead to.
    fn take(&mut self, through: u128, value: &Value) {
        for (position, wanted) in self.wanted.iter_mut().enumerate() {
            if through & (1 << position) != 0 {
                let rest = wanted.path.get(self.depth + 1..).unwrap_or_default();
                wanted.found = rest.iter().try_fold(value, |value, key| value.get(key)).cloned();
            }
        }
    }
}

/// Returns whether the value is an object.
impl<'de> DeserializeSeed<'de> for Search<'_> {
    type Value = bool;

    fn deserialize<D: serde::Deserializer<'de>>(self, input: D) -> Result<bool, D::Error> {
        input.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Search<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<bool, A::Error> {
        while let Some(step) = fields.next_key_seed(Key(&self))? {
            match step {
                (0, _) => {
                    fields.next_value::<IgnoredAny>()?;
                }
                (through, true) => self.take(through, &fields.next_value()?),
                (leading, false) => {
                    let depth = self.depth + 1;
                    fields.next_value_seed(Search { wanted: &mut *self.wanted, leading, depth })?;
                }
            }
        }
        Ok(true)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<bool, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(false)
    }

    fn visit_unit<E: Error>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<bool, E> {
        Ok(false)
    }
}

/// Deserialises a key to the paths that continue through it, without keeping the key.
struct Key<'a, 'b>(&'a Search<'b>);

impl<'de> DeserializeSeed<'de> for Key<'_, '_> {
    type Value = (u128, bool);

    fn deserialize<D: serde::Deserializer<'de>>(self, input: D) -> Result<Self::Value, D::Error> {
        input.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_, '_> {
    type Value = (u128, bool);

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field's name")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.step(key))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::registry::testing::widgets;
    use crate::resource::{NoStrategy, ResourceDescription, ResourceProperties, SelectableField};

    /// Returns widgets with so many selectable fields `spec.f0`, `spec.f1` and so on.
    fn with_fields(number: usize) -> Arc<ResourceType> {
        let names: Vec<&'static str> = (0..number).map(|place| &*format!("f{place}").leak()).collect();
        let field = |name: &'static str| SelectableField {
            name: format!("spec.{name}").leak(),
            path: vec!["spec", name].leak(),
            other_path: &[],
            absent: "",
        };
        let selectable: Vec<SelectableField> = names.into_iter().map(field).collect();
        let own = selectable.iter().map(|field| field.name);
        let field_names: Vec<&'static str> =
            ["metadata.name", "metadata.namespace"].into_iter().chain(own).collect();
        let widgets = widgets(|| Arc::new(NoStrategy));
        let properties = ResourceProperties {
            selectable: selectable.leak(),
            field_names: field_names.leak(),
            ..widgets.properties
        };
        ResourceDescription { properties, ..widgets }.instantiate()
    }

    #[test]
    fn attributes_of_bytes_are_those_of_the_object_with_any_number_of_fields() {
        for number in [0, 1, 124, 125, 126, 300] {
            let resource = with_fields(number);
            let spec: serde_json::Map<String, Value> =
                (0..number).map(|place| (format!("f{place}"), json!(place.to_string()))).collect();
            let value =
                json!({"metadata": {"name": "a", "namespace": "b", "labels": {"l": "v"}}, "spec": spec});
            let of_bytes = attributes(&resource, value.to_string().as_bytes()).unwrap();
            assert_eq!(of_bytes, resource.attributes(&Object::from_value(value).unwrap()), "{number} fields");
        }
    }
}
