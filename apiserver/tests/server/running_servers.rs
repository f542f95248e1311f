//! The servers of a cluster: the endpoints that they publish, and their leases.

use apiserver::testing::TestServer;
use registry_core::storage::testing::etcd::Etcd;
use serde_json::{Value, json};

use crate::servers::{get, start, start_over, until};

const ENDPOINTS: &str = "/api/v1/namespaces/default/endpoints/kubernetes";
const SLICE: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";
/// A time before which leases have expired.
const OLD: &str = "2020-01-01T00:00:00.000000Z";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";

/// Returns the addresses that the endpoints and the slice of the servers' service have.
async fn published(server: &TestServer) -> (Vec<Value>, Vec<Value>) {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let endpoints = get(server, ENDPOINTS).await.unwrap_or_default();
    let slice = get(server, SLICE).await.unwrap_or_default();
    let of_endpoints =
        list(&endpoints["subsets"][0]["addresses"]).iter().map(|entry| entry["ip"].clone()).collect();
    let of_slice = list(&slice["endpoints"]).iter().map(|entry| entry["addresses"][0].clone()).collect();
    (of_endpoints, of_slice)
}

#[tokio::test]
async fn the_servers_that_run_are_published_and_show_their_leases() {
    for (reconciler, count) in [("lease", 3), ("master-count", 2)] {
        let etcd = Etcd::start().await.unwrap();
        let reconciler = format!("--endpoint-reconciler-type={reconciler}");
        let mut servers = Vec::new();
        for number in 1..=count {
            let address = format!("--advertise-address=192.0.2.{number}");
            let servers_count = format!("--apiserver-count={count}");
            servers.push(start_over(&etcd, &[&address, &reconciler, &servers_count]).await);
        }
        let expected = |numbers: std::ops::RangeInclusive<i32>| {
            let addresses: Vec<Value> = numbers.map(|number| json!(format!("192.0.2.{number}"))).collect();
            (addresses.clone(), addresses)
        };
        for server in &servers {
            let all = expected(1..=count);
            until("not all servers", async || (published(server).await == all).then_some(())).await;
        }
        let leases = get(&servers[0], LEASES).await.unwrap();
        let lease = &leases["items"][0];
        assert!(lease["metadata"]["name"].as_str().unwrap().starts_with("apiserver-"), "{leases}");
        assert_eq!(lease["metadata"]["labels"]["apiserver.kubernetes.io/identity"], "kube-apiserver");
        let last = servers.pop().unwrap();
        last.stop().await;
        let rest = expected(1..=count - 1);
        until("the last one stays", async || (published(&servers[0]).await == rest).then_some(())).await;
        for server in servers {
            server.stop().await;
        }
    }
}

#[tokio::test]
async fn expired_leases_of_servers_are_collected() {
    let server = start(&[]).await;
    let lease = |name: &str, renewed: &str, label: &str| {
        json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": { "name": name, "labels": { "apiserver.kubernetes.io/identity": label } },
            "spec": { "holderIdentity": "x", "leaseDurationSeconds": 3600, "renewTime": renewed },
        })
    };
    for lease in [
        lease("expired", OLD, "kube-apiserver"),
        lease("fresh", "2999-01-01T00:00:00.000000Z", "kube-apiserver"),
        lease("other", OLD, "something"),
    ] {
        server.call("POST", LEASES, &lease).await.unwrap();
    }
    let path = format!("{LEASES}/expired");
    until("the lease stays", async || get(&server, &path).await.is_none().then_some(())).await;
    for name in ["fresh", "other"] {
        assert!(get(&server, &format!("{LEASES}/{name}")).await.is_some(), "{name}");
    }
    server.stop().await;
}
