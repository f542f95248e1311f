//! The mandatory flow schemas and priority levels, which cannot be changed: one for requests that are never limited, and one
//! for requests that match no other schema.
//!
//! Kubernetes concept: `MandatoryFlowSchemas` and `MandatoryPriorityLevelConfigurations`.

use serde_json::{Value, json};

/// The names, each of a flow schema and of its priority level.
pub const NAMES: [&str; 2] = ["exempt", "catch-all"];

/// Returns the specs of all mandatory flow schemas and priority levels: the name, the schema's spec and the level's.
pub fn specs() -> impl Iterator<Item = (&'static str, Value, Value)> {
    NAMES.into_iter().filter_map(|name| {
        let mut level = priority_level(name)?;
        if let Value::Object(fields) = &mut level
            && fields.get("type").is_some_and(|kind| kind == "Exempt")
        {
            fields.insert("exempt".to_owned(), json!({}));
        }
        Some((name, flow_schema(name)?, level))
    })
}

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
