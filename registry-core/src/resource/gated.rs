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
    /// The paths at which the field is; `*` is every element of a list or map.
    paths: Vec<Vec<&'static str>>,
    dropped_as: DroppedAs,
}

/// The form of a dropped field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DroppedAs {
    /// It is absent.
    Absent,
    /// It is null.
    Null,
    /// It is absent, and so is the object around it if that has nothing else.
    WithParent,
}

/// Every element of a list or map, in a path.
const ELEMENTS: &str = "*";

/// The fields of an object.
type Fields = Map<String, Value>;

// === impl GatedField ===

impl GatedField {
    /// Returns the field at a path, which is written with dots: `spec.containers.*.restartPolicy`.
    pub fn new(feature: Feature, path: &'static str) -> Self {
        Self { feature: Some(feature), ..Self::unsupported(path) }
    }

    /// Returns the field at a path that belongs to a feature that this server does not have.
    pub fn unsupported(path: &'static str) -> Self {
        Self { feature: None, paths: vec![path.split('.').collect()], dropped_as: DroppedAs::Absent }
    }

    /// Returns the field that is at another path too: an object that has it at one path keeps it at all.
    #[must_use]
    pub fn and_at(mut self, path: &'static str) -> Self {
        self.paths.push(path.split('.').collect());
        self
    }

    /// Returns the field with which an object is dropped that has nothing else.
    #[must_use]
    pub fn or_whole_parent(self) -> Self {
        Self { dropped_as: DroppedAs::WithParent, ..self }
    }

    /// Returns the field whose path begins at another one.
    #[must_use]
    pub fn below(self, parent: &'static str) -> Self {
        let below = |path: Vec<_>| parent.split('.').chain(path).collect();
        Self { paths: self.paths.into_iter().map(below).collect(), ..self }
    }

    /// The field is null in JSON if it is absent, because its Go type has no `omitempty`.
    #[must_use]
    pub fn null_if_absent(self) -> Self {
        Self { dropped_as: DroppedAs::Null, ..self }
    }

    /// Whether the field exists on a server with these features.
    pub fn is_enabled(&self, features: Features) -> bool {
        self.feature.is_some_and(|feature| features.contains(feature))
    }

    /// Removes the field from an object, unless the stored object has it already. A null is not a field.
    pub fn drop_from(&self, new: &mut Object, old: Option<&Object>) {
        if old.is_some_and(|old| self.paths.iter().any(|path| has(&old.0, path))) {
            return;
        }
        for path in &self.paths {
            self.remove(&mut new.0, path);
        }
    }

    /// Removes everything at a path.
    fn remove(&self, fields: &mut Fields, path: &[&str]) {
        let Some((name, rest)) = path.split_first() else { return };
        let Some(value) = fields.get_mut(*name) else { return };
        match (rest, self.dropped_as) {
            ([], DroppedAs::Null) => *value = Value::Null,
            ([], _) if value.is_null() => {}
            ([], _) => drop(fields.remove(*name)),
            (_, DroppedAs::WithParent) if has_only(value, rest) => drop(fields.remove(*name)),
            _ => self.remove_below(value, rest),
        }
    }

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
            (_, Value::Object(fields)) => self.remove(fields, path),
            _ => {}
        }
    }
}

/// Whether an object has something at a path.
fn has(fields: &Fields, path: &[&str]) -> bool {
    let Some((name, rest)) = path.split_first() else { return true };
    fields.get(*name).is_some_and(|value| has_below(value, rest))
}

fn has_below(value: &Value, path: &[&str]) -> bool {
    match (path, value) {
        ([], value) => !value.is_null(),
        ([ELEMENTS, rest @ ..], Value::Array(elements)) => {
            elements.iter().any(|element| has_below(element, rest))
        }
        ([ELEMENTS, rest @ ..], Value::Object(entries)) => {
            entries.values().any(|entry| has_below(entry, rest))
        }
        (_, Value::Object(fields)) => has(fields, path),
        _ => false,
    }
}

/// Whether a value is an object that has nothing but the field at a path.
fn has_only(value: &Value, path: &[&str]) -> bool {
    let ([name], Value::Object(fields)) = (path, value) else { return false };
    fields.len() == 1 && fields.contains_key(*name)
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
        assert_eq!(dropped("spec.list.b", with(), None), with(), "a list is not an object");
    }

    #[test]
    fn a_field_at_several_paths_is_kept_everywhere_or_dropped_with_parents_that_have_nothing_else() {
        let field = GatedField::unsupported("a.*.hook.signal").and_at("b.*.hook.signal").or_whole_parent();
        let field = field.below("spec");
        let object = |a: Value, b: Value| {
            let element = |hook: Value| json!([{ "hook": hook, "name": "x" }, 7]);
            Object::from_value(json!({ "spec": { "a": element(a), "b": element(b) } })).unwrap()
        };
        let mut new = object(json!({ "signal": 1 }), json!({ "signal": 1, "other": {} }));
        let unchanged = new.clone();
        field.drop_from(&mut new, Some(&object(json!({}), json!({ "signal": 2 }))));
        assert_eq!(new, unchanged, "the stored object has it elsewhere");
        field.drop_from(&mut new, Some(&object(json!({ "other": 1 }), json!({}))));
        let dropped = json!({ "spec": {
            "a": [{ "name": "x" }, 7],
            "b": [{ "hook": { "other": {} }, "name": "x" }, 7],
        }});
        assert_eq!(Value::Object(new.0), dropped);
        let mut empty = object(json!({}), json!({ "other": 1 }));
        let unchanged = empty.clone();
        field.drop_from(&mut empty, None);
        assert_eq!(empty, unchanged, "parents without the field stay, even if they are empty");
    }
}
