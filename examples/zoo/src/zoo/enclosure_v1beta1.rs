//! `zoo.example.dev/v1beta1 Enclosure`: how enclosures were described before `v1`, for clients that still do.
//!
//! Nothing is stored in this version. `hub = Enclosure` says what is; the two `impl From` below say how one becomes
//! the other, and the compiler refuses the struct without them. Both versions can be read, written, watched,
//! patched and applied, whichever one an object was made in.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use registry_derive::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::enclosure::{Enclosure, EnclosureSpec, EnclosureStatus};

/// A place where animals of one species live.
#[derive(Resource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
#[resource(
    group = "zoo.example.dev",
    version = "v1beta1",
    // The struct has a name of its own, the kind is the same.
    kind = "Enclosure",
    short = "enc",
    categories("all"),
    // What is stored.
    hub = Enclosure,
    // A field that is elsewhere in the hub says where, so that selectors find it.
    selectable(spec.caretaker => spec.keeper, status.phase),
    column("Inhabitant", spec.inhabitant),
    column("Phase", status.phase),
    scale(replicas = spec.headcount, current = status.animals, selector = status.selector)
)]
pub struct EnclosureV1beta1 {
    /// Name, namespace, labels, and what else every object has.
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[serde(default)]
    pub spec: EnclosureSpecV1beta1,
    /// What is; the same in both versions.
    #[resource(status)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<EnclosureStatus>,
}

/// What is wanted of an enclosure.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct EnclosureSpecV1beta1 {
    /// The species that lives here.
    pub inhabitant: String,
    /// How many animals shall live here.
    #[serde(default)]
    pub headcount: i32,
    /// Who looks after them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caretaker: Option<String>,
}

// `TryFrom` where something can go wrong: its error is what the client reads.
impl From<EnclosureV1beta1> for Enclosure {
    fn from(beta: EnclosureV1beta1) -> Self {
        let EnclosureSpecV1beta1 { inhabitant, headcount, caretaker } = beta.spec;
        let spec = EnclosureSpec { species: inhabitant, animals: headcount, keeper: caretaker };
        Self { metadata: beta.metadata, spec, status: beta.status }
    }
}

impl From<Enclosure> for EnclosureV1beta1 {
    fn from(stored: Enclosure) -> Self {
        let EnclosureSpec { species, animals, keeper } = stored.spec;
        let spec = EnclosureSpecV1beta1 { inhabitant: species, headcount: animals, caretaker: keeper };
        Self { metadata: stored.metadata, spec, status: stored.status }
    }
}

#[cfg(test)]
mod tests {
    use registry_core::resource::conversion::testing::assert_lossless;

    use super::*;

    #[test]
    fn both_versions_say_the_same() {
        assert_lossless::<EnclosureV1beta1>();
    }
}
