//! Schemas of custom structs.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::LocalObjectReference;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as TypedQuantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{GroupVersionKind, Schema, conformed, refusal};
use crate::ListKind;
use crate::openapi::components;
use registry_meta::budget::Budget;
use registry_meta::{ErrorList, FieldPath};

/// Where animals live.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Enclosure {
    metadata: ObjectMeta,
    spec: EnclosureSpec,
    status: Option<Status>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct EnclosureSpec {
    /// The person who looks after it.
    #[schemars(length(min = 2, max = 20), regex(pattern = "^[a-z]+$"))]
    keeper: String,
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 9))]
    replicas: i32,
    climate: Option<Climate>,
    #[serde(default)]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    animals: Vec<Animal>,
    food: Option<BTreeMap<String, TypedQuantity>>,
    sign: Option<LocalObjectReference>,
    extra: Option<Value>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum Climate {
    /// Palms.
    Tropical,
    /// Ice.
    Arctic,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Animal {
    name: String,
    parent: Option<Box<Animal>>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Status {
    phase: Option<String>,
}

fn one() -> i32 {
    1
}

const KIND: GroupVersionKind =
    GroupVersionKind { group: "zoo.example.dev", version: "v1", kind: "Enclosure" };

fn enclosure() -> Schema {
    Schema::from_json_schema(schemars::schema_for!(Enclosure).as_value(), KIND)
}

fn with_spec(spec: &Value) -> Value {
    json!({"apiVersion": "zoo.example.dev/v1", "kind": "Enclosure", "metadata": {"name": "a"}, "spec": spec})
}

#[test]
fn own_objects_keep_zeros_and_lose_nulls_and_unknown_fields() {
    let schema = enclosure();
    let given = with_spec(&json!({
        "keeper": "", "replicas": 0, "animals": [], "climate": null, "zork": 1,
        "food": {"hay": "1000m"}, "extra": {"any": [1, null]},
    }));
    let kept = with_spec(&json!({
        "keeper": "", "replicas": 0, "animals": [], "food": {"hay": "1"}, "extra": {"any": [1, null]},
    }));
    let (value, issues) = conformed(&schema, given);
    assert_eq!(value, kept);
    assert_eq!(issues, [crate::FieldIssue::Unknown("spec.zork".to_owned())]);
}

#[test]
fn own_objects_get_defaults_and_type_errors() {
    let schema = enclosure();
    let mut value = conformed(&schema, with_spec(&json!({"keeper": "ann"}))).0;
    schema.apply_defaults(&mut value, &Budget::unlimited()).unwrap();
    assert_eq!(value, with_spec(&json!({"keeper": "ann", "replicas": 1, "animals": []})));
    assert_eq!(
        refusal(&schema, with_spec(&json!({"replicas": "two"}))),
        "json: cannot unmarshal string into Go struct field EnclosureSpec.spec.replicas of type int32"
    );
    assert_eq!(
        refusal(&schema, json!({"metadata": {"name": true}})),
        "json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.name of type string"
    );
}

#[test]
fn own_rules_are_checked() {
    let schema = enclosure();
    let structural = schema.definition().unwrap().structural();
    let errors = |spec: Value| {
        let (mut errors, root) = (ErrorList::default(), FieldPath::root());
        structural.validate(&root, &with_spec(&spec), &Budget::unlimited(), &mut errors);
        structural.validate_lists(&root, &with_spec(&spec), None, &mut errors);
        errors.to_string()
    };
    assert_eq!(errors(json!({"keeper": "ann", "replicas": 9, "climate": "Arctic"})), "");
    assert_eq!(errors(json!({})), "spec.keeper: Required value");
    assert_eq!(
        errors(json!({"keeper": "ann", "replicas": 10})),
        "spec.replicas: Invalid value: 10: spec.replicas in body should be less than or equal to 9"
    );
    assert_eq!(
        errors(json!({"keeper": "A"})),
        "spec.keeper: Invalid value: \"A\": spec.keeper in body should be at least 2 chars long"
    );
    assert_eq!(
        errors(json!({"keeper": "Ann"})),
        "spec.keeper: Invalid value: \"Ann\": spec.keeper in body should match '^[a-z]+$'"
    );
    assert_eq!(
        errors(json!({"keeper": "ann", "climate": "Dry"})),
        "spec.climate: Unsupported value: \"Dry\": supported values: \"Tropical\", \"Arctic\""
    );
    assert_eq!(
        errors(json!({"keeper": "ann", "animals": [{"name": "a"}, {"name": "a", "parent": {}}]})),
        "[spec.animals[1].parent.name: Required value, spec.animals[1]: Duplicate value: {\"name\":\"a\"}]"
    );
}

#[test]
fn own_types_can_be_walked_and_explained() {
    let schema = enclosure();
    let animals = schema.root().field("spec").unwrap().ty().field("animals").unwrap().ty();
    assert_eq!(animals.list_kind(), Some(ListKind::Map));
    assert!(animals.element().unwrap().field("parent").unwrap().ty().field("parent").is_some());

    let components = components(&[&schema], None);
    let root = &components["dev.example.zoo.v1.Enclosure"];
    assert_eq!(root["description"], "Where animals live.");
    assert_eq!(
        root["x-kubernetes-group-version-kind"],
        json!([{"group": "zoo.example.dev", "version": "v1", "kind": "Enclosure"}])
    );
    assert_eq!(
        root["properties"]["spec"],
        json!({"$ref": "#/components/schemas/dev.example.zoo.v1.EnclosureSpec"})
    );
    let spec = &components["dev.example.zoo.v1.EnclosureSpec"];
    assert_eq!(
        spec["properties"]["keeper"],
        json!({
            "type": "string", "description": "The person who looks after it.", "minLength": 2, "maxLength": 20,
            "pattern": "^[a-z]+$",
        })
    );
    assert_eq!(spec["required"], json!(["keeper"]));
    assert_eq!(spec["properties"]["climate"]["enum"], json!(["Tropical", "Arctic"]));
    assert_eq!(spec["properties"]["replicas"]["default"], json!(1));
    assert!(components.contains_key("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"));
}
