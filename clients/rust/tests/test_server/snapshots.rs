//! Snapshots, and what clients see of a return to them.

use std::collections::BTreeMap;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams};
use kube::runtime::{WatchStreamExt as _, reflector, watcher};
use kube::{CustomResource, CustomResourceExt as _};
use orlop_test::TestServer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::support::{config_map, create, maps, named, object, pairs, present, until};

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Pump", namespaced)]
struct PumpSpec {
    liters: u32,
}

/// Changes a config map, removes another one, and creates a third.
async fn disturb(server: &TestServer) {
    let maps = maps(server);
    let patch = Patch::Merge(json!({"data": {"value": "changed"}}));
    maps.patch("changed", &PatchParams::default(), &patch).await.unwrap();
    maps.delete("removed", &DeleteParams::default()).await.unwrap();
    create(server, "new", "1").await;
}

#[tokio::test]
async fn each_test_begins_from_the_same_state() {
    let server = TestServer::start().await.unwrap();
    let before = [create(&server, "changed", "1").await, create(&server, "removed", "1").await];
    let kept = create(&server, "same", "1").await;
    let snapshot = server.snapshot().await.unwrap();
    for _ in 0..3 {
        disturb(&server).await;
        server.restore(&snapshot).await.unwrap();
        assert_eq!(present(&server).await, pairs(&[("changed", "1"), ("removed", "1"), ("same", "1")]));
        assert!(maps(&server).get_opt("new").await.unwrap().is_none());
    }
    for map in before {
        let now = maps(&server).get(&map.metadata.name.clone().unwrap()).await.unwrap();
        assert_eq!((&now.metadata.uid, &now.data), (&map.metadata.uid, &map.data));
        let version =
            |map: &ConfigMap| map.metadata.resource_version.as_ref().unwrap().parse::<u64>().unwrap();
        assert!(version(&now) > version(&map), "resource versions never go back");
    }
    assert_eq!(maps(&server).get("same").await.unwrap(), kept);
}

#[tokio::test]
async fn a_running_watch_sees_the_way_back() {
    let server = TestServer::start().await.unwrap();
    create(&server, "changed", "1").await;
    create(&server, "removed", "1").await;
    let snapshot = server.snapshot().await.unwrap();
    disturb(&server).await;
    let version = maps(&server).get("new").await.unwrap().metadata.resource_version.unwrap();
    let maps = maps(&server);
    let mut watch = maps.watch(&WatchParams::default(), &version).await.unwrap().boxed();
    server.restore(&snapshot).await.unwrap();
    let mut seen = Vec::new();
    while seen.len() < 3 {
        seen.push(match watch.next().await.unwrap().unwrap() {
            WatchEvent::Added(map) => ("ADDED", named(&map)),
            WatchEvent::Modified(map) => ("MODIFIED", named(&map)),
            WatchEvent::Deleted(map) => ("DELETED", named(&map)),
            other => panic!("{other:?}"),
        });
    }
    let event = |kind, name: &str, value: &str| (kind, (name.to_owned(), value.to_owned()));
    assert_eq!(
        seen,
        [event("DELETED", "new", "1"), event("MODIFIED", "changed", "1"), event("ADDED", "removed", "1")]
    );
}

#[tokio::test]
async fn reflectors_follow_with_and_without_a_new_list() {
    let server = TestServer::start().await.unwrap();
    create(&server, "changed", "1").await;
    create(&server, "removed", "1").await;
    let snapshot = server.snapshot().await.unwrap();
    let (reader, writer) = reflector::store();
    let watched =
        watcher(maps(&server), watcher::Config::default().fields("metadata.name!=kube-root-ca.crt"));
    let mut events = reflector(writer, watched.default_backoff()).boxed();
    let reflecting = tokio::spawn(async move { while events.next().await.is_some() {} });
    let reflected = || {
        let known: BTreeMap<_, _> = reader.state().iter().map(|map| named(map)).collect();
        known.into_iter().collect::<Vec<_>>()
    };
    for expires in [false, true] {
        disturb(&server).await;
        until("the changes", async || reflected() == pairs(&[("changed", "changed"), ("new", "1")])).await;
        if expires {
            server.restore_expiring_watches(&snapshot).await.unwrap();
        } else {
            server.restore(&snapshot).await.unwrap();
        }
        until("the former state", async || reflected() == pairs(&[("changed", "1"), ("removed", "1")])).await;
    }
    reflecting.abort();
}

#[tokio::test]
async fn definitions_and_namespaces_come_and_go_with_the_state() {
    let server = TestServer::start().await.unwrap();
    let empty = server.snapshot().await.unwrap();
    let definition = serde_json::to_value(Pump::crd()).unwrap();
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    server.request("POST", path, &definition).await.unwrap();
    let pumps: Api<Pump> = Api::default_namespaced(server.client());
    let pump = Pump::new("p", PumpSpec { liters: 3 });
    until("it is served", async || pumps.create(&PostParams::default(), &pump).await.is_ok()).await;
    let namespaces: Api<Namespace> = Api::all(server.client());
    let team = object(json!({"metadata": {"name": "team"}}));
    namespaces.create(&PostParams::default(), &team).await.unwrap();
    let full = server.snapshot().await.unwrap();

    server.restore(&empty).await.unwrap();
    until("it is not served", async || pumps.get("p").await.is_err()).await;
    assert!(namespaces.get_opt("team").await.unwrap().is_none());

    server.restore(&full).await.unwrap();
    until("it is served again", async || pumps.get("p").await.is_ok()).await;
    let groups = server.client().list_api_groups().await.unwrap().groups;
    assert!(groups.iter().any(|group| group.name == "example.com"));
    let inside: Api<ConfigMap> = Api::namespaced(server.client(), "team");
    inside.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
}

#[tokio::test]
async fn other_servers_begin_from_a_snapshot() {
    let template = TestServer::start().await.unwrap();
    create(&template, "a", "1").await;
    let snapshot = template.snapshot().await.unwrap();
    let (first, second) = tokio::try_join!(TestServer::start(), TestServer::start()).unwrap();
    for server in [&first, &second] {
        server.restore(&snapshot).await.unwrap();
        create(server, "b", "2").await;
        assert_eq!(present(server).await, pairs(&[("a", "1"), ("b", "2")]));
    }
    assert_eq!(present(&template).await, pairs(&[("a", "1")]));
}
