//! Fields that cannot be selected by, or shown in a column of this type.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use registry_derive::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Resource, Serialize, Deserialize, JsonSchema)]
#[resource(
    group = "zoo.example.dev",
    version = "v1",
    selectable(spec.animals, spec.food, spec.weight),
    column("Count", spec.count),
    column("Keeper", spec.keeper, type = integer),
    column("Open", spec.keeper, type = boolean),
    column("Opened", spec.count, type = date),
    column("Animals", spec.animals)
)]
pub struct Enclosure {
    pub metadata: ObjectMeta,
    pub spec: Spec,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Spec {
    pub animals: Vec<String>,
    pub food: Option<BTreeMap<String, String>>,
    pub weight: f64,
    pub count: Option<i32>,
    pub keeper: String,
}

fn main() {}
