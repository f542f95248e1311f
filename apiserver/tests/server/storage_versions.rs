//! StorageVersions, in which the servers of a cluster say how they store each resource.

use std::collections::BTreeMap;

use apiserver::testing::{TestServer, TestServerBuilder};
use registry_core::storage::testing::etcd::Etcd;
use serde_json::{Value, json};

use crate::client::{Connection, Protocol};
use crate::servers::start;

const GATE: &str = "--feature-gates=StorageVersionAPI=true";
const SERVED: &str = "--runtime-config=internal.apiserver.k8s.io/v1alpha1=true,api/beta=true";
const VERSIONS: &str = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const CHECK: &str = "/readyz/poststarthook/built-in-resources-storage-version-updater";

/// Returns the StorageVersions by name.
async fn versions(server: &TestServer) -> BTreeMap<String, Value> {
    let list = server.call("GET", VERSIONS, &Value::Null).await.unwrap();
    let items = list["items"].as_array().unwrap().iter();
    items.map(|item| (item["metadata"]["name"].as_str().unwrap().to_owned(), item.clone())).collect()
}

/// Returns the names of the Leases of the servers that run.
async fn identities(server: &TestServer) -> Vec<String> {
    let list = server.call("GET", LEASES, &Value::Null).await.unwrap();
    let names =
        list["items"].as_array().unwrap().iter().map(|item| item["metadata"]["name"].as_str().unwrap());
    names.filter(|name| name.starts_with("apiserver-")).map(str::to_owned).collect()
}

async fn status(server: &TestServer, path: &str) -> u16 {
    let mut connection = Connection::open(server, Protocol::Http2).await;
    connection.get(path, Some("admin-token")).await.status
}

#[tokio::test]
async fn a_server_says_how_it_stores_each_resource() {
    let server = start(&[GATE, SERVED]).await;
    let versions = versions(&server).await;
    let [own] = &identities(&server).await[..] else { panic!("one server") };
    let report = |name: &str| {
        let version = versions.get(name).unwrap_or_else(|| panic!("{name} in {:?}", versions.keys()));
        let [report] = &version["status"]["storageVersions"].as_array().unwrap()[..] else {
            panic!("one report: {version}")
        };
        assert_eq!(&report["apiServerID"], own);
        assert_eq!(version["status"]["commonEncodingVersion"], report["encodingVersion"]);
        json!([report["encodingVersion"], report["decodableVersions"], report["servedVersions"]])
    };
    for (name, expected) in [
        ("core.configmaps", json!(["v1", ["v1"], ["v1"]])),
        ("core.events", json!(["v1", ["v1", "events.k8s.io/v1"], ["v1"]])),
        ("apps.deployments", json!(["apps/v1", ["apps/v1", "apps/v1beta2", "apps/v1beta1"], ["apps/v1"]])),
        (
            "autoscaling.horizontalpodautoscalers",
            json!([
                "autoscaling/v2",
                ["autoscaling/v2", "autoscaling/v1"],
                ["autoscaling/v1", "autoscaling/v2"]
            ]),
        ),
        (
            "apiextensions.k8s.io.customresourcedefinitions",
            json!([
                "apiextensions.k8s.io/v1",
                ["apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"],
                ["apiextensions.k8s.io/v1"],
            ]),
        ),
        (
            "internal.apiserver.k8s.io.storageversions",
            json!([
                "internal.apiserver.k8s.io/v1alpha1",
                ["internal.apiserver.k8s.io/v1alpha1"],
                ["internal.apiserver.k8s.io/v1alpha1"],
            ]),
        ),
    ] {
        let found = report(name);
        assert_eq!(found, expected, "{name}");
    }
    for name in ["core.bindings", "authentication.k8s.io.tokenreviews", "events.k8s.io.events"] {
        assert_eq!(versions.get(name), None, "{name}");
    }
    let condition = &versions["core.configmaps"]["status"]["conditions"][0];
    assert_eq!(
        (&condition["type"], &condition["status"], &condition["reason"], &condition["message"]),
        (
            &json!("AllEncodingVersionsEqual"),
            &json!("True"),
            &json!("CommonEncodingVersionSet"),
            &json!("Common encoding version set")
        )
    );
    assert_eq!(status(&server, CHECK).await, 200);
    let map = json!({ "metadata": { "name": "m" } });
    server.call("POST", CONFIG_MAPS, &map).await.unwrap();
    server.stop().await;
}

#[tokio::test]
async fn nothing_waits_without_the_gate_or_the_kind() {
    for flags in [&[GATE][..], &[SERVED], &["--feature-gates=AllAlpha=true"]] {
        let server = start(flags).await;
        assert_eq!(status(&server, CHECK).await, 404, "{flags:?}");
        let map = json!({ "metadata": { "name": "m" } });
        server.call("POST", CONFIG_MAPS, &map).await.unwrap();
        if flags.contains(&SERVED) {
            assert_eq!(versions(&server).await, BTreeMap::new());
        }
        server.stop().await;
    }
}

/// Starts a server of this name over an etcd.
async fn start_named(etcd: &Etcd, name: &'static str, flags: &[&str]) -> TestServer {
    let builder = TestServer::builder().etcd(&etcd.options().endpoints[0], "/registry").without_controllers();
    let builder = builder.customize(|server| server.host_name(name)).flag(GATE).flag(SERVED);
    flags.iter().copied().fold(builder, TestServerBuilder::flag).start().await.unwrap()
}

#[tokio::test]
async fn servers_of_two_releases_do_not_agree_on_all_versions() {
    let etcd = Etcd::start().await.unwrap();
    let first = start_named(&etcd, "first", &[]).await;
    let second =
        start_named(&etcd, "second", &["--emulated-version=1.34", "--min-compatibility-version=1.33"]);
    let second = second.await;
    let versions = versions(&first).await;
    let summary = |name: &str| {
        let status = &versions[name]["status"];
        let reports = status["storageVersions"].as_array().unwrap().iter();
        let encodings: Vec<&Value> = reports.map(|report| &report["encodingVersion"]).collect();
        json!([encodings, status["commonEncodingVersion"], status["conditions"][0]["status"]])
    };
    assert_eq!(summary("apps.deployments"), json!([["apps/v1", "apps/v1"], "apps/v1", "True"]));
    assert_eq!(
        summary("resource.k8s.io.deviceclasses"),
        json!([["resource.k8s.io/v1", "resource.k8s.io/v1beta2"], null, "False"])
    );
    assert_eq!(identities(&first).await.len(), 2);
    second.stop().await;
    // Whoever collects what servers have left behind goes by their Leases.
    assert_eq!(identities(&first).await.len(), 1);
    first.stop().await;
}
