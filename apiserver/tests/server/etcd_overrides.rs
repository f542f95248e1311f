//! Resources that are in an etcd of their own (`--etcd-servers-overrides`).

use apiserver::testing::{CallError, TestServer};
use registry_core::storage::mvcc::Mvcc as _;
use registry_core::storage::testing::etcd::Etcd;
use serde_json::{Value, json};

use crate::servers::until;

const EVENTS: &str = "/api/v1/namespaces/default/events";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn url(etcd: &Etcd) -> String {
    etcd.options().endpoints[0].clone()
}

async fn start(main: &Etcd, overrides: &str) -> TestServer {
    let builder = TestServer::builder().etcd(&url(main), "/registry").flag("--request-timeout=2s");
    builder.flag(format!("--etcd-servers-overrides={overrides}")).start().await.unwrap()
}

fn event(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Event", "metadata": { "name": name, "namespace": "default" },
        "involvedObject": { "namespace": "default" }, "reason": "Tested", "type": "Normal",
    })
}

fn lease(name: &str) -> Value {
    json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": name } })
}

fn map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } })
}

async fn get(server: &TestServer, path: &str) -> Result<Value, CallError> {
    server.call("GET", path, &Value::Null).await
}

/// Returns the text of a health check, which is not JSON.
async fn checks(server: &TestServer, path: &str) -> String {
    get(server, path).await.unwrap_err().to_string()
}

/// Returns whether an etcd has this key.
async fn has(etcd: &Etcd, key: &str) -> bool {
    etcd.connect().await.get(key).await.unwrap().key_value.is_some()
}

#[tokio::test]
async fn events_and_leases_are_in_the_etcd_that_the_flag_names() {
    let (main, other) = (Etcd::start().await.unwrap(), Etcd::start().await.unwrap());
    let server =
        start(&main, &format!("/events#{0},coordination.k8s.io/*#{0},/zorks#{0}", url(&other))).await;
    for (path, object) in [(EVENTS, event("a")), (LEASES, lease("a")), (MAPS, map("a"))] {
        server.call("POST", path, &object).await.unwrap();
        let listed = get(&server, path).await.unwrap();
        let names: Vec<_> =
            listed["items"].as_array().unwrap().iter().map(|item| &item["metadata"]["name"]).collect();
        assert!(names.contains(&&json!("a")), "{path}: {names:?}");
    }
    // The same event by the path of its other group.
    let events = get(&server, "/apis/events.k8s.io/v1/namespaces/default/events/a").await.unwrap();
    assert_eq!(events["reason"], "Tested");
    for (key, is_elsewhere) in [
        ("/registry/events/default/a", true),
        ("/registry/leases/default/a", true),
        ("/registry/configmaps/default/a", false),
    ] {
        assert_eq!((has(&main, key).await, has(&other, key).await), (!is_elsewhere, is_elsewhere), "{key}");
    }
    let checks = checks(&server, "/livez?verbose").await;
    assert!(checks.contains("[+]etcd-override-0 ok"), "{checks}");
    assert!(!checks.contains("etcd-override-1"), "equal servers are one cluster: {checks}");
    server.stop().await;
}

#[tokio::test]
async fn only_the_resources_of_an_etcd_that_is_gone_fail() {
    let (main, mut other) = (Etcd::start().await.unwrap(), Etcd::start().await.unwrap());
    let server = start(&main, &format!("/events#{}", url(&other))).await;
    server.call("POST", EVENTS, &event("a")).await.unwrap();
    other.kill();
    server.call("POST", MAPS, &map("b")).await.unwrap();
    let refused = server.call("POST", EVENTS, &event("b")).await.unwrap_err();
    assert!(!refused.to_string().is_empty());
    until("the check stays well", async || {
        let checks = checks(&server, "/readyz?verbose").await;
        checks.contains("[-]etcd-override-readiness-0").then_some(())
    })
    .await;
    assert!(checks(&server, "/readyz?verbose").await.contains("[+]etcd-readiness ok"));
    other.restart().await.unwrap();
    until("events do not come back", async || {
        server.call("POST", EVENTS, &event("c")).await.ok()?;
        get(&server, &format!("{EVENTS}/a")).await.ok()
    })
    .await;
    server.stop().await;
}
