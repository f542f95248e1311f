//! The controllers give way while kube-controller-manager runs, and go on when the server is started again.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use apiserver::testing::TestServer;

use crate::world::{World, map, owner};

const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";

/// Returns the Lease that kube-controller-manager has renewed a while ago.
fn lease(ago: SignedDuration, duration_seconds: i64) -> Value {
    let renewed = (Timestamp::now() - ago).strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
    json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": "kube-controller-manager", "namespace": "kube-system"},
        "spec": {"holderIdentity": "manager", "renewTime": renewed, "leaseDurationSeconds": duration_seconds},
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn kube_controller_manager_has_precedence_as_long_as_it_runs() {
    let world = World::start().await;
    world.settle().await;
    world.create(LEASES, &lease(SignedDuration::ZERO, 2)).await;
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    let root = world.own("root", &[]).await;
    world.own("owned", &[owner(&root)]).await;
    world.delete(&map("root")).await;
    world.create_namespace("own").await;
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    assert!(world.get(&map("owned")).await.is_some());
    let account = "/api/v1/namespaces/own/serviceaccounts/default";
    assert_eq!(world.get(account).await, None);
    // The Lease expires: what was missed is done.
    world.gone(&map("owned")).await;
    world.becomes(account, Value::is_object).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_has_expired_or_is_given_up_holds_nothing() {
    let world = World::start().await;
    world.create(LEASES, &lease(SignedDuration::from_mins(1), 15)).await;
    world.settle().await;
    let path = format!("{LEASES}/kube-controller-manager");
    world.merge(&path, &lease(SignedDuration::ZERO, 3600)).await;
    tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    world.merge(&path, &json!({"spec": {"holderIdentity": ""}})).await;
    world.settle().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deletions_are_completed_after_a_restart() {
    let server = TestServer::builder().without_controllers().start().await.unwrap();
    let directory = server.directory().clone();
    let world = World(server);
    let root = world.own("root", &[]).await;
    world.own("owned", &[owner(&root)]).await;
    world.delete(&map("root")).await;
    world.create_namespace("own").await;
    world.own_in("own", "a", &[], &[]).await;
    world.delete("/api/v1/namespaces/own").await;
    let orphaned = world.own("orphaned", &[]).await;
    world.own("orphan", &[owner(&orphaned)]).await;
    world.delete_by(&map("orphaned"), "Orphan").await;
    world.0.stop().await;
    let world = World(TestServer::builder().directory(&directory).start().await.unwrap());
    world.gone(&map("owned")).await;
    world.gone("/api/v1/namespaces/own").await;
    world.gone(&map("orphaned")).await;
    let orphan = world.get(&map("orphan")).await.unwrap();
    assert_eq!(orphan["metadata"]["ownerReferences"], Value::Null);
}
