//! Fields that exist only while a feature is enabled.
//!
//! Kubernetes concept: `dropDisabledFields` of strategies,
//! [feature gates in API changes](https://git.k8s.io/community/contributors/devel/sig-architecture/api_changes.md#adding-unstable-features-to-stable-versions).

use serde_json::{Map, Value};

use crate::api::Object;
use crate::features::{Feature, Features};

/// A field, or the same field of all elements of a list or map, and its feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatedField {
    /// The feature; `None` if this server does not have it.
    feature: Option<Feature>,
    /// The path; `*` is every element of a list or map.
    path: Vec<&'static str>,
    /// Whether an absent field is null in JSON.
    is_null_if_absent: bool,
}

/// Every element of a list or map, in a path.
const ELEMENTS: &str = "*";

// === impl GatedField ===

impl GatedField {
    /// Returns the field at a path, which is written with dots: `spec.containers.*.restartPolicy`.
    pub fn new(feature: Feature, path: &'static str) -> Self {
        Self { feature: Some(feature), ..Self::unsupported(path) }
    }

    /// Returns the field at a path that belongs to a feature that this server does not have.
    pub fn unsupported(path: &'static str) -> Self {
        Self { feature: None, path: path.split('.').collect(), is_null_if_absent: false }
    }

    /// Returns the field whose path begins at another one.
    #[must_use]
    pub fn below(self, parent: &'static str) -> Self {
        Self { path: parent.split('.').chain(self.path).collect(), ..self }
    }

    /// The field is null in JSON if it is absent, because its Go type has no `omitempty`.
    #[must_use]
    pub fn null_if_absent(self) -> Self {
        Self { is_null_if_absent: true, ..self }
    }

    /// Whether the field exists on a server with these features.
    pub fn is_enabled(&self, features: Features) -> bool {
        self.feature.is_some_and(|feature| features.contains(feature))
    }

    /// Removes the field from an object, unless the stored object has it already. A null is no field.
    pub fn drop_from(&self, new: &mut Object, old: Option<&Object>) {
        let Some((first, rest)) = self.path.split_first() else { return };
        if old.and_then(|old| old.0.get(*first)).is_some_and(|value| has(value, rest)) {
            return;
        }
        if rest.is_empty() {
            self.remove(&mut new.0, first);
        } else if let Some(value) = new.0.get_mut(*first) {
            self.remove_below(value, rest);
        }
    }

    /// Removes everything at a path, which is not empty.
    fn remove_below(&self, value: &mut Value, path: &[&str]) {
        match (path, value) {
            ([ELEMENTS, rest @ ..], Value::Array(elements)) => {
                for element in elements {
                    self.remove_below(element, rest);
                }
            }
            ([ELEMENTS, rest @ ..], Value::Object(entries)) => {
                for entry in entries.values_mut() {
                    self.remove_below(entry, rest);
                }
            }
            ([name], Value::Object(fields)) => self.remove(fields, name),
            ([name, rest @ ..], Value::Object(fields)) => {
                if let Some(field) = fields.get_mut(*name) {
                    self.remove_below(field, rest);
                }
            }
            _ => {}
        }
    }

    fn remove(&self, fields: &mut Map<String, Value>, name: &str) {
        match fields.get_mut(name) {
            Some(value) if self.is_null_if_absent => *value = Value::Null,
            Some(value) if !value.is_null() => drop(fields.remove(name)),
            _ => {}
        }
    }
}

/// Whether a value has something at a path.
fn has(value: &Value, path: &[&str]) -> bool {
    match path.split_first() {
        None => !value.is_null(),
        Some((&ELEMENTS, rest)) => match value {
            Value::Array(elements) => elements.iter().any(|element| has(element, rest)),
            Value::Object(entries) => entries.values().any(|entry| has(entry, rest)),
            _ => false,
        },
        Some((name, rest)) => value.get(name).is_some_and(|field| has(field, rest)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn dropped(path: &'static str, new: Value, old: Option<Value>) -> Value {
        let object = |value| Object::from_value(value).unwrap();
        let mut new = object(new);
        GatedField::new(Feature::EnvFiles, path).drop_from(&mut new, old.map(object).as_ref());
        Value::Object(new.0)
    }

    #[test]
    fn a_field_is_dropped_unless_the_stored_object_has_it() {
        let with = || json!({ "spec": { "list": [{ "a": 1, "b": 2 }, { "b": 3 }, 7] } });
        let without = || json!({ "spec": { "list": [{ "a": 1 }, {}, 7] } });
        assert_eq!(dropped("spec.list.*.b", with(), None), without());
        assert_eq!(dropped("spec.list.*.b", with(), Some(without())), without());
        assert_eq!(
            dropped("spec.list.*.b", with(), Some(json!({ "spec": { "list": [{ "b": 9 }] } }))),
            with()
        );
        assert_eq!(
            dropped("spec.list.*.b", with(), Some(json!({ "spec": { "list": [{ "b": null }] } }))),
            without()
        );
        let map = || json!({ "map": { "x": { "b": 1 }, "y": 7 } });
        assert_eq!(dropped("map.*.b", map(), None), json!({ "map": { "x": {}, "y": 7 } }));
        assert_eq!(dropped("map.*.b", map(), Some(json!({ "map": { "z": { "b": 2 } } }))), map());
        assert_eq!(dropped("spec", with(), None), json!({}));
        let null = || json!({ "spec": { "list": [{ "a": 1, "b": null }, { "b": null }, 7] } });
        assert_eq!(dropped("spec.list.*.b", null(), None), null(), "it is what it is without the field");
        let mut new = Object::from_value(with()).unwrap();
        GatedField::unsupported("spec.list.*.b").null_if_absent().drop_from(&mut new, None);
        assert_eq!(Value::Object(new.0), null());
        assert_eq!(dropped("spec.other.*.b", with(), None), with(), "nothing is there");
        assert_eq!(dropped("spec.list.b", with(), None), with(), "a list is no object");
    }
}
