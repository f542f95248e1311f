//! `admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicyBinding`: the fields of `v1`, as which it is stored.

use registry_derive::Resource;

use super::strategy::MutatingBindingStrategy;
use super::{COLUMNS, MutatingAdmissionPolicyBindings};
use crate::support::older_version::{older_version, same_fields};

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
    columns = COLUMNS,
    strategy = MutatingBindingVersion,
)]
pub struct MutatingAdmissionPolicyBindingsV1alpha1;

older_version!(MutatingBindingVersion, stored with MutatingBindingStrategy, "admissionregistration.k8s.io/v1alpha1 MutatingAdmissionPolicyBinding is deprecated in v1.35+, unavailable in v1.38+");

same_fields!(MutatingAdmissionPolicyBindingsV1alpha1, stored as MutatingAdmissionPolicyBindings);
