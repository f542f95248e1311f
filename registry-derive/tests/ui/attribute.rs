//! Words the grammar does not know, values of the wrong shape, parts that disagree: all told at once.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use registry_derive::Resource;

#[derive(Resource)]
#[resource(group = "zoo.example.dev", versions = "v1", short = 3, scope = everywhere)]
pub struct Enclosure {
    pub metadata: ObjectMeta,
}

#[derive(Resource)]
#[resource(group = "zoo.example.dev", version = "one", selectable(spec.keeper), index(spec.phase))]
pub struct Keeper {
    pub metadata: ObjectMeta,
    #[resource(status)]
    pub state: String,
}

#[derive(Resource)]
#[resource(group = "zoo.example.dev", version = "v1")]
pub struct Animals;

#[derive(Resource)]
#[resource(version = "v1")]
pub enum Food {}

#[derive(Resource)]
#[resource(group = "zoo.example.dev", version = "v1", ttl_seconds = "1h")]
pub struct Cage {
    pub metadata: ObjectMeta,
}

#[derive(Resource)]
#[resource(
    group = "zoo.example.dev",
    version = "v1",
    retired("one", "zoo.example.dev/v1", "pens.example.dev/v1", "pens.example.dev/v1" => renew)
)]
pub struct Pen {
    pub metadata: ObjectMeta,
}

fn main() {}
