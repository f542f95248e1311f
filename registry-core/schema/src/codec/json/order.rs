//! Sorts field errors by their position in the source, the order in which Go's decoder finds them.

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Write};

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};

use super::replacement::replaced;

/// Maximum total length of the paths that are looked up, in bytes: hostile bodies have many fields below long names.
/// Errors beyond it are not sorted.
const MAX_LOOKED_UP_BYTES: usize = 16 * 1024 * 1024;

/// Sorts errors about single fields (`unknown field "a.b"`, `duplicate field "a.b"`) by their position in the text;
/// other errors stay before them. The text has been decoded before; anything unreadable is skipped.
pub fn sort_as_written(text: &[u8], complaints: &mut [String]) {
    let mut places = Places {
        wanted: complaints.iter().cloned().map(|complaint| (complaint, FieldPosition::default())).collect(),
        lengths: complaints.iter().map(String::len).collect(),
        path: String::new(),
        fields: 0,
        looked_up_bytes: 0,
    };
    let text = replaced(text);
    let mut deserializer = serde_json::Deserializer::from_slice(&text);
    deserializer.disable_recursion_limit();
    let _ = Walk(&mut places).deserialize(&mut deserializer);
    complaints.sort_by_key(|complaint| places.wanted.get(complaint).and_then(|place| place.found));
}

/// The position of the field that an error is about.
#[derive(Default)]
struct FieldPosition {
    comings: usize,
    /// Number of fields before it; `None` until it is found.
    found: Option<usize>,
}

struct Places {
    wanted: HashMap<String, FieldPosition>,
    /// The lengths of the errors, to rule out most fields without formatting their path.
    lengths: HashSet<usize>,
    /// The path of the current value.
    path: String,
    fields: usize,
    looked_up_bytes: usize,
}

// === impl Places ===

impl Places {
    /// Handles a field: the first occurrence can be unknown, the second is the duplicate.
    fn come(&mut self) {
        self.fields += 1;
        for (complaint, coming) in [("unknown", 1), ("duplicate", 2)] {
            if !self.lengths.contains(&(complaint.len() + " field \"\"".len() + self.path.len())) {
                continue;
            }
            self.looked_up_bytes += self.path.len();
            if self.looked_up_bytes > MAX_LOOKED_UP_BYTES {
                return;
            }
            if let Some(place) = self.wanted.get_mut(&format!("{complaint} field {:?}", self.path)) {
                place.comings += 1;
                if place.comings == coming {
                    place.found = Some(self.fields);
                }
            }
        }
    }
}

/// Reads a value recursively.
struct Walk<'p>(&'p mut Places);

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let outer = self.0.path.len();
        for index in 0.. {
            // Writing to a string cannot fail.
            let _ = write!(self.0.path, "[{index}]");
            let item = items.next_element_seed(Walk(self.0))?;
            self.0.path.truncate(outer);
            if item.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let outer = self.0.path.len();
        while let Some(key) = entries.next_key::<String>()? {
            if outer > 0 {
                self.0.path.push('.');
            }
            self.0.path.push_str(&key);
            self.0.come();
            entries.next_value_seed(Walk(self.0))?;
            self.0.path.truncate(outer);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_come_in_the_order_of_the_text() {
        let text = br#"{"z": 1, "spec": {"odd": 1, "n": 2, "list": [{"b": 0}, {"b": 0, "b": 1, "a": 2}], "n": 3}, "b": 4}"#;
        let mut complaints = [
            "duplicate field \"spec.list[1].b\"",
            "duplicate field \"spec.n\"",
            "unknown field \"b\"",
            "unknown field \"spec.list[1].a\"",
            "unknown field \"spec.odd\"",
            "unknown field \"z\"",
            "something else",
        ]
        .map(str::to_owned);
        sort_as_written(text, &mut complaints);
        let expected = [
            "something else",
            "unknown field \"z\"",
            "unknown field \"spec.odd\"",
            "duplicate field \"spec.list[1].b\"",
            "unknown field \"spec.list[1].a\"",
            "duplicate field \"spec.n\"",
            "unknown field \"b\"",
        ];
        assert_eq!(complaints, expected);
    }
}
