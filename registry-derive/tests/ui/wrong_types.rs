//! Types that do not fit where the attribute or the struct puts them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use registry_core::resource::Strategy;
use registry_derive::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Resource, Serialize, Deserialize, JsonSchema)]
#[resource(
    group = "zoo.example.dev",
    version = "v1",
    scale(replicas = spec.keeper, current = spec.animals, selector = spec.animals),
    strategy = KeeperStrategy
)]
pub struct Enclosure {
    pub metadata: ObjectMeta,
    pub spec: Spec,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Spec {
    pub keeper: Option<String>,
    pub animals: i32,
}

#[derive(Resource, Serialize, Deserialize, JsonSchema)]
#[resource(group = "zoo.example.dev", version = "v1", strategy = NotAStrategy)]
pub struct Keeper {
    pub metadata: String,
}

pub struct NotAStrategy;

pub struct KeeperStrategy;

impl Strategy for KeeperStrategy {
    type Object = Keeper;
}

fn main() {}
