//! Errors in the tokens of schemas are reported at the token; all others when the server starts.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use registry_derive::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Resource, Serialize, Deserialize, JsonSchema)]
#[resource(group = "zoo.example.dev", version = "v1", selectable(spec), index(spce))]
#[schemars(extend("x-kubernetes-validation" = [{"rule": "true"}]))]
pub struct Cage {
    pub metadata: ObjectMeta,
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "true", "mesage": "no"}, {"message": "no"}]))]
    pub spec: String,
}

fn main() {}
