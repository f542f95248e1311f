//! Table columns and cells that mutating and validating policies, bindings and webhooks share.

use registry_core::api::Object;
use registry_core::resource::Column;
use resource_views::admissionregistration::v1::{MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding};
use resource_views::meta::v1::{LabelSelector, LabelSelectorRequirement};
use serde_json::Value;

use crate::support::printers;

/// The columns of bindings.
pub(super) static BINDING_COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("PolicyName", |object| printers::text(object, &["spec", "policyName"]))
        .described("PolicyName indicates the policy definition which the policy binding binded to"),
    Column::text("ParamRef", parameters)
        .described("ParamRef indicates the param resource which sets the configuration param"),
    Column::AGE,
];

/// The columns of configurations of webhooks.
pub(super) static WEBHOOK_COLUMNS: &[Column] = &[
    Column::NAME,
    Column::integer("Webhooks", |object| printers::count(object, &["webhooks"]))
        .described("Webhooks indicates the number of webhooks registered in this configuration"),
    Column::AGE,
];

/// Returns the kind of the parameters, as `apiVersion/kind`.
pub(super) fn parameter_kind(object: &Object) -> Value {
    // Validating policies have it at the same place.
    let spec = MutatingAdmissionPolicy(object).spec();
    let kind = spec.param_kind();
    match (kind.api_version().optional_text(), kind.kind().optional_text()) {
        (Some(version), Some(kind)) => format!("{version}/{kind}").into(),
        _ => "<unset>".into(),
    }
}

/// Returns the bound parameters, as `namespace/name` or the selector in the form of its Go struct.
fn parameters(object: &Object) -> Value {
    // Validating bindings have it at the same place.
    let spec = MutatingAdmissionPolicyBinding(object).spec();
    let reference = spec.param_ref();
    let selector = reference.selector();
    match (reference.namespace().optional_text(), reference.name().optional_text()) {
        (Some(namespace), Some(name)) => format!("{namespace}/{name}").into(),
        (None, Some(name)) => format!("*/{name}").into(),
        (_, None) if selector.exists() => go_selector(&selector).into(),
        (_, None) => "<unset>".into(),
    }
}

/// Returns a selector in the form of Go's `LabelSelector.String`.
fn go_selector(selector: &LabelSelector<'_, '_>) -> String {
    let labels: Vec<_> =
        selector.match_labels().texts().map(|(key, value)| format!("{key}: {value},")).collect();
    let expressions = selector.match_expressions();
    let expressions: Vec<_> = expressions.elements().map(|expression| go_requirement(&expression)).collect();
    format!(
        "&LabelSelector{{MatchLabels:map[string]string{{{}}},MatchExpressions:[]LabelSelectorRequirement{{{}}},}}",
        labels.concat(),
        expressions.concat()
    )
}

fn go_requirement(expression: &LabelSelectorRequirement<'_, '_>) -> String {
    let values: Vec<_> = expression.values().texts().collect();
    let (key, operator) = (expression.key().text(), expression.operator().text());
    format!("LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{}],}},", values.join(" "))
}
