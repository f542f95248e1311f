//! Sorts issues of fields by their position in the source, the order in which Go's decoder finds them.

use std::collections::{HashMap, HashSet};
use std::fmt::{self, Write};

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};

use crate::FieldIssue;

use super::replacement::replaced;

/// Maximum total length of the paths that are looked up, in bytes: hostile bodies have many fields below long names.
/// Issues beyond it are not sorted.
const MAX_LOOKED_UP_BYTES: usize = 16 * 1024 * 1024;

/// Sorts issues of fields by their position in the text; those of YAML stay before them. The text has been decoded before;
/// anything unreadable is skipped.
pub fn sort_as_written(text: &[u8], issues: &mut [FieldIssue]) {
    let mut places = Places::default();
    for issue in &*issues {
        match issue {
            FieldIssue::Unknown(path) => places.unknown.want(path),
            FieldIssue::Duplicate(path) => places.duplicate.want(path),
            FieldIssue::RepeatedKeys(_) => {}
        }
    }
    let text = replaced(text);
    let mut deserializer = serde_json::Deserializer::from_slice(&text);
    deserializer.disable_recursion_limit();
    let _ = Walk(&mut places).deserialize(&mut deserializer);
    issues.sort_by_key(|issue| match issue {
        FieldIssue::Unknown(path) => places.unknown.found(path),
        FieldIssue::Duplicate(path) => places.duplicate.found(path),
        FieldIssue::RepeatedKeys(_) => None,
    });
}

#[derive(Default)]
struct Places {
    /// The first occurrences of unknown fields.
    unknown: Wanted,
    /// The second occurrences of duplicate fields.
    duplicate: Wanted,
    /// The path of the current value.
    path: String,
    fields: usize,
    looked_up_bytes: usize,
}

/// The positions of the fields that issues are about, by their paths.
#[derive(Default)]
struct Wanted {
    positions: HashMap<String, FieldPosition>,
    /// The lengths of the paths, to rule out most fields without hashing their path.
    lengths: HashSet<usize>,
}

/// The position of the field that an issue is about.
#[derive(Default)]
struct FieldPosition {
    occurrences: usize,
    /// Number of fields before it; `None` until it is found.
    found: Option<usize>,
}

// === impl Places ===

impl Places {
    /// Handles a field.
    fn visit_field(&mut self) {
        self.fields += 1;
        for (wanted, occurrence) in [(&mut self.unknown, 1), (&mut self.duplicate, 2)] {
            if !wanted.lengths.contains(&self.path.len()) {
                continue;
            }
            self.looked_up_bytes += self.path.len();
            if self.looked_up_bytes > MAX_LOOKED_UP_BYTES {
                return;
            }
            let Some(position) = wanted.positions.get_mut(&self.path) else { continue };
            position.occurrences += 1;
            if position.occurrences == occurrence {
                position.found = Some(self.fields);
            }
        }
    }
}

// === impl Wanted ===

impl Wanted {
    fn want(&mut self, path: &str) {
        self.lengths.insert(path.len());
        self.positions.insert(path.to_owned(), FieldPosition::default());
    }

    fn found(&self, path: &str) -> Option<usize> {
        self.positions.get(path)?.found
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
            self.0.visit_field();
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
    fn issues_come_in_the_order_of_the_text() {
        let text = br#"{"z": 1, "spec": {"odd": 1, "n": 2, "list": [{"b": 0}, {"b": 0, "b": 1, "a": 2}], "n": 3}, "b": 4}"#;
        let unknown = |path: &str| FieldIssue::Unknown(path.to_owned());
        let duplicate = |path: &str| FieldIssue::Duplicate(path.to_owned());
        let keys = FieldIssue::RepeatedKeys(Vec::new());
        let mut issues = [
            duplicate("spec.list[1].b"),
            duplicate("spec.n"),
            unknown("b"),
            unknown("spec.list[1].a"),
            unknown("spec.odd"),
            unknown("z"),
            keys.clone(),
        ];
        sort_as_written(text, &mut issues);
        let expected = [
            keys,
            unknown("z"),
            unknown("spec.odd"),
            duplicate("spec.list[1].b"),
            unknown("spec.list[1].a"),
            duplicate("spec.n"),
            unknown("b"),
        ];
        assert_eq!(issues, expected);
    }
}
