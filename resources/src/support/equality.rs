//! Whether two values mean the same.
//!
//! Kubernetes concept: `equality.Semantic.DeepEqual` of `k8s.io/apimachinery/pkg/api/equality`. Quantities are written
//! in one form before they get here.

use serde_json::Value;

/// Whether two values are equal. An empty list, a null and an absent value are the same.
pub(crate) fn same(first: Option<&Value>, second: Option<&Value>) -> bool {
    match (present(first), present(second)) {
        (None, None) => true,
        (Some(Value::Array(first)), Some(Value::Array(second))) => {
            first.len() == second.len() && first.iter().zip(second).all(|(a, b)| same(Some(a), Some(b)))
        }
        (Some(Value::Object(first)), Some(Value::Object(second))) => {
            first.iter().all(|(key, value)| same(Some(value), second.get(key)))
                && second.iter().all(|(key, value)| first.contains_key(key) || present(Some(value)).is_none())
        }
        (first, second) => first == second,
    }
}

fn present(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null() && value.as_array().is_none_or(|elements| !elements.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_empty_is_absent() {
        let same = |first: Value, second: Value| same(Some(&first), Some(&second));
        assert!(same(json!({"a": [], "b": null}), json!({})));
        assert!(same(json!({}), json!({"a": [], "b": null})));
        assert!(same(json!([{"a": 1, "b": []}]), json!([{"a": 1}])));
        assert!(!same(json!({"a": {}}), json!({})));
        assert!(!same(json!({"a": 1}), json!({"a": 2})));
        assert!(!same(json!([1]), json!([1, 2])));
        assert!(!same(json!({}), json!({"a": 1})));
    }
}
