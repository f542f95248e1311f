//! `node.k8s.io/v1 RuntimeClass`: RuntimeClass defines a class of container runtime supported in the cluster.

mod retired;
mod strategy;

use registry_derive::Resource;

/// `runtimeclasses` of `node.k8s.io/v1`.
#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::node::v1::RuntimeClass,
    group = "node.k8s.io",
    version = "v1",
    retired("node.k8s.io/v1beta1", "node.k8s.io/v1alpha1" => retired::renew),
    cluster,
    column("Handler", handler, description = ""),
    unconditional_update = false,
    create_on_update,
    strategy = strategy::RuntimeClassStrategy,
)]
pub struct RuntimeClasses;
