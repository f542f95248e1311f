//! Equality of objects as Kubernetes sees it: an empty list or map is as good as none, and amounts are compared by value.
//!
//! Kubernetes concept: `Semantic` in `k8s.io/apimachinery/pkg/api/equality`.

use registry_core::schema::Quantity;
use resource_views::View;
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
pub(crate) fn equal(left: Option<&Value>, right: Option<&Value>) -> bool {
    equal_at("", left, right)
}

/// Whether two fields differ.
pub(crate) fn differ(left: &View<'_, '_>, right: &View<'_, '_>) -> bool {
    !equal(left.value(), right.value())
}

fn equal_at(name: &str, left: Option<&Value>, right: Option<&Value>) -> bool {
    match (something(name, left), something(name, right)) {
        (None, None) => true,
        (Some(Value::Object(left)), Some(Value::Object(right))) => equal_fields(name, left, right),
        (Some(Value::Array(left)), Some(Value::Array(right))) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| equal_at("", Some(left), Some(right)))
        }
        (left, right) => left == right,
    }
}

fn equal_fields(name: &str, left: &Map<String, Value>, right: &Map<String, Value>) -> bool {
    let is_amounts = AMOUNTS.contains(&name);
    let equal_field = |key: &String| match (left.get(key), right.get(key)) {
        (Some(Value::String(left)), Some(Value::String(right))) if is_amounts => equal_amounts(left, right),
        (left, right) => equal_at(key, left, right),
    };
    left.keys().all(equal_field) && right.keys().filter(|key| !left.contains_key(*key)).all(equal_field)
}

fn equal_amounts(left: &str, right: &str) -> bool {
    match (Quantity::parse(left), Quantity::parse(right)) {
        (Ok(left), Ok(right)) => left.compare(&right).is_eq(),
        _ => left == right,
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
        for (left, right, expected) in table {
            assert_eq!(equal(Some(&left), Some(&right)), expected, "{left} {right}");
            assert_eq!(equal(Some(&right), Some(&left)), expected, "{right} {left}");
        }
    }
}
