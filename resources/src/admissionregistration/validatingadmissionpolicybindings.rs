//! `admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding`: ValidatingAdmissionPolicyBinding binds the ValidatingAdmissionPolicy with paramerized resources.

mod strategy;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use serde_json::Value;

use crate::cells;

/// `validatingadmissionpolicybindings` of `admissionregistration.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicyBinding,
    group = "admissionregistration.k8s.io",
    version = "v1",
    plural = "validatingadmissionpolicybindings",
    categories("api-extensions"),
    cluster,
    generation,
    storage_prefix = "validatingadmissionpolicybindings",
    columns = COLUMNS,
    strategy = strategy::ValidatingBindingStrategy,
)]
pub struct ValidatingAdmissionPolicyBindings;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("PolicyName", |object| cells::text(object, &["spec", "policyName"])),
    Column::text("ParamRef", parameters),
    Column::AGE,
];

/// The parameters bound, as `namespace/name` or a selector.
fn parameters(object: &Object) -> Value {
    let Some(reference) = object.get(&["spec", "paramRef"]) else { return "<unset>".into() };
    let part = |field: &str| reference.get(field).and_then(Value::as_str);
    match (part("namespace"), part("name")) {
        (Some(namespace), Some(name)) => format!("{namespace}/{name}").into(),
        (None, Some(name)) => format!("*/{name}").into(),
        (namespace, None) => {
            let labels = cells::selector_text(reference.get("selector"));
            format!("{}/{labels}", namespace.unwrap_or("*")).into()
        }
    }
}
