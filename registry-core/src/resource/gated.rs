//! Fields that exist only while a feature is enabled.
//!
//! Kubernetes concept: `dropDisabledFields` of strategies,
//! [feature gates in API changes](https://git.k8s.io/community/contributors/devel/sig-architecture/api_changes.md#adding-unstable-features-to-stable-versions).

use serde_json::Value;

use crate::api::Object;
use crate::features::Feature;

/// A field, or the same field of all elements of a list, and its feature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatedField {
    /// The feature.
    pub feature: Feature,
    /// The path; `*` is every element of a list.
    pub path: Vec<&'static str>,
}

/// Every element of a list, in a path.
const ELEMENTS: &str = "*";

// === impl GatedField ===

impl GatedField {
    /// Returns the field at a path, which is written with dots: `spec.containers.*.restartPolicy`.
    pub fn new(feature: Feature, path: &'static str) -> Self {
        Self { feature, path: path.split('.').collect() }
    }

    /// Returns the field at a path below another one.
    pub fn below(parent: &'static str, feature: Feature, path: &'static str) -> Self {
        Self { feature, path: parent.split('.').chain(path.split('.')).collect() }
    }

    /// Removes the field from an object, unless the stored object has it already.
    pub(crate) fn drop_from(&self, new: &mut Object, old: Option<&Object>) {
        let Some((first, rest)) = self.path.split_first() else { return };
        if old.and_then(|old| old.0.get(*first)).is_some_and(|value| has(value, rest)) {
            return;
        }
        if rest.is_empty() {
            new.0.remove(*first);
        } else if let Some(value) = new.0.get_mut(*first) {
            remove(value, rest);
        }
    }
}

/// Whether a value has something at a path.
fn has(value: &Value, path: &[&str]) -> bool {
    match path.split_first() {
        None => !value.is_null(),
        Some((&ELEMENTS, rest)) => {
            value.as_array().is_some_and(|elements| elements.iter().any(|element| has(element, rest)))
        }
        Some((name, rest)) => value.get(name).is_some_and(|field| has(field, rest)),
    }
}

/// Removes everything at a path, which is not empty.
fn remove(value: &mut Value, path: &[&str]) {
    match (path, value) {
        ([ELEMENTS, rest @ ..], Value::Array(elements)) => {
            for element in elements {
                remove(element, rest);
            }
        }
        ([name], Value::Object(fields)) => {
            fields.remove(*name);
        }
        ([name, rest @ ..], Value::Object(fields)) => {
            if let Some(field) = fields.get_mut(*name) {
                remove(field, rest);
            }
        }
        _ => {}
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
        assert_eq!(dropped("spec", with(), None), json!({}));
        assert_eq!(dropped("spec.other.*.b", with(), None), with(), "nothing is there");
        assert_eq!(dropped("spec.list.b", with(), None), with(), "a list is no object");
    }
}
