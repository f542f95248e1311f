//! `admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicyBinding`: the fields of `v1`, as which it is stored.

use registry_derive::Resource;

use super::MutatingAdmissionPolicyBindings;
use crate::api::admissionregistration::policy_printers;

/// `mutatingadmissionpolicybindings` of `admissionregistration.k8s.io/v1beta1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::admissionregistration::v1beta1::MutatingAdmissionPolicyBinding,
    group = "admissionregistration.k8s.io",
    version = "v1beta1",
    introduced = "1.34",
    off_by_default,
    categories("api-extensions"),
    cluster,
    hub = MutatingAdmissionPolicyBindings,
    same_fields,
    columns = policy_printers::BINDING_COLUMNS,
)]
pub struct MutatingAdmissionPolicyBindingsV1beta1;
