//! Equality of objects as Kubernetes sees it: an empty list or map is as good as none, and amounts are compared by value.
//!
//! Kubernetes concept: `Semantic` in `k8s.io/apimachinery/pkg/api/equality`.

use registry_core::schema::Quantity;
use serde_json::{Map, Value};

/// Fields that are maps. An empty map is as good as none, but an empty struct is not.
const MAPS: [&str; 12] = [
    "nodeSelector",
    "overhead",
    "limits",
    "requests",
    "matchLabels",
    "labels",
    "annotations",
    "options",
    "volumeAttributes",
    "userAnnotations",
    "allocatable",
    "allocatedResources",
];

/// Maps of amounts.
const AMOUNTS: [&str; 4] = ["limits", "requests", "overhead", "allocatedResources"];

/// Whether two values are equal.
pub(crate) fn equal(one: Option<&Value>, other: Option<&Value>) -> bool {
    equal_at("", one, other)
}

fn equal_at(name: &str, one: Option<&Value>, other: Option<&Value>) -> bool {
    match (something(name, one), something(name, other)) {
        (None, None) => true,
        (Some(Value::Object(one)), Some(Value::Object(other))) => equal_fields(name, one, other),
        (Some(Value::Array(one)), Some(Value::Array(other))) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| equal_at("", Some(one), Some(other)))
        }
        (one, other) => one == other,
    }
}

fn equal_fields(name: &str, one: &Map<String, Value>, other: &Map<String, Value>) -> bool {
    let is_amounts = AMOUNTS.contains(&name);
    let equal_field = |key: &String| match (one.get(key), other.get(key)) {
        (Some(Value::String(one)), Some(Value::String(other))) if is_amounts => equal_amounts(one, other),
        (one, other) => equal_at(key, one, other),
    };
    one.keys().all(equal_field) && other.keys().filter(|key| !one.contains_key(*key)).all(equal_field)
}

fn equal_amounts(one: &str, other: &str) -> bool {
    match (Quantity::parse(one), Quantity::parse(other)) {
        (Ok(one), Ok(other)) => one.compare(&other).is_eq(),
        _ => one == other,
    }
}

/// Returns a value unless it is as good as none.
fn something<'v>(name: &str, value: Option<&'v Value>) -> Option<&'v Value> {
    value.filter(|value| match value {
        Value::Null => false,
        Value::Array(elements) => !elements.is_empty(),
        Value::Object(fields) => !fields.is_empty() || !MAPS.contains(&name),
        _ => true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn empty_is_none_and_amounts_have_values() {
        let table = [
            (json!({"a": []}), json!({}), true),
            (json!({"a": null}), json!({"b": []}), true),
            (json!({"limits": {}}), json!({}), true),
            (json!({"emptyDir": {}}), json!({}), false),
            (json!({"limits": {"cpu": "1"}}), json!({"limits": {"cpu": "1000m"}}), true),
            (json!({"labels": {"cpu": "1"}}), json!({"labels": {"cpu": "1000m"}}), false),
            (json!({"a": [1, 2]}), json!({"a": [2, 1]}), false),
            (json!({"a": 0}), json!({"a": false}), false),
        ];
        for (one, other, expected) in table {
            assert_eq!(equal(Some(&one), Some(&other)), expected, "{one} {other}");
            assert_eq!(equal(Some(&other), Some(&one)), expected, "{other} {one}");
        }
    }
}
