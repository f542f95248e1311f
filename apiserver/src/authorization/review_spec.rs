//! A request in the form of a SubjectAccessReview, for webhooks and match conditions.

use registry_core::api::selector::{FieldRequirement, LabelOperator, LabelRequirement};
use request_info::ResourceRequest;
use serde_json::{Map, Value, json};

use super::Attributes;

/// A version of SubjectAccessReview.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReviewVersion {
    /// `v1`.
    V1,
    /// `v1beta1`, which names the groups `group`.
    V1Beta1,
}

// === impl ReviewVersion ===

impl ReviewVersion {
    /// Returns the version of this name.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        match name {
            "v1" => Some(Self::V1),
            "v1beta1" => Some(Self::V1Beta1),
            _ => None,
        }
    }

    /// Returns the value of `apiVersion`.
    pub(super) fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "authorization.k8s.io/v1",
            Self::V1Beta1 => "authorization.k8s.io/v1beta1",
        }
    }
}

/// Returns the specification of a review; empty fields are left out.
pub(super) fn spec_of(attributes: &Attributes<'_>, version: ReviewVersion) -> Value {
    let mut spec = full_spec(attributes);
    prune(&mut spec);
    if let (ReviewVersion::V1Beta1, Some(fields)) = (version, spec.as_object_mut())
        && let Some(groups) = fields.remove("groups")
    {
        fields.insert("group".to_owned(), groups);
    }
    spec
}

/// Returns the specification of a review with all fields of the user and of the attributes, even if they are empty.
pub(super) fn full_spec(attributes: &Attributes<'_>) -> Value {
    let user = attributes.user;
    let extra: Map<String, Value> =
        user.extra.iter().map(|(key, values)| (key.clone(), values.clone().into())).collect();
    let mut spec = json!({ "user": user.name, "groups": user.groups, "uid": user.uid, "extra": extra });
    let (field, value) = match attributes.resource {
        Some(resource) => ("resourceAttributes", resource_attributes(attributes, resource)),
        None => ("nonResourceAttributes", json!({ "path": attributes.path, "verb": attributes.verb })),
    };
    if let Some(fields) = spec.as_object_mut() {
        fields.insert(field.to_owned(), value);
    }
    spec
}

fn resource_attributes(attributes: &Attributes<'_>, resource: &ResourceRequest) -> Value {
    let mut value = json!({
        "namespace": resource.namespace,
        "verb": attributes.verb,
        "group": resource.group,
        "version": resource.version,
        "resource": resource.resource,
        "subresource": resource.subresource,
        "name": resource.name,
    });
    let (Some(selectors), Some(fields)) = (attributes.selectors, value.as_object_mut()) else { return value };
    let mut add = |name: &str, requirements: Vec<Value>| {
        if !requirements.is_empty() {
            fields.insert(name.to_owned(), json!({ "requirements": requirements }));
        }
    };
    add("fieldSelector", selectors.fields.iter().map(field_requirement).collect());
    add("labelSelector", selectors.labels.iter().filter_map(label_requirement).collect());
    value
}

fn field_requirement(requirement: &FieldRequirement) -> Value {
    let operator = if requirement.equal { "In" } else { "NotIn" };
    json!({ "key": requirement.path, "operator": operator, "values": [requirement.value] })
}

/// Returns a requirement on a label; `None` for comparisons of numbers, which reviews do not have. Leaving them out asks
/// about more.
fn label_requirement(requirement: &LabelRequirement) -> Option<Value> {
    let key = &requirement.key;
    Some(match &requirement.operator {
        LabelOperator::In(values) => json!({ "key": key, "operator": "In", "values": values }),
        LabelOperator::NotIn(values) => json!({ "key": key, "operator": "NotIn", "values": values }),
        LabelOperator::Exists => json!({ "key": key, "operator": "Exists" }),
        LabelOperator::DoesNotExist => json!({ "key": key, "operator": "DoesNotExist" }),
        LabelOperator::GreaterThan(_) | LabelOperator::LessThan(_) => return None,
    })
}

/// Removes the empty fields of a specification, as Kubernetes leaves them out.
fn prune(spec: &mut Value) {
    let is_empty = |value: &Value| match value {
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    let Some(fields) = spec.as_object_mut() else { return };
    fields.retain(|_, value| !is_empty(value));
    for name in ["resourceAttributes", "nonResourceAttributes"] {
        if let Some(attributes) = fields.get_mut(name).and_then(Value::as_object_mut) {
            attributes.retain(|_, value| !is_empty(value));
        }
    }
}
