//! Words of kube-rs's `#[kube(…)]`, and names that Kubernetes would not take.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use registry_derive::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Resource, Serialize, Deserialize, JsonSchema)]
#[resource(
    group = "zoo.example.dev",
    version = "v1",
    namespaced,
    shortname = "enc",
    category = "all",
    status = "EnclosureStatus",
    printcolumn = r#"{"name":"Keeper","type":"string","jsonPath":".spec.keeper"}"#,
    apiextensions = "v1"
)]
pub struct Enclosure {
    pub metadata: ObjectMeta,
}

#[derive(Resource, Serialize, Deserialize, JsonSchema)]
#[resource(group = "zoo.example.dev", version = "v1", kind = "Keeper")]
pub struct KeeperSpec {
    pub name: String,
}

#[derive(Resource, Serialize, Deserialize, JsonSchema)]
#[resource(version = "v1", short("pens", "pn"))]
pub struct Pen {
    pub metadata: ObjectMeta,
    pub api_version: String,
    pub kind: String,
    pub feeding_time: String,
    pub status: Option<String>,
}

#[derive(Resource, Serialize, Deserialize, JsonSchema)]
#[resource(group = "zoo.example.dev", version = "v1")]
pub struct cage {
    pub metadata: ObjectMeta,
    #[resource(status)]
    pub status: String,
}

#[derive(Resource, Serialize, Deserialize, JsonSchema)]
#[resource(group = "zoo.example.dev", version = "v1", hub = Self)]
pub struct Gate {
    pub metadata: ObjectMeta,
}

#[derive(Resource, Serialize, Deserialize, JsonSchema)]
#[resource(group = "zoo.example.dev", version = "v1", storage = Tickets)]
pub struct Ticket {
    pub metadata: ObjectMeta,
    #[resource(status)]
    pub status: Option<String>,
}

fn main() {}
