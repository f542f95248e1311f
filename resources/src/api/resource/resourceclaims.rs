//! `resource.k8s.io/v1 ResourceClaim`: a request of workloads for devices.

mod strategy;
pub mod v1beta1;
pub mod v1beta2;

use registry_core::api::Object;
use registry_core::resource::Column;
use registry_derive::Resource;
use resource_views::resource::v1::ResourceClaim;
use serde_json::Value;

use crate::support::printers;

/// `resourceclaims` of `resource.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::resource::v1::ResourceClaim,
    group = "resource.k8s.io",
    version = "v1",
    introduced = "1.34",
    status,
    returns_deleted_object,
    columns = COLUMNS,
    reset_by_status(metadata),
    strategy = strategy::ResourceClaimStrategy,
)]
pub struct ResourceClaims;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("State", state)
        .described("A summary of the current state (allocated, pending, reserved, etc.)."),
    Column::AGE,
];

/// Returns the state of the claim: `pending`, `allocated,reserved`, `deleted,…`.
fn state(object: &Object) -> Value {
    let mut words = Vec::new();
    if object.deletion_timestamp().is_some() {
        words.push("deleted");
    }
    match ResourceClaim(object).status().allocation().value() {
        None if object.deletion_timestamp().is_none() => words.push("pending"),
        None => {}
        Some(_) => words.push("allocated"),
    }
    if printers::length(object, &["status", "reservedFor"]) > 0 {
        words.push("reserved");
    }
    words.join(",").into()
}
