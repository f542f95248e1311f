use std::sync::OnceLock;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::api::{ErrorList, FieldPath, GroupVersionKind};
use crate::budget::Budget;
use crate::schema::Schema;

use super::super::own_schema;

const KIND: GroupVersionKind = GroupVersionKind { group: "sea.example.dev", version: "v1", kind: "Berth" };

#[derive(Serialize, Deserialize, JsonSchema)]
struct Berth {
    metadata: ObjectMeta,
    spec: Spec,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Spec {
    cargo: Cargo,
    #[serde(default)]
    lamps: Vec<Lamp>,
    side: Option<Side>,
    anchor: Option<Anchor>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Anchor {
    weight: i32,
    #[serde(flatten)]
    cable: Cable,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Cable {
    Rope { metres: u32 },
    Chain { links: u32 },
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Cargo {
    Empty,
    Crates { count: u32 },
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
enum Lamp {
    Oil { litres: i32 },
    Electric { watts: i32 },
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum Side {
    Port,
    Starboard,
}

fn schema() -> Schema {
    static SCHEMA: OnceLock<Schema> = OnceLock::new();
    own_schema::<Berth>(&SCHEMA, KIND, None)
}

/// Returns the errors of a berth with this spec, after conforming.
fn wrong(spec: &Value) -> Vec<String> {
    let mut berth =
        json!({"apiVersion": "sea.example.dev/v1", "kind": "Berth", "metadata": {"name": "a"}, "spec": spec});
    schema().conform(&mut berth, &mut Vec::new()).unwrap();
    let mut errors = ErrorList::default();
    let schema = schema();
    schema.definition().unwrap().structural().validate(
        &FieldPath::root(),
        &berth,
        &Budget::unlimited(),
        &mut errors,
    );
    if errors.is_empty() {
        errors.append(schema.check_typed(&berth));
    }
    errors.0.iter().map(|error| format!("{}: {}", error.field, error.body())).collect()
}

#[test]
fn values_of_enums_with_data_are_checked_against_the_struct() {
    for good in [
        json!({"cargo": "empty", "side": "Port"}),
        json!({"cargo": "empty", "anchor": {"weight": 1, "chain": {"links": 9}}}),
        json!({"cargo": {"crates": {"count": 3}}, "lamps": [{"type": "oil", "litres": 2}]}),
    ] {
        assert_eq!(wrong(&good), Vec::<String>::new());
    }
    for (bad, field, reason) in [
        (json!({"cargo": "gold"}), "spec.cargo: ", "unknown variant `gold`"),
        (json!({"cargo": {"crates": {"count": "x"}}}), "spec.cargo.crates.count: ", "expected u32"),
        (json!({"cargo": {"crates": {}}}), "spec.cargo.crates: ", "missing field `count`"),
        (json!({"cargo": "empty", "anchor": {"weight": 1}}), "spec.anchor", "no variant of enum Cable found"),
        (
            json!({"cargo": "empty", "lamps": [{"type": "gas"}]}),
            "spec.lamps[0].type",
            "supported values: \"oil\", \"electric\"",
        ),
        (json!({"cargo": "empty", "lamps": [{"type": "oil"}]}), "spec.lamps[0]", "missing field `litres`"),
    ] {
        let messages = wrong(&bad);
        assert_eq!(messages.len(), 1, "{messages:?}");
        assert!(messages[0].starts_with(field) && messages[0].contains(reason), "{messages:?}");
    }
}

#[test]
fn a_struct_whose_schema_says_everything_is_not_read_again() {
    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Plain {
        metadata: ObjectMeta,
        side: Option<Side>,
        limit: Option<k8s_openapi::apimachinery::pkg::api::resource::Quantity>,
        since: Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>,
    }
    let generated = schemars::schema_for!(Plain);
    assert!(!super::has_unions(generated.as_value()), "{generated:?}");
}
