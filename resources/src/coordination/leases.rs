//! `coordination.k8s.io/v1 Lease`: Lease defines a lease concept.

mod strategy;

use registry_core::resource::Column;
use registry_derive::Resource;

use crate::support::printers;

/// `leases` of `coordination.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::coordination::v1::Lease,
    group = "coordination.k8s.io",
    version = "v1",
    plural = "leases",
    storage_prefix = "leases",
    columns = COLUMNS,
    strategy = strategy::LeaseStrategy,
)]
pub struct Leases;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Holder", |object| printers::text(object, &["spec", "holderIdentity"]))
        .documented_by(&["spec", "holderIdentity"]),
    Column::AGE,
];
