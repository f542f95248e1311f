//! The attributes that selectors and indexes evaluate.

use std::cmp::Ordering;

/// The attributes that selectors and indexes evaluate, extracted from an object once. All strings share one
/// allocation, because a cache keeps the attributes of every object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// All strings, concatenated: the key and value of each label, sorted, then the value of each field.
    texts: Box<str>,
    /// The end offset of each string.
    ends: Box<[u32]>,
    /// Names of the selectable fields that have values, in the order the resource declares them.
    pub field_names: &'static [&'static str],
}

/// Initial capacity, sufficient for the strings of most objects.
const TEXT_BYTES: usize = 128;

/// Collects strings.
struct Texts {
    texts: String,
    ends: Vec<u32>,
}

// === impl Attributes ===

impl Attributes {
    /// Creates attributes from labels and field values, the latter in declaration order; a missing value is empty.
    pub fn new<Key: AsRef<str> + Ord, Value: AsRef<str> + Ord>(
        mut labels: Vec<(Key, Value)>,
        fields: impl IntoIterator<Item = impl AsRef<str>>,
        field_names: &'static [&'static str],
    ) -> Self {
        labels.sort_unstable();
        let mut all = Texts {
            texts: String::with_capacity(TEXT_BYTES),
            ends: Vec::with_capacity(2 * labels.len() + field_names.len()),
        };
        for (key, value) in &labels {
            all.push(key.as_ref());
            all.push(value.as_ref());
        }
        let mut fields = fields.into_iter();
        for _ in field_names {
            match fields.next() {
                Some(value) => all.push(value.as_ref()),
                None => all.push(""),
            }
        }
        Self { texts: all.texts.into(), ends: all.ends.into(), field_names }
    }

    /// Returns the memory that the strings take, in bytes.
    pub(super) fn size_bytes(&self) -> usize {
        self.texts.len() + std::mem::size_of_val(&*self.ends)
    }

    /// Returns the value of a label.
    pub fn label(&self, key: &str) -> Option<&str> {
        let mut low = 0;
        let mut high = self.label_count();
        while low < high {
            let middle = low.midpoint(high);
            match self.text(2 * middle).cmp(key) {
                Ordering::Less => low = middle + 1,
                Ordering::Greater => high = middle,
                Ordering::Equal => return Some(self.text(2 * middle + 1)),
            }
        }
        None
    }

    /// Returns the value of a selectable field; empty if the object has none or the resource does not declare it.
    pub fn field(&self, name: &str) -> &str {
        let position = self.field_names.iter().position(|own| *own == name);
        position.map_or("", |at| self.text(2 * self.label_count() + at))
    }

    fn label_count(&self) -> usize {
        self.ends.len().saturating_sub(self.field_names.len()) / 2
    }

    fn text(&self, at: usize) -> &str {
        let position = |at: usize| self.ends.get(at).map_or(0, |end| *end as usize);
        let start = at.checked_sub(1).map_or(0, position);
        self.texts.get(start..position(at)).unwrap_or_default()
    }
}

// === impl Texts ===

impl Texts {
    fn push(&mut self, text: &str) {
        self.texts.push_str(text);
        // An object has a few MiB at most.
        self.ends.push(u32::try_from(self.texts.len()).unwrap_or(u32::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_fields_are_found_by_name() {
        let labels = vec![("tier", "back"), ("app", ""), ("zone", "ä")];
        let attributes = Attributes::new(labels, ["a", "", "x"], &["metadata.name", "spec.b", "spec.c"]);
        let found = ["app", "tier", "zone", "", "apq", "zz"].map(|key| attributes.label(key));
        assert_eq!(found, [Some(""), Some("back"), Some("ä"), None, None, None]);
        let found = ["metadata.name", "spec.b", "spec.c", "spec.d"].map(|name| attributes.field(name));
        assert_eq!(found, ["a", "", "x", ""]);
        let short = Attributes::new(Vec::<(&str, &str)>::new(), [] as [&str; 0], &["metadata.name"]);
        assert_eq!((short.field("metadata.name"), short.label("app")), ("", None));
        assert_eq!(
            (Attributes::default().field("metadata.name"), Attributes::default().label("app")),
            ("", None)
        );
    }
}
