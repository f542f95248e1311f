//! `v1 Namespace`: Namespace provides a scope for Names.

pub mod finalize;
mod strategy;

use registry_derive::Resource;

/// `namespaces` of `v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::core::v1::Namespace,
    version = "v1",
    short("ns"),
    cluster,
    status,
    without_deletecollection,
    selectable(status.phase),
    column("Status", status.phase, description = "The status of the namespace"),
    names = DnsLabel,
    strategy = strategy::NamespaceStrategy,
    subresource(finalize::Finalize, verbs(update)),
)]
pub struct Namespaces;
