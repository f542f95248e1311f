//! Creation, change and deletion of definitions.

use registry_core::api::{DryRun, StatusError};
use serde_json::{Value, json};

use super::bench::{Bench, Reply};
use super::widgets;

const NAME: &str = "widgets.example.com";

fn open_schema() -> Value {
    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

fn fields(error: &StatusError) -> Vec<String> {
    let causes = error.details.iter().flat_map(|details| &details.causes);
    causes.map(|cause| format!("{} {}", cause.field, cause.message)).collect()
}

fn refused(reply: Reply) -> Vec<String> {
    fields(&reply.result.unwrap_err())
}

#[tokio::test]
async fn a_new_definition_gets_defaults_and_a_blank_status() {
    let bench = Bench::new();
    let mut body = widgets(&open_schema());
    body["status"] = json!({
        "acceptedNames": {"plural": "mine", "kind": "Mine"},
        "conditions": [{"type": "Established", "status": "True"}],
        "storedVersions": ["v9"],
    });
    let made = bench.post(&body, DryRun::Off).await.result.unwrap();
    let names =
        json!({"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"});
    assert_eq!(made.get(&["spec", "names"]), Some(&names));
    assert_eq!(made.get(&["spec", "conversion"]), Some(&json!({"strategy": "None"})));
    let status = json!({
        "conditions": null, "acceptedNames": {"plural": "", "kind": ""}, "storedVersions": ["v1"],
    });
    assert_eq!(made.get(&["status"]), Some(&status));
    assert_eq!(made.generation(), 1);
}

#[tokio::test]
async fn webhooks_get_a_port_and_an_empty_webhook_is_dropped() {
    let bench = Bench::new();
    let mut body = widgets(&open_schema());
    body["spec"]["conversion"] = json!({"strategy": "None", "webhook": {}});
    let made = bench.post(&body, DryRun::All).await.result.unwrap();
    assert_eq!(made.get(&["spec", "conversion"]), Some(&json!({"strategy": "None"})));
    let service = json!({"namespace": "default", "name": "converter"});
    body["spec"]["conversion"] = json!({
        "strategy": "Webhook",
        "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"service": service}},
    });
    let made = bench.post(&body, DryRun::All).await.result.unwrap();
    let port = made.get(&["spec", "conversion", "webhook", "clientConfig", "service", "port"]);
    assert_eq!(port, Some(&json!(443)));
}

#[tokio::test]
async fn a_storage_version_stays_among_the_stored_ones() {
    let mut bench = Bench::new();
    let mut body = widgets(&open_schema());
    bench.post(&body, DryRun::Off).await.result.unwrap();
    bench.settle(NAME).await;
    let mut second = body["spec"]["versions"][0].clone();
    second["name"] = json!("v2");
    body["spec"]["versions"][0]["storage"] = json!(false);
    body["spec"]["versions"].as_array_mut().unwrap().push(second.clone());
    let changed = bench.put(&body, DryRun::Off).await.result.unwrap();
    assert_eq!(changed.get(&["status", "storedVersions"]), Some(&json!(["v1", "v2"])));
    assert_eq!(changed.generation(), 2);
    body["spec"]["versions"] = json!([second]);
    let errors = refused(bench.put(&body, DryRun::Off).await);
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0]
            .starts_with("status.storedVersions[0] Invalid value: \"v1\": missing from spec.versions; v1")
    );
    let mut status = bench.get(NAME).await.unwrap().into_value();
    status["status"]["storedVersions"] = json!(["v2"]);
    bench.put_status(&status).await.result.unwrap();
    bench.put(&body, DryRun::Off).await.result.unwrap();
}

#[tokio::test]
async fn names_are_fixed_once_they_are_established() {
    let mut bench = Bench::new();
    let mut body = widgets(&open_schema());
    bench.post(&body, DryRun::Off).await.result.unwrap();
    body["spec"]["scope"] = json!("Cluster");
    bench.put(&body, DryRun::Off).await.result.unwrap();
    bench.settle(NAME).await;
    body["spec"]["scope"] = json!("Namespaced");
    body["spec"]["names"]["kind"] = json!("Gadget");
    let expected = [
        "spec.scope Invalid value: \"Namespaced\": field is immutable",
        "spec.names.kind Invalid value: \"Gadget\": field is immutable",
    ];
    assert_eq!(refused(bench.put(&body, DryRun::Off).await), expected);
    // Short names and categories may change.
    body["spec"]["scope"] = json!("Cluster");
    body["spec"]["names"] = json!({"plural": "widgets", "kind": "Widget", "shortNames": ["w"]});
    bench.put(&body, DryRun::Off).await.result.unwrap();
}

#[tokio::test]
async fn a_deleted_definition_is_held_until_its_resources_are_gone() {
    let mut bench = Bench::new();
    bench.post(&widgets(&open_schema()), DryRun::Off).await.result.unwrap();
    bench.settle(NAME).await;
    let deleted = bench.delete(NAME).await;
    assert!(deleted.deletion_timestamp().is_some());
    assert_eq!(deleted.generation(), 1);
    assert_eq!(deleted.deletion_grace_period_seconds(), None);
    let finalizers: Vec<_> = deleted.finalizers().collect();
    assert_eq!(finalizers, ["customresourcecleanup.apiextensions.k8s.io"]);
    let condition = deleted.get(&["status", "conditions"]).unwrap().as_array().unwrap().last().unwrap();
    assert_eq!(condition["type"], "Terminating");
    assert_eq!(condition["reason"], "InstanceDeletionPending");
    assert!(super::super::conditions::needs_cleanup(&deleted));
    let mut released = bench.get(NAME).await.unwrap();
    super::super::conditions::release(&mut released);
    bench.put_status(&released.into_value()).await.result.unwrap();
    assert_eq!(bench.get(NAME).await.unwrap_err().code, 404);
}

#[tokio::test]
async fn changes_of_the_status_are_checked_alone() {
    let mut bench = Bench::new();
    bench.post(&widgets(&open_schema()), DryRun::Off).await.result.unwrap();
    let mut body = bench.settle(NAME).await.into_value();
    body["spec"]["group"] = json!("other.example.com");
    body["status"]["acceptedNames"]["plural"] = json!("Not A Name");
    let errors = refused(bench.put_status(&body).await);
    assert_eq!(errors.len(), 1);
    assert!(
        errors[0].starts_with("status.acceptedNames.plural Invalid value: \"Not A Name\": a DNS-1035 label")
    );
    body["status"]["acceptedNames"]["plural"] = json!("widgets");
    let changed = bench.put_status(&body).await.result.unwrap();
    assert_eq!(changed.get(&["spec", "group"]), Some(&json!("example.com")));
}

#[tokio::test]
async fn groups_of_the_community_need_approval() {
    let bench = Bench::new();
    let mut body = widgets(&open_schema());
    body["metadata"]["name"] = json!("widgets.x.k8s.io");
    body["spec"]["group"] = json!("x.k8s.io");
    let errors = refused(bench.post(&body, DryRun::All).await);
    assert!(
        errors[0].starts_with("metadata.annotations[api-approved.kubernetes.io] Required value: protected")
    );
    body["metadata"]["annotations"] = json!({"api-approved.kubernetes.io": "unapproved, a test"});
    bench.post(&body, DryRun::All).await.result.unwrap();
}

#[tokio::test]
async fn unknown_formats_are_warned_about_once() {
    let bench = Bench::new();
    let text = |format: &str| json!({"type": "string", "format": format});
    let schema = json!({"type": "object", "properties": {
        "a": text("zork"), "b": text("zork"), "c": text("date-time"), "d": text("k8s-short-name"),
        "e": {"type": "integer", "format": "int16"}, "f": {"type": "boolean", "format": "date"},
    }});
    let reply = bench.post(&widgets(&schema), DryRun::Off).await;
    let expected = ["date", "int16", "zork"].map(|format| format!("unrecognized format \"{format}\""));
    assert_eq!(reply.warnings, expected);
    let mut changed = schema;
    changed["properties"]["g"] = text("new");
    let reply = bench.put(&widgets(&changed), DryRun::Off).await;
    assert_eq!(reply.warnings, ["unrecognized format \"new\""]);
}
