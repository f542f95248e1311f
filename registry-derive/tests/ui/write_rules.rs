//! Rules of writes that are the default, that the hub has, or whose fields do not exist.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use registry_derive::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Resource, Serialize, Deserialize, JsonSchema)]
#[resource(
    group = "zoo.example.dev",
    version = "v1",
    same_fields,
    strategy = hub,
    unconditional_update = true,
    plain_finalizers,
    metadata_errors_once,
    reset_by_status(spec, spec)
)]
pub struct Cage {
    pub metadata: ObjectMeta,
    pub spec: String,
}

#[derive(Resource, Serialize, Deserialize, JsonSchema)]
#[resource(group = "zoo.example.dev", version = "v1beta1", hub = Cage, names = Any, create_on_update, reset(spec))]
pub struct Pen {
    pub metadata: ObjectMeta,
    pub spec: String,
}

#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::coordination::v1::Lease,
    group = "coordination.k8s.io",
    version = "v1",
    unconditional_update = no,
    schema = schema
)]
pub struct Leases;

#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::apps::v1::Deployment,
    group = "apps",
    version = "v1",
    column("Replicas", spec.replicsa, type = integer),
    column("Paused", spec.paused, type = integer),
    names = Zork,
    reset_by_status(metadata.label),
    schema = schema
)]
pub struct Deployments;

fn schema() -> registry_core::schema::Schema {
    unimplemented!()
}

fn main() {}
