//! Declarations that compile but do not match the schema: rejected when a server starts.

#![allow(clippy::expect_used, reason = "test code")]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use registry_core::registry::StorageMap;
use registry_core::registry::storage_map::{Main, check_declarations};
use registry_derive::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, JsonSchema)]
struct SnakeCase {
    feeding_time: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Spec {
    keeper: Keeper,
    phase: Phase,
    food: serde_json::Value,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Keeper {
    name: String,
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum Phase {
    Open,
    Closed,
}

#[derive(Resource, Serialize, Deserialize, JsonSchema)]
#[resource(group = "zoo.example.dev", version = "v1", selectable(spec.feeding_time))]
struct Feeding {
    metadata: ObjectMeta,
    spec: SnakeCase,
}

#[derive(Resource, Serialize, Deserialize, JsonSchema)]
#[resource(group = "zoo.example.dev", version = "v1", selectable(spec.keeper), column("Phase", spec.phase, type = integer))]
struct Enclosure {
    metadata: ObjectMeta,
    spec: Spec,
}

#[derive(Resource, Serialize, Deserialize, JsonSchema)]
#[resource(group = "zoo.example.dev", version = "v1", selectable(spec.phase, spec.keeper.name), column("Phase", spec.phase),
    column("Food", spec.food))]
struct Pen {
    metadata: ObjectMeta,
    spec: Spec,
}

macro_rules! map {
    ($path:literal => $kind:ty) => {{
        registry_core::storage_map! {
            static MAP = { "zoo.example.dev" => { "v1" => { $path => Main<$kind> } } };
        }
        &MAP
    }};
}

fn refusal(map: &'static StorageMap) -> String {
    check_declarations(&[map]).expect_err("a declaration that does not fit").to_string()
}

#[test]
fn fields_that_are_named_otherwise_in_json_are_refused() {
    let message = refusal(map!("feedings" => Feeding));
    assert!(message.starts_with("`Feeding` (declared at "), "{message}");
    assert!(
        message.contains(
            "`selectable(…)` names `spec.feedingTime`, but `spec` has no field `feedingTime` in JSON"
        ),
        "{message}"
    );
    assert!(message.contains("rename_all"), "{message}");
}

#[test]
fn fields_of_another_type_are_refused_all_at_once() {
    let message = refusal(map!("enclosures" => Enclosure));
    assert!(message.contains("`selectable(…)` names `spec.keeper`, which is an object"), "{message}");
    assert!(
        message.contains("`column(…)` names `spec.phase`, which is a value of type `string`"),
        "{message}"
    );
}

#[test]
fn enums_texts_and_open_fields_fit() {
    assert_eq!(check_declarations(&[map!("pens" => Pen)]), Ok(()));
}
