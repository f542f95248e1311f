//! `admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy`: expressions that accept or refuse writes.

mod strategy;
pub mod v1beta1;

use registry_core::resource::Column;
use registry_derive::Resource;

use super::policy_printers;
use crate::support::printers;

/// `validatingadmissionpolicies` of `admissionregistration.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy,
    group = "admissionregistration.k8s.io",
    version = "v1",
    retired("admissionregistration.k8s.io/v1alpha1"),
    categories("api-extensions"),
    cluster,
    status,
    generation,
    columns = COLUMNS,
    unconditional_update = false,
    plain_finalizers,
    metadata_errors_once,
    reset_by_status(metadata),
    strategy = strategy::ValidatingPolicyStrategy,
)]
pub struct ValidatingAdmissionPolicies;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::integer("Validations", |object| printers::count(object, &["spec", "validations"]))
        .described("Validations indicates the number of validation rules defined in this configuration"),
    Column::text("ParamKind", policy_printers::parameter_kind)
        .described("ParamKind specifies the kind of resources used to parameterize this policy"),
    Column::AGE,
];
