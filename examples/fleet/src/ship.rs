//! `fleet.example.dev/v1 Ship`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use registry_derive::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub mod arrival;
pub mod port;

use arrival::Arrival;

/// A ship of the fleet.
#[derive(Resource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
// ANCHOR: ship
#[resource(
    group = "fleet.example.dev",
    version = "v1",
    selectable(spec.port),
    column("Port", spec.port),
    // Served at …/ships/NAME/arrival. The compiler checks that its storage implements the verb.
    subresource(Arrival, verbs(create))
)]
// ANCHOR_END: ship
pub struct Ship {
    /// Standard object metadata.
    pub metadata: ObjectMeta,
    /// The properties of the ship.
    #[serde(default)]
    pub spec: ShipSpec,
}

/// The properties of a ship.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct ShipSpec {
    /// The port that the ship is in; absent at sea.
    #[schemars(length(min = 1, max = 63))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<String>,
}
