//! `admissionregistration.k8s.io/v1beta1 ValidatingAdmissionPolicy`: the fields of `v1`, as which it is stored. Kubernetes served it until 1.33.

use registry_derive::Resource;

use super::strategy::ValidatingPolicyStrategy;
use super::{COLUMNS, ValidatingAdmissionPolicies};
use crate::support::older_version::{older_version, same_fields};

/// `validatingadmissionpolicies` of `admissionregistration.k8s.io/v1beta1`. Its own type is not published any more.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy,
    group = "admissionregistration.k8s.io",
    version = "v1beta1",
    removed = "1.34",
    off_by_default,
    categories("api-extensions"),
    cluster,
    status,
    hub = ValidatingAdmissionPolicies,
    columns = COLUMNS,
    strategy = ValidatingPolicyVersion,
)]
pub struct ValidatingAdmissionPoliciesV1beta1;

older_version!(ValidatingPolicyVersion, stored with ValidatingPolicyStrategy, "admissionregistration.k8s.io/v1beta1 ValidatingAdmissionPolicy is deprecated in v1.31+, unavailable in v1.34+");

same_fields!(ValidatingAdmissionPoliciesV1beta1, stored as ValidatingAdmissionPolicies);
