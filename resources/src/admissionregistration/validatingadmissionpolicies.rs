//! `admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy`: ValidatingAdmissionPolicy describes the definition of an admission validation policy that accepts or rejects an object without changing it.

mod strategy;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use serde_json::Value;

use crate::cells;

/// `validatingadmissionpolicies` of `admissionregistration.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy,
    group = "admissionregistration.k8s.io",
    version = "v1",
    plural = "validatingadmissionpolicies",
    categories("api-extensions"),
    cluster,
    status,
    generation,
    storage_prefix = "validatingadmissionpolicies",
    columns = COLUMNS,
    strategy = strategy::ValidatingPolicyStrategy,
)]
pub struct ValidatingAdmissionPolicies;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::integer("Validations", |object| cells::count(object, &["spec", "validations"])),
    Column::text("ParamKind", parameter_kind),
    Column::AGE,
];

/// The kind of parameters, as `apiVersion/kind`.
fn parameter_kind(object: &Object) -> Value {
    let part = |field| object.get_str(&["spec", "paramKind", field]);
    match (part("apiVersion"), part("kind")) {
        (Some(version), Some(kind)) => format!("{version}/{kind}").into(),
        _ => "<unset>".into(),
    }
}
