//! `admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding`: where a policy applies, and with which parameters.

mod strategy;
pub mod v1beta1;

use registry_derive::Resource;

use super::policy_printers;

/// `validatingadmissionpolicybindings` of `admissionregistration.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicyBinding,
    group = "admissionregistration.k8s.io",
    version = "v1",
    retired("admissionregistration.k8s.io/v1alpha1"),
    categories("api-extensions"),
    cluster,
    generation,
    columns = policy_printers::BINDING_COLUMNS,
    unconditional_update = false,
    plain_finalizers,
    metadata_errors_once,
    strategy = strategy::ValidatingBindingStrategy,
)]
pub struct ValidatingAdmissionPolicyBindings;
