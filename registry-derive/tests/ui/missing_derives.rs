//! A struct without a schema, one that is not JSON, and a type that is not a subresource.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use registry_derive::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Resource, Serialize, Deserialize)]
#[resource(group = "zoo.example.dev", version = "v1")]
pub struct Enclosure {
    pub metadata: ObjectMeta,
}

#[derive(Resource, JsonSchema)]
#[resource(group = "zoo.example.dev", version = "v1")]
pub struct Keeper {
    pub metadata: ObjectMeta,
}

#[derive(Resource, Serialize, Deserialize, JsonSchema)]
#[resource(group = "zoo.example.dev", version = "v1", subresource(Feeding, verbs(create)))]
pub struct Pen {
    pub metadata: ObjectMeta,
}

pub struct Feeding;

fn main() {}
