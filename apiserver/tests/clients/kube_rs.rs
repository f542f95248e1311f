//! kube-rs: typed calls, and the watcher and reflector that controllers use.

use std::time::Duration;

use apiserver::testing::{TestServer, TestServerBuilder};
use futures::StreamExt as _;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, ServiceAccount};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::{WatchStreamExt as _, reflector, watcher};
use registry_core::storage::testing::etcd::Etcd;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

#[tokio::test]
async fn kube_rs_over_the_embedded_store() {
    let server = super::embedded().start().await.unwrap();
    typed_calls(super::client(server.kubeconfig_path()).await).await;
    a_reflector_outlives_a_restart(server, super::embedded).await;
}

#[tokio::test]
async fn kube_rs_over_etcd() {
    let etcd = Etcd::start().await.unwrap();
    let server = super::over_etcd(&etcd).start().await.unwrap();
    typed_calls(super::client(server.kubeconfig_path()).await).await;
    a_reflector_outlives_a_restart(server, || super::over_etcd(&etcd)).await;
}

fn object<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn config_map(name: &str, value: &str) -> ConfigMap {
    object(json!({"metadata": {"name": name}, "data": {"value": value}}))
}

async fn typed_calls(client: kube::Client) {
    let post = PostParams::default();
    let patch = PatchParams::default();
    // No controller runs beside this server that would create it.
    let accounts: Api<ServiceAccount> = Api::default_namespaced(client.clone());
    accounts.create(&post, &object(json!({"metadata": {"name": "default"}}))).await.unwrap();
    let pods: Api<Pod> = Api::default_namespaced(client.clone());
    let pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}});
    let pod = pods.create(&post, &object(pod)).await.unwrap();
    assert_eq!(pod.spec.unwrap().restart_policy.as_deref(), Some("Always"), "defaults are set");
    assert_eq!(pod.status.unwrap().phase.as_deref(), Some("Pending"));
    let running =
        pods.patch_status("p", &patch, &Patch::Merge(json!({"status": {"phase": "Running"}}))).await;
    assert_eq!(running.unwrap().status.unwrap().phase.as_deref(), Some("Running"));
    pods.delete("p", &DeleteParams::default().grace_period(0)).await.unwrap();
    assert!(pods.get_opt("p").await.unwrap().is_none());

    let deployments: Api<Deployment> = Api::default_namespaced(client.clone());
    let labels = json!({"app": "web"});
    let template =
        json!({"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}});
    let spec = json!({"selector": {"matchLabels": labels}, "template": template});
    let created = deployments.create(&post, &object(json!({"metadata": {"name": "d"}, "spec": spec}))).await;
    assert_eq!(created.unwrap().spec.unwrap().replicas, Some(1));
    let scale = Patch::Merge(json!({"spec": {"replicas": 4}}));
    assert_eq!(deployments.patch_scale("d", &patch, &scale).await.unwrap().spec.unwrap().replicas, Some(4));
    assert_eq!(deployments.get("d").await.unwrap().metadata.generation, Some(2));

    pages(Api::default_namespaced(client)).await;
}

async fn pages(maps: Api<ConfigMap>) {
    for index in 0..7 {
        maps.create(&PostParams::default(), &config_map(&format!("m{index}"), "old")).await.unwrap();
    }
    let mut names = Vec::new();
    let mut parameters = ListParams::default().limit(3);
    loop {
        let page = maps.list(&parameters).await.unwrap();
        assert!(page.items.len() <= 3);
        names.extend(page.items.into_iter().filter_map(|map| map.metadata.name));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters = parameters.continue_token(&token),
            None => break,
        }
    }
    assert_eq!(names, ["m0", "m1", "m2", "m3", "m4", "m5", "m6"]);

    let mut stale = maps.get("m0").await.unwrap();
    maps.patch("m0", &PatchParams::default(), &Patch::Merge(json!({"data": {"value": "new"}})))
        .await
        .unwrap();
    stale.immutable = Some(true);
    let conflict = maps.replace("m0", &PostParams::default(), &stale).await.unwrap_err();
    assert!(matches!(conflict, kube::Error::Api(status) if status.code == 409));
    maps.delete_collection(&DeleteParams::default(), &ListParams::default().fields("metadata.name=m6"))
        .await
        .unwrap();
    assert!(maps.get_opt("m6").await.unwrap().is_none());
}

/// Changes made while the watchers are disconnected, and after, are in the reflector's store in the end.
async fn a_reflector_outlives_a_restart(server: TestServer, builder: impl Fn() -> TestServerBuilder) {
    let maps: Api<ConfigMap> = Api::default_namespaced(super::client(server.kubeconfig_path()).await);
    let (reader, writer) = reflector::store();
    let watched = watcher(maps.clone(), watcher::Config::default());
    let mut events = reflector(writer, watched.default_backoff()).boxed();
    let reflecting = tokio::spawn(async move { while events.next().await.is_some() {} });
    maps.create(&PostParams::default(), &config_map("before", "1")).await.unwrap();
    converge(&maps, &reader).await;

    let directory = server.directory().clone();
    let port = server.address().port();
    server.stop().await;
    let again = builder().directory(&directory).flag(format!("--secure-port={port}")).start().await.unwrap();
    maps.create(&PostParams::default(), &config_map("after", "2")).await.unwrap();
    maps.delete("before", &DeleteParams::default()).await.unwrap();
    converge(&maps, &reader).await;
    reflecting.abort();
    again.stop().await;
}

async fn converge(maps: &Api<ConfigMap>, reader: &reflector::Store<ConfigMap>) {
    let version = |map: &ConfigMap| (map.metadata.name.clone(), map.metadata.resource_version.clone());
    let mut truth: Vec<_> = maps.list(&ListParams::default()).await.unwrap().iter().map(version).collect();
    truth.sort();
    let mut seen = Vec::new();
    for _ in 0..600 {
        seen = reader.state().iter().map(|map| version(map)).collect();
        seen.sort();
        if seen == truth {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(seen, truth, "the reflector does not get there");
}
