//! `admissionregistration.k8s.io/v1 MutatingAdmissionPolicyBinding`: where a policy applies, and with which parameters.

mod strategy;
pub mod v1alpha1;
pub mod v1beta1;

use registry_core::resource::Column;
use registry_derive::Resource;

use super::policy_printers;
use crate::support::printers;

/// `mutatingadmissionpolicybindings` of `admissionregistration.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::admissionregistration::v1::MutatingAdmissionPolicyBinding,
    group = "admissionregistration.k8s.io",
    version = "v1",
    introduced = "1.36",
    categories("api-extensions"),
    cluster,
    generation,
    columns = COLUMNS,
    unconditional_update = false,
    plain_finalizers,
    metadata_errors_once,
    strategy = strategy::MutatingBindingStrategy,
)]
pub struct MutatingAdmissionPolicyBindings;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("PolicyName", |object| printers::text(object, &["spec", "policyName"]))
        .described("PolicyName indicates the policy definition which the policy binding binded to"),
    Column::text("ParamRef", policy_printers::parameters)
        .described("ParamRef indicates the param resource which sets the configuration param"),
    Column::AGE,
];
