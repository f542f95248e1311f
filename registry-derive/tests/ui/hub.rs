//! A version that cannot be made from what is stored, and the other way around.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use registry_derive::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Resource, Serialize, Deserialize, JsonSchema)]
#[resource(group = "zoo.example.dev", version = "v1", selectable(keeper))]
pub struct Enclosure {
    pub metadata: ObjectMeta,
    pub keeper: String,
}

#[derive(Resource, Serialize, Deserialize, JsonSchema)]
#[resource(group = "zoo.example.dev", version = "v1beta1", kind = "Enclosure", hub = Enclosure)]
pub struct EnclosureV1beta1 {
    pub metadata: ObjectMeta,
}

// One way only.
impl From<EnclosureV1beta1> for Enclosure {
    fn from(beta: EnclosureV1beta1) -> Self {
        Self { metadata: beta.metadata, keeper: String::new() }
    }
}

#[derive(Resource)]
#[resource(
    object = k8s_openapi::api::core::v1::Pod,
    group = "zoo.example.dev",
    version = "v1alpha1",
    kind = "Enclosure",
    hub = Enclosure,
    schema = schema
)]
pub struct Foreign;

fn schema() -> registry_core::schema::Schema {
    unimplemented!()
}

fn main() {}
