//! The flow schemas and priority levels every cluster has, and nobody changes: what is never held back, and what
//! takes the requests nothing else takes.
//!
//! Kubernetes concept: `MandatoryFlowSchemas` and `MandatoryPriorityLevelConfigurations`.

use serde_json::{Value, json};

/// The spec a flow schema of this name has to have, if it is a mandatory one.
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

/// The spec a priority level of this name has to have, if it is a mandatory one. That of `exempt` may say how much
/// is set aside for it.
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
