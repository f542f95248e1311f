//! `admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicyBinding`: the fields of `v1`, as which it is stored.

use registry_derive::Resource;

use super::MutatingAdmissionPolicyBindings;
use crate::api::admissionregistration::policy_printers;

/// `mutatingadmissionpolicybindings` of `admissionregistration.k8s.io/v1alpha1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::admissionregistration::v1alpha1::MutatingAdmissionPolicyBinding,
    group = "admissionregistration.k8s.io",
    version = "v1alpha1",
    off_by_default,
    categories("api-extensions"),
    cluster,
    hub = MutatingAdmissionPolicyBindings,
    same_fields,
    deprecated = "admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicyBinding is deprecated in v1.35+, unavailable in v1.38+",
    columns = policy_printers::BINDING_COLUMNS,
)]
pub struct MutatingAdmissionPolicyBindingsV1alpha1;
