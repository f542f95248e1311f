//! APIServices of the group versions that this server serves itself, and what remains its own.

use apiserver::testing::TestServer;
use serde_json::{Value, json};

use super::{API_SERVICES, GROUP, api_service, started};
use crate::custom_resources::{Client, condition};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn definition(group: &str) -> Value {
    let schema = json!({ "openAPIV3Schema": { "type": "object" } });
    let versions = json!([
        { "name": "v1", "served": true, "storage": true, "schema": schema },
        { "name": "v2", "served": true, "storage": false, "schema": schema },
        { "name": "v3", "served": false, "storage": false, "schema": schema },
    ]);
    json!({
        "metadata": { "name": format!("widgets.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced", "versions": versions,
            "names": { "plural": "widgets", "kind": "Widget" },
        },
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn custom_group_versions_have_api_services() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut client = Client::connect(&server).await;
    client.define(definition("zoo.example.com")).await;
    let path = |version: &str| format!("{API_SERVICES}/{version}.zoo.example.com");
    let is_there = |found: &Value| found["kind"] == "APIService";
    for version in ["v1", "v2"] {
        let made = client.until(&path(version), is_there).await;
        assert_eq!(made["metadata"]["labels"]["kube-aggregator.kubernetes.io/automanaged"], "true");
        let spec = json!({
            "group": "zoo.example.com", "version": version, "groupPriorityMinimum": 1000, "versionPriority": 100,
        });
        assert_eq!(made["spec"], spec);
        assert_eq!(condition(&made, "Available"), "True");
    }
    client.expect(404, "GET", &path("v3"), Value::Null).await;
    let made = client.get(&path("v1")).await;
    client.expect(200, "DELETE", &path("v1"), Value::Null).await;
    client
        .until(&path("v1"), |found| is_there(found) && found["metadata"]["uid"] != made["metadata"]["uid"])
        .await;
    let built_in = client.get(&format!("{API_SERVICES}/v1.apps")).await;
    assert_eq!(built_in["metadata"]["labels"]["kube-aggregator.kubernetes.io/automanaged"], "onstart");
    let name = format!("{DEFINITIONS}/widgets.zoo.example.com");
    client.expect(200, "DELETE", &name, Value::Null).await;
    for version in ["v1", "v2"] {
        client.until(&path(version), |found| found["code"] == 404).await;
    }
}

/// Each of the definitions comes when the APIServices of those before it have been made.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_new_definition_has_an_api_service_that_is_available() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut client = Client::connect(&server).await;
    for number in 1..5 {
        let group = format!("zoo{number}.example.com");
        client.define(definition(&group)).await;
        let path = format!("{API_SERVICES}/v1.{group}");
        let made = client.until(&path, |found| found["kind"] == "APIService").await;
        assert_eq!(condition(&made, "Available"), "True", "there is no server that has to be found first");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions_and_groups_are_listed_by_priority() {
    let (_server, mut client, extension) = started().await;
    client.define(definition("aaa.example.com")).await;
    // A second version of the extension server's group, and one of a custom group.
    for (group, version, priorities) in [(GROUP, "v2", (2000, 5)), ("aaa.example.com", "v9", (10, 200))] {
        let mut object = api_service(&extension, "wardle");
        object["metadata"]["name"] = format!("{version}.{group}").into();
        object["spec"]["group"] = group.into();
        object["spec"]["version"] = version.into();
        object["spec"]["groupPriorityMinimum"] = priorities.0.into();
        object["spec"]["versionPriority"] = priorities.1.into();
        client.expect(201, "POST", API_SERVICES, object).await;
    }
    let group = |found: &Value, name: &str| -> Vec<String> {
        let mut groups = found["groups"].as_array().into_iter().flatten();
        let found = groups.find(|group| group["name"] == name).cloned().unwrap_or_default();
        let versions = found["versions"].as_array().cloned().unwrap_or_default();
        versions.iter().map(|version| version["version"].as_str().unwrap().to_owned()).collect()
    };
    let is_complete =
        |found: &Value| group(found, GROUP).len() == 2 && group(found, "aaa.example.com").len() == 3;
    let listed = client.until("/apis", is_complete).await;
    assert_eq!(group(&listed, GROUP), ["v1", "v2"], "10 before 5");
    assert_eq!(group(&listed, "aaa.example.com"), ["v9", "v2", "v1"], "200 before 100");
    let names: Vec<&str> =
        listed["groups"].as_array().unwrap().iter().map(|group| group["name"].as_str().unwrap()).collect();
    let at = |name: &str| names.iter().position(|own| *own == name).unwrap();
    assert_eq!(names[0], "apiregistration.k8s.io");
    assert!(at("apps") < at(GROUP) && at(GROUP) < at("aaa.example.com"), "17800, 2000, 1000: {names:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_claims_the_groups_of_others_cannot_lock_administrators_out() {
    let (_server, mut client, extension) = started().await;
    let spec = api_service(&extension, "wardle")["spec"].clone();
    for group in ["apiregistration.k8s.io", "", "apps"] {
        let path = format!("{API_SERVICES}/v1.{group}");
        let present = client.send("GET", &path, &Value::Null).await;
        let is_new = present.status == 404;
        let mut claim = if is_new { api_service(&extension, "wardle") } else { present.json() };
        claim["metadata"]["name"] = format!("v1.{group}").into();
        claim["spec"]["group"] = group.into();
        claim["spec"]["service"] = spec["service"].clone();
        claim["spec"]["caBundle"] = spec["caBundle"].clone();
        if is_new {
            client.expect(201, "POST", API_SERVICES, claim).await;
        } else {
            client.expect(200, "PUT", &path, claim).await;
        }
    }
    // A built-in group can be given away, as in Kubernetes: the extension server shows the request.
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    client.until(deployments, |found| found["target"] == deployments).await;
    // The core group and APIServices cannot.
    assert_eq!(client.get("/api/v1/namespaces/default").await["kind"], "Namespace");
    assert_eq!(client.get(API_SERVICES).await["kind"], "APIServiceList");
    assert_eq!(client.get("/apis/apiregistration.k8s.io/v1").await["kind"], "APIResourceList");
    client.expect(200, "DELETE", &format!("{API_SERVICES}/v1.apps"), Value::Null).await;
    client.until(deployments, |found| found["kind"] == "DeploymentList").await;
}
