//! A typo in a path is the compiler's own error, under the author's cursor.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use registry_derive::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Resource, Serialize, Deserialize, JsonSchema)]
#[resource(
    group = "zoo.example.dev",
    version = "v1",
    selectable(spec.keper),
    column("Phase", status.fase),
    column("Deep", spec.keeper.name)
)]
pub struct Enclosure {
    pub metadata: ObjectMeta,
    pub spec: Spec,
    #[resource(status)]
    pub status: Option<Status>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Spec {
    pub keeper: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Status {
    pub phase: String,
}

fn main() {}
