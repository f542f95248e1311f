//! `admissionregistration.k8s.io/v1 MutatingAdmissionPolicy`: expressions that change objects when they are written.

mod strategy;
pub mod v1alpha1;
pub mod v1beta1;

use registry_core::resource::Column;
use registry_derive::Resource;

use super::policy_printers;
use crate::support::printers;

/// `mutatingadmissionpolicies` of `admissionregistration.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::admissionregistration::v1::MutatingAdmissionPolicy,
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
    strategy = strategy::MutatingPolicyStrategy,
)]
pub struct MutatingAdmissionPolicies;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::integer("Mutations", |object| printers::count(object, &["spec", "mutations"]))
        .described("Mutation indicates the number of mutations rules defined in this configuration"),
    Column::text("ParamKind", policy_printers::parameter_kind)
        .described("ParamKind specifies the kind of resources used to parameterize this policy"),
    Column::AGE,
];
