//! Values that cannot be read, because they are damaged or no objects, in the store of a server that runs.

use std::time::{Duration, Instant};

use bytes::Bytes;
use registry_core::storage::mvcc::{Committed, Mvcc};
use registry_core::storage::testing::etcd::Etcd;

use apiserver::testing::TestServer;

use crate::{create, key, keys, send, write_config};

const PATIENCE: Duration = Duration::from_mins(1);

/// Overwrites a value in etcd, or writes a new one.
async fn write(etcd: &dyn Mvcc, key: &str, value: Bytes) {
    let present = etcd.get(key).await.unwrap().key_value.map_or(0, |present| present.mod_revision);
    let written = etcd.put_if(key, present, value, None).await.unwrap();
    assert!(matches!(written, Committed::At(_)), "{key}");
}

/// Waits until the watch caches of these resources are filled, or are not.
async fn caches_become(server: &TestServer, resources: &[&str], filled: u8) {
    let begun = Instant::now();
    loop {
        let metrics = send(server, "GET", "/metrics", "").await.text();
        let is = |resource: &&str| {
            let label = format!("resource=\"{resource}\"}} {filled}");
            metrics.lines().any(|line| {
                line.starts_with("orlop_watch_cache_is_filled{") && line.ends_with(label.as_str())
            })
        };
        if resources.iter().all(is) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "the caches of {resources:?} do not become {filled}: {metrics}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn values_that_cannot_be_read_do_not_take_a_running_server_out_of_service() {
    let etcd = Etcd::start().await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("encryption.yaml");
    write_config(&config, &keys("aesgcm", &[0]));
    let endpoint = etcd.options().endpoints[0].clone();
    let flag = format!("--encryption-provider-config={}", config.display());
    let server = TestServer::builder().etcd(&endpoint, "/registry").flag(flag).start().await.unwrap();
    create(&server, "a").await;
    create(&server, "b").await;
    let store = etcd.connect().await;
    let encrypted = store.get(&key("a")).await.unwrap().key_value.unwrap().value;
    let mut damaged = encrypted.to_vec();
    *damaged.last_mut().unwrap() ^= 1;

    // An encrypted value of a user, and objects that informers follow.
    write(&*store, &key("a"), damaged.into()).await;
    write(&*store, "/registry/configmaps/default/garbage", Bytes::from_static(b"k8s\0garbage")).await;
    write(&*store, "/registry/clusterroles/garbage", Bytes::from_static(b"{\"kind\":")).await;
    let resources = ["secrets", "configmaps", "clusterroles"];
    caches_become(&server, &resources, 0).await;
    for _ in 0..3 {
        let ready = send(&server, "GET", "/readyz?verbose", "").await;
        assert_eq!(ready.status, 200, "{}", ready.text());
        let health = send(&server, "GET", "/healthz?verbose", "").await;
        assert_eq!(health.status, 200, "{}", health.text());
    }
    // What can be read and written is served.
    let path = "/api/v1/namespaces/default/secrets";
    assert_eq!(send(&server, "GET", &format!("{path}/b"), "").await.status, 200);
    assert_eq!(send(&server, "GET", &format!("{path}/a"), "").await.status, 500);
    create(&server, "c").await;
    assert_eq!(send(&server, "GET", "/api/v1/namespaces", "").await.status, 200);

    // Repaired values are taken in without a restart.
    write(&*store, &key("a"), encrypted).await;
    for garbage in ["/registry/configmaps/default/garbage", "/registry/clusterroles/garbage"] {
        let present = store.get(garbage).await.unwrap().key_value.unwrap();
        store.delete_if(garbage, present.mod_revision).await.unwrap();
    }
    caches_become(&server, &resources, 1).await;
    assert_eq!(send(&server, "GET", path, "").await.status, 200);
    server.stop().await;
}
