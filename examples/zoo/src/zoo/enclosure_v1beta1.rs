//! `zoo.example.dev/v1beta1 Enclosure`: the version before `v1`, for clients that still use it.
//!
//! Objects are not stored in this version. `hub = Enclosure` names the stored version; the two `impl From` below
//! convert between them, and the struct does not compile without them. Objects can be read, written, watched, patched
//! and applied in both versions, whichever version they were created in.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use registry_derive::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::enclosure::{Enclosure, EnclosureSpec, EnclosureStatus};

/// An enclosure for animals of one species.
#[derive(Resource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
#[resource(
    group = "zoo.example.dev",
    version = "v1beta1",
    // The Rust struct has its own name; the kind is the same.
    kind = "Enclosure",
    short = "enc",
    categories("all"),
    // ANCHOR: hub
    // The stored version.
    hub = Enclosure,
    // Declares where a field is in the hub if its path differs there, so that field selectors work.
    selectable(spec.caretaker => spec.keeper, status.phase),
    // ANCHOR_END: hub
    column("Inhabitant", spec.inhabitant),
    column("Phase", status.phase),
    scale(replicas = spec.headcount, current = status.animals, selector = status.selector)
)]
pub struct EnclosureV1beta1 {
    /// Standard object metadata.
    pub metadata: ObjectMeta,
    /// The desired state.
    #[serde(default)]
    pub spec: EnclosureSpecV1beta1,
    /// The observed state, the same in both versions.
    #[resource(status)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<EnclosureStatus>,
}

/// The desired state of an enclosure.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct EnclosureSpecV1beta1 {
    /// The species of the animals.
    pub inhabitant: String,
    /// The desired number of animals.
    #[serde(default)]
    pub headcount: i32,
    /// The person responsible for the animals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caretaker: Option<String>,
}

// ANCHOR: conversion
/// The annotation in which an object of this version keeps the field that only the hub has.
const CLIMATE: &str = "zoo.example.dev/climate";

// Use `TryFrom` for a conversion that can fail; its error is returned to the client.
impl From<EnclosureV1beta1> for Enclosure {
    fn from(EnclosureV1beta1 { mut metadata, spec, status }: EnclosureV1beta1) -> Self {
        let EnclosureSpecV1beta1 { inhabitant, headcount, caretaker } = spec;
        let climate = metadata.annotations.as_mut().and_then(|annotations| annotations.remove(CLIMATE));
        metadata.annotations.take_if(|annotations| annotations.is_empty());
        let spec = EnclosureSpec { species: inhabitant, animals: headcount, keeper: caretaker, climate };
        Self { metadata, spec, status }
    }
}

impl From<Enclosure> for EnclosureV1beta1 {
    fn from(Enclosure { mut metadata, spec, status }: Enclosure) -> Self {
        let EnclosureSpec { species, animals, keeper, climate } = spec;
        if let Some(climate) = climate {
            metadata.annotations.get_or_insert_default().insert(CLIMATE.to_owned(), climate);
        }
        let spec = EnclosureSpecV1beta1 { inhabitant: species, headcount: animals, caretaker: keeper };
        Self { metadata, spec, status }
    }
}
// ANCHOR_END: conversion

#[cfg(test)]
mod tests {
    use registry_core::resource::testing::assert_lossless;

    use super::*;

    // ANCHOR: lossless
    #[test]
    fn both_versions_say_the_same() {
        assert_lossless::<EnclosureV1beta1>();
    }
    // ANCHOR_END: lossless
}
