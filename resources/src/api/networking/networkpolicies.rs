//! `networking.k8s.io/v1 NetworkPolicy`: NetworkPolicy describes what network traffic is allowed for a set of Pods.

mod strategy;

use registry_core::resource::Column;
use registry_derive::Resource;

use crate::support::printers;

/// `networkpolicies` of `networking.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::networking::v1::NetworkPolicy,
    group = "networking.k8s.io",
    version = "v1",
    retired("extensions/v1beta1"),
    short("netpol"),
    generation,
    columns = COLUMNS,
    strategy = strategy::NetworkPolicyStrategy,
)]
pub struct NetworkPolicies;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Pod-Selector", |object| printers::label_selector(object, &["spec", "podSelector"]))
        .documented_by(&["spec", "podSelector"]),
    Column::AGE,
];
