//! The mandatory flow schemas and priority levels, which cannot be changed: one for requests that are never limited, and one
//! for requests that match no other schema.
//!
//! Kubernetes concept: `MandatoryFlowSchemas` and `MandatoryPriorityLevelConfigurations`.

use serde_json::{Value, json};

/// Returns the required spec of the mandatory flow schema of this name, if there is one.
pub(super) fn flow_schema(name: &str) -> Option<Value> {
    let group = |name: &str| json!({"kind": "Group", "group": {"name": name}});
    let everything = |subjects: Vec<Value>| {
        json!([{
            "subjects": subjects,
            "resourceRules": [
                {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": true, "namespaces": ["*"]},
            ],
            "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
        }])
    };
    match name {
        "exempt" => Some(json!({
            "priorityLevelConfiguration": {"name": "exempt"},
            "matchingPrecedence": 1,
            "rules": everything(vec![group("system:masters")]),
        })),
        "catch-all" => Some(json!({
            "priorityLevelConfiguration": {"name": "catch-all"},
            "matchingPrecedence": 10_000,
            "distinguisherMethod": {"type": "ByUser"},
            "rules": everything(vec![group("system:unauthenticated"), group("system:authenticated")]),
        })),
        _ => None,
    }
}

/// Returns the required spec of the mandatory priority level of this name, if there is one. `exempt` may have its own
/// shares.
pub(super) fn priority_level(name: &str) -> Option<Value> {
    match name {
        "exempt" => Some(json!({"type": "Exempt"})),
        "catch-all" => Some(json!({
            "type": "Limited",
            "limited": {
                "nominalConcurrencyShares": 5, "lendablePercent": 0, "limitResponse": {"type": "Reject"},
            },
        })),
        _ => None,
    }
}
