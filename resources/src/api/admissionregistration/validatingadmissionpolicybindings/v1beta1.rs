//! `admissionregistration.k8s.io/v1beta1 ValidatingAdmissionPolicyBinding`: the fields of `v1`, as which it is stored. Kubernetes served it until 1.33.

use registry_derive::Resource;

use super::ValidatingAdmissionPolicyBindings;
use crate::api::admissionregistration::policy_printers;

/// `validatingadmissionpolicybindings` of `admissionregistration.k8s.io/v1beta1`. Its own type is not published any more.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicyBinding,
    group = "admissionregistration.k8s.io",
    version = "v1beta1",
    removed = "1.34",
    off_by_default,
    categories("api-extensions"),
    cluster,
    hub = ValidatingAdmissionPolicyBindings,
    same_fields,
    deprecated = "admissionregistration.k8s.io/v1beta1 ValidatingAdmissionPolicyBinding is deprecated in v1.31+, unavailable in v1.34+",
    columns = policy_printers::BINDING_COLUMNS,
)]
pub struct ValidatingAdmissionPolicyBindingsV1beta1;
