//! `coordination.k8s.io/v1beta1 LeaseCandidate`: a process that can become the leader of a coordinated election.

mod strategy;
pub mod v1alpha2;

use registry_core::resource::Column;
use registry_derive::Resource;

use crate::support::printers;

/// `leasecandidates` of `coordination.k8s.io/v1beta1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::coordination::v1beta1::LeaseCandidate,
    group = "coordination.k8s.io",
    version = "v1beta1",
    plural = "leasecandidates",
    off_by_default,
    storage_prefix = "leasecandidates",
    columns = COLUMNS,
    strategy = strategy::LeaseCandidateStrategy,
)]
pub struct LeaseCandidates;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("LeaseName", |object| printers::text(object, &["spec", "leaseName"]))
        .documented_by(&["spec", "leaseName"]),
    Column::text("BinaryVersion", |object| printers::text(object, &["spec", "binaryVersion"])),
    Column::text("EmulationVersion", |object| printers::text(object, &["spec", "emulationVersion"])),
    Column::AGE,
];
