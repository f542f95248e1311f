//! Maps that contradict themselves. The wording of every refusal is tested beside the check itself.

use std::marker::PhantomData;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use registry_core::registry::storage_map::ApiPath;
use registry_core::registry::{Install, MapEntry, Services, Store};
use registry_core::rest::Capabilities;
use registry_derive::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Resource, Serialize, Deserialize, JsonSchema)]
#[resource(group = "zoo.example.dev", version = "v1", short = "enc", cluster)]
pub struct Enclosure {
    pub metadata: ObjectMeta,
}

#[derive(Resource, Serialize, Deserialize, JsonSchema)]
#[resource(group = "zoo.example.dev", version = "v1", short = "enc")]
pub struct Encounter {
    pub metadata: ObjectMeta,
}

#[derive(Resource, Serialize, Deserialize, JsonSchema)]
#[resource(group = "zoo.example.dev", version = "v1", kind = "EnclosureFeeding", plural = "enclosures")]
pub struct Feeding {
    pub metadata: ObjectMeta,
}

/// The resource itself.
pub struct Whole<R>(PhantomData<R>);

impl<R: registry_core::Resource> ApiPath for Whole<R> {
    const ENTRY: MapEntry =
        MapEntry { resource: R::TYPE, subresource: None, install: Install::OverStore(install), declared_at: R::TYPE.properties.declared_at };
}

/// A subresource of it.
pub struct Part<R>(PhantomData<R>);

impl<R: registry_core::Resource> ApiPath for Part<R> {
    const ENTRY: MapEntry =
        MapEntry { resource: R::TYPE, subresource: Some("part"), install: Install::OverStore(install), declared_at: R::TYPE.properties.declared_at };
}

fn install(_: &Arc<Store>, _: &Services) -> Capabilities {
    unimplemented!()
}

mod short_names_collide {
    use super::*;
    registry_core::storage_map! {
        pub static MAP = {
            "zoo.example.dev" => {
                "v1" => {
                    "enclosures" => Whole<Enclosure>,
                    "encounters" => Whole<Encounter>,
                },
            },
        };
    }
}

mod two_storages_for_one_path {
    use super::*;
    registry_core::storage_map! {
        pub static MAP = {
            "zoo.example.dev" => {
                "v1" => {
                    "enclosures" => Whole<Enclosure>,
                    "enclosures" => Whole<Feeding>,
                },
            },
        };
    }
}

mod no_parent {
    use super::*;
    registry_core::storage_map! {
        pub static MAP = {
            "zoo.example.dev" => {
                "v1" => {
                    "enclosures/part" => Part<Enclosure>,
                },
            },
        };
    }
}

mod scopes_differ {
    use super::*;
    registry_core::storage_map! {
        pub static MAP = {
            "zoo.example.dev" => {
                "v1" => {
                    "enclosures" => Whole<Enclosure>,
                    "enclosures/part" => Part<Feeding>,
                },
            },
        };
    }
}

mod sound {
    use super::*;
    registry_core::storage_map! {
        /// This one is fine.
        pub static MAP = {
            "zoo.example.dev" => {
                "v1" => {
                    "enclosures" => Whole<Enclosure>,
                    "enclosures/part" => Part<Enclosure>,
                },
            },
        };
    }
}

fn main() {}
