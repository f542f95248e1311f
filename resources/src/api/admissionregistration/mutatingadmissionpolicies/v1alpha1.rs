//! `admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicy`: the fields of `v1`, as which it is stored.

use registry_derive::Resource;

use super::strategy::MutatingPolicyStrategy;
use super::{COLUMNS, MutatingAdmissionPolicies};
use crate::support::older_version::{older_version, same_fields};

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
    columns = COLUMNS,
    strategy = MutatingPolicyVersion,
)]
pub struct MutatingAdmissionPoliciesV1alpha1;

older_version!(MutatingPolicyVersion, stored with MutatingPolicyStrategy, "admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicy is deprecated in v1.35+, unavailable in v1.38+");

same_fields!(MutatingAdmissionPoliciesV1alpha1, stored as MutatingAdmissionPolicies);
