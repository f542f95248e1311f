//! `admissionregistration.k8s.io/v1beta1 MutatingAdmissionPolicy`: the fields of `v1`, as which it is stored.

use registry_derive::Resource;

use super::{COLUMNS, MutatingAdmissionPolicies};

/// `mutatingadmissionpolicies` of `admissionregistration.k8s.io/v1beta1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::admissionregistration::v1beta1::MutatingAdmissionPolicy,
    group = "admissionregistration.k8s.io",
    version = "v1beta1",
    introduced = "1.34",
    off_by_default,
    categories("api-extensions"),
    cluster,
    hub = MutatingAdmissionPolicies,
    same_fields,
    columns = COLUMNS,
)]
pub struct MutatingAdmissionPoliciesV1beta1;
