//! `v1 Namespace`: Namespace provides a scope for Names.

pub mod finalize;
mod strategy;

use registry_core::resource::Column;
use registry_derive::Resource;

use crate::support::printers;

/// `namespaces` of `v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::core::v1::Namespace,
    version = "v1",
    plural = "namespaces",
    short("ns"),
    cluster,
    status,
    without_deletecollection,
    storage_prefix = "namespaces",
    selectable(status.phase),
    columns = COLUMNS,
    strategy = strategy::NamespaceStrategy,
    subresource(finalize::Finalize, verbs(update)),
)]
pub struct Namespaces;

static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Status", |object| printers::text(object, &["status", "phase"]))
        .described("The status of the namespace"),
    Column::AGE,
];
