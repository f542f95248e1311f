//! A subresource whose storage lacks the verb it declares, and one that belongs to another resource.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use registry_core::registry::{Services, Store, Subresource, SubresourceStore};
use registry_core::rest::Capabilities;
use registry_derive::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Resource, Serialize, Deserialize, JsonSchema)]
#[resource(group = "zoo.example.dev", version = "v1", subresource(Feeding, verbs(create)))]
pub struct Enclosure {
    pub metadata: ObjectMeta,
}

#[derive(Resource, Serialize, Deserialize, JsonSchema)]
#[resource(group = "zoo.example.dev", version = "v1", subresource(Feeding, verbs(create)))]
pub struct Keeper {
    pub metadata: ObjectMeta,
}

pub struct Feeding;

impl Subresource for Feeding {
    type Parent = Enclosure;
    type Storage = SubresourceStore;
    const NAME: &'static str = "feeding";

    fn install(_: &Arc<Store>, _: &Services) -> Capabilities {
        unimplemented!()
    }
}

fn main() {}
