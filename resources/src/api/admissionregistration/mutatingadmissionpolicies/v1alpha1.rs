//! `admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicy`: the fields of `v1`, as which it is stored.

use registry_derive::Resource;

use super::{COLUMNS, MutatingAdmissionPolicies};

/// `mutatingadmissionpolicies` of `admissionregistration.k8s.io/v1alpha1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::admissionregistration::v1alpha1::MutatingAdmissionPolicy,
    group = "admissionregistration.k8s.io",
    version = "v1alpha1",
    off_by_default,
    categories("api-extensions"),
    cluster,
    hub = MutatingAdmissionPolicies,
    same_fields,
    deprecated = "admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicy is deprecated in v1.35+, unavailable in v1.38+",
    columns = COLUMNS,
)]
pub struct MutatingAdmissionPoliciesV1alpha1;
