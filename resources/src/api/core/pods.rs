//! `v1 Pod`: Pod is a collection of containers that can run on a host.

pub mod binding;
mod columns;
mod conditions;
pub mod connect;
pub mod ephemeral_containers;
pub mod eviction;
mod partial_update;
mod preparation;
mod quality_of_service;
pub mod resize;
mod spec_change;
mod status;
mod strategy;

use registry_derive::Resource;

pub(crate) use quality_of_service::quality_of_service;

/// `pods` of `v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::core::v1::Pod,
    version = "v1",
    short("po"),
    categories("all"),
    status,
    generation,
    returns_deleted_object,
    selectable(spec.node_name, spec.restart_policy, spec.scheduler_name, spec.service_account_name, spec.host_network, status.phase, status.pod_ip = "status.podIP", status.nominated_node_name),
    index(spec.node_name),
    columns = columns::COLUMNS,
    row_conditions = columns::row_conditions,
    // A status neither begins nor ends a deletion. Old kubelets report owners in a form that the garbage collector would
    // misinterpret.
    reset_by_status(metadata.deletion_timestamp, metadata.owner_references),
    strategy = strategy::PodStrategy,
    subresource(binding::PodBinding, verbs(create)),
    subresource(ephemeral_containers::EphemeralContainers, verbs(get, update, patch)),
    subresource(eviction::PodEviction, verbs(create)),
    subresource(resize::Resize, verbs(get, update, patch)),
    subresource(connect::stream::Attach, verbs(connect)),
    subresource(connect::stream::Exec, verbs(connect)),
    subresource(connect::stream::PortForward, verbs(connect)),
    subresource(connect::log::Log, verbs(connect)),
    subresource(connect::proxy::PodProxy, verbs(connect)),
)]
pub struct Pods;
