//! The schemas of authors' structs: enforced as those of custom resources are, and checked before anything is served.

use apiserver::testing::TestServer;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use registry_core::registry::storage_map::{Main, Status};
use registry_core::resource::Strategy;
use registry_derive::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::custom_resources::Client;

mod changed;
mod conformance;
mod mistakes;

#[derive(Resource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(rename_all = "camelCase")]
#[resource(group = "fleet.example.dev", version = "v1", strategy = ConvoyStrategy)]
struct Convoy {
    metadata: ObjectMeta,
    spec: ConvoySpec,
    #[resource(status)]
    #[serde(default)]
    status: Option<ConvoyStatus>,
}

/// The desired state of a convoy.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [
    {"rule": "self.replicas <= self.maxTrucks", "message": "more replicas than trucks", "fieldPath": ".replicas"},
    {"rule": "!has(self.owner) || self.owner != 'nobody'",
     "messageExpression": "'the owner is ' + self.owner", "reason": "FieldValueForbidden"},
    {"rule": "oldSelf.hasValue() || self.maxTrucks < 50", "optionalOldSelf": true, "message": "starts small"},
]))]
struct ConvoySpec {
    #[schemars(regex(pattern = "^[a-z]+$"), length(min = 2, max = 20))]
    owner: Option<String>,
    #[serde(default = "single_truck")]
    #[schemars(range(min = 0, max = 90))]
    replicas: i32,
    max_trucks: i32,
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "self == oldSelf", "message": "the color is immutable"}]))]
    color: Option<Color>,
    #[serde(default)]
    #[schemars(length(max = 3), extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["name"]))]
    trucks: Vec<Truck>,
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    tags: Option<Vec<String>>,
    #[schemars(extend("maxProperties" = 2))]
    weights: Option<std::collections::BTreeMap<String, Quantity>>,
    #[schemars(extend("format" = "ipv4"))]
    address: Option<String>,
    #[schemars(extend("exclusiveMinimum" = 0, "multipleOf" = 3))]
    axles: Option<i64>,
    shift: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
enum Color {
    Red,
    Blue,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = [{"rule": "self.load <= 40", "message": "overloaded"}]))]
struct Truck {
    name: String,
    #[serde(default)]
    load: i32,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(rename_all = "camelCase")]
struct ConvoyStatus {
    #[serde(default)]
    #[schemars(extend("x-kubernetes-validations" = [
        {"rule": "self >= oldSelf", "message": "never fewer arrived"},
    ]))]
    arrived: i32,
    #[serde(default)]
    conditions: Vec<Condition>,
}

/// Reads and writes objects as the struct, whose options serde writes as null.
struct ConvoyStrategy;

impl Strategy for ConvoyStrategy {
    type Object = Convoy;
}

fn single_truck() -> i32 {
    1
}

registry_core::storage_map! {
    static FLEET = {
        "fleet.example.dev" => {
            "v1" => {
                "convoys" => Main<Convoy>,
                "convoys/status" => Status<Convoy>,
            },
        },
    };
}

async fn server() -> (TestServer, Client) {
    let server = TestServer::builder().memory().storage_map(&FLEET).start().await.unwrap();
    let client = Client::connect(&server).await;
    (server, client)
}

const CONVOYS: &str = "/apis/fleet.example.dev/v1/namespaces/default/convoys";

fn convoy(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "fleet.example.dev/v1", "kind": "Convoy", "metadata": {"name": name}, "spec": spec})
}

/// Returns the fields and messages of a refusal.
fn causes(answer: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let causes = answer["details"]["causes"].as_array().cloned().unwrap_or_default();
    causes.iter().map(|cause| (text(&cause["field"]), text(&cause["message"]))).collect()
}

#[tokio::test]
async fn rules_of_a_struct_are_enforced() {
    let (server, mut client) = server().await;
    let refused =
        client.expect(422, "POST", CONVOYS, convoy("a", &json!({"replicas": 5, "maxTrucks": 2}))).await;
    assert_eq!(
        causes(&refused),
        [("spec.replicas".to_owned(), "Invalid value: more replicas than trucks".to_owned())]
    );
    let stored = client
        .expect(
            201,
            "POST",
            CONVOYS,
            convoy("a", &json!({"maxTrucks": 2, "color": "Red", "trucks": [{"name": "x"}]})),
        )
        .await;
    let wanted = json!({"replicas": 1, "maxTrucks": 2, "color": "Red", "trucks": [{"name": "x", "load": 0}]});
    assert_eq!(stored["spec"], wanted);
    let path = format!("{CONVOYS}/a");
    let refused = client.expect(422, "PATCH", &path, json!({"spec": {"color": "Blue"}})).await;
    assert_eq!(
        causes(&refused),
        [("spec.color".to_owned(), "Invalid value: \"Blue\": the color is immutable".to_owned())]
    );
    // Through the status, too.
    let status = format!("{path}/status");
    client.expect(200, "PATCH", &status, json!({"status": {"arrived": 2}})).await;
    let refused = client.expect(422, "PATCH", &status, json!({"status": {"arrived": 1}})).await;
    assert_eq!(
        causes(&refused),
        [("status.arrived".to_owned(), "Invalid value: 1: never fewer arrived".to_owned())]
    );
    server.stop().await;
}

#[tokio::test]
async fn a_missing_or_wrong_field_is_one_error() {
    let (server, mut client) = server().await;
    for (spec, field, message) in [
        (json!({"owner": "ada"}), "spec.maxTrucks", "Required value"),
        (
            json!({"maxTrucks": 1, "color": "Green"}),
            "spec.color",
            "Unsupported value: \"Green\": supported values: \"Red\", \"Blue\"",
        ),
        (json!({"maxTrucks": 1, "trucks": [{"load": 1}]}), "spec.trucks[0].name", "Required value"),
    ] {
        let refused = client.expect(422, "POST", CONVOYS, convoy("b", &spec)).await;
        let found = causes(&refused);
        let rest = "some validation rules were not checked";
        let own: Vec<_> = found.iter().filter(|(_, message)| !message.contains(rest)).collect();
        assert_eq!(own, [&(field.to_owned(), message.to_owned())], "{refused}");
        assert!(found.iter().all(|(_, message)| !message.contains("fit its kind")), "{refused}");
    }
    let spec = json!({"maxTrucks": 1, "weights": {"full": "much"}});
    let refused = client.expect(400, "POST", CONVOYS, convoy("b", &spec)).await;
    assert!(
        refused["message"].as_str().unwrap().contains("spec.weights.full: quantities must match"),
        "{refused}"
    );
    server.stop().await;
}

#[tokio::test]
async fn absent_options_are_not_stored_as_null() {
    let (server, mut client) = server().await;
    let stored =
        client.expect(201, "POST", CONVOYS, convoy("c", &json!({"maxTrucks": 2, "shift": null}))).await;
    assert_eq!(stored["spec"], json!({"replicas": 1, "maxTrucks": 2, "trucks": []}));
    assert!(stored.get("status").is_none(), "{stored}");
    server.stop().await;
}

#[tokio::test]
async fn rules_of_a_struct_are_published() {
    let (server, mut client) = server().await;
    let rules = json!({"rule": "self.load <= 40", "message": "overloaded"});
    let v3 = client.get("/openapi/v3/apis/fleet.example.dev/v1").await;
    let truck = &v3["components"]["schemas"]["dev.example.fleet.v1.Truck"];
    assert_eq!(truck["x-kubernetes-validations"], json!([rules]));
    let spec = &v3["components"]["schemas"]["dev.example.fleet.v1.ConvoySpec"];
    assert_eq!(spec["x-kubernetes-validations"].as_array().map(Vec::len), Some(3));
    assert_eq!(spec["properties"]["color"]["x-kubernetes-validations"][0]["rule"], "self == oldSelf");
    assert_eq!(spec["properties"]["owner"]["pattern"], "^[a-z]+$");
    assert_eq!(spec["properties"]["address"]["format"], "ipv4");
    let v2 = client.get("/openapi/v2").await;
    let truck = &v2["definitions"]["dev.example.fleet.v1.Truck"];
    assert_eq!(truck["x-kubernetes-validations"], json!([rules]));
    server.stop().await;
}
