//! Tolerations of taints: which includes which.
//!
//! Kubernetes concept: `pkg/util/tolerations`.

use std::collections::HashSet;

use resource_views::Typed as _;
use resource_views::core::v1::Toleration;
use serde_json::Value;

/// Returns the tolerations of both lists without those that others include. A list is bounded by what fits in an object;
/// of long ones, only duplicates are removed.
pub(in crate::admission) fn merged(own: Vec<Value>, more: Vec<Value>) -> Vec<Value> {
    /// Maximum number of tolerations of which each is compared with each.
    const MAX_COMPARED: usize = 512;

    let mut all = own;
    all.extend(more);
    if all.len() > MAX_COMPARED {
        let mut known = HashSet::new();
        all.retain(|toleration| known.insert(toleration.to_string()));
        return all;
    }
    let mut merged: Vec<Value> = Vec::new();
    for (index, toleration) in all.iter().enumerate() {
        let is_included = merged.iter().any(|kept| includes(kept, toleration));
        let mut later = all.iter().skip(index + 1);
        if !is_included && !later.any(|other| other != toleration && includes(other, toleration)) {
            merged.push(toleration.clone());
        }
    }
    merged
}

/// Whether each toleration is included in one of those that are allowed. An empty list allows all.
pub(super) fn are_allowed(tolerations: &[Value], allowed: &[Value]) -> bool {
    allowed.is_empty()
        || tolerations.iter().all(|toleration| allowed.iter().any(|wider| includes(wider, toleration)))
}

/// Whether every taint that `narrow` tolerates is tolerated by `wide` too, for at least as long.
fn includes(wide: &Value, narrow: &Value) -> bool {
    if wide == narrow {
        return true;
    }
    let (wide, narrow) = (Toleration::from_value(wide), Toleration::from_value(narrow));
    let operator = wide.operator().text();
    let tolerates_every_key = wide.key().text().is_empty() && operator == "Exists";
    if narrow.key().text() != wide.key().text() && !tolerates_every_key {
        return false;
    }
    let effect = wide.effect().text();
    if !effect.is_empty() && effect != narrow.effect().text() {
        return false;
    }
    if effect == "NoExecute"
        && let Some(most) = wide.toleration_seconds().integer()
        && narrow.toleration_seconds().integer().is_none_or(|seconds| seconds > most)
    {
        return false;
    }
    match operator {
        "Exists" => true,
        "" | "Equal" => narrow.operator().text() == "Equal" && narrow.value().text() == wide.value().text(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn tolerations_that_others_include_are_left_out() {
        let every = json!({"operator": "Exists"});
        let exact = json!({"key": "a", "operator": "Equal", "value": "b", "effect": "NoSchedule"});
        let same = json!({"key": "a", "operator": "Exists", "effect": "NoSchedule"});
        let other = json!({"key": "c", "operator": "Exists"});
        assert_eq!(merged(vec![exact.clone()], vec![exact.clone()]), std::slice::from_ref(&exact));
        assert_eq!(
            merged(vec![exact.clone()], vec![same.clone(), other.clone()]),
            [same.clone(), other.clone()]
        );
        assert_eq!(merged(vec![exact.clone(), same], vec![every.clone()]), [every]);
    }

    #[test]
    fn a_shorter_toleration_is_included_in_a_longer_one() {
        let lasting = |seconds: i64| json!({"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds});
        let unbounded = json!({"key": "a", "operator": "Exists", "effect": "NoExecute"});
        assert!(are_allowed(&[lasting(5)], &[lasting(10)]));
        assert!(!are_allowed(&[lasting(15)], &[lasting(10)]));
        assert!(!are_allowed(std::slice::from_ref(&unbounded), &[lasting(10)]));
        assert!(are_allowed(&[lasting(15)], &[unbounded]));
        assert!(are_allowed(&[lasting(15)], &[]));
        assert!(!are_allowed(&[lasting(15)], &[json!({"key": "b", "operator": "Exists"})]));
    }
}
