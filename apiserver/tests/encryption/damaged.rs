//! Values that cannot be read, because they are damaged or no objects, in the store of a server that runs.
//! `AllowUnsafeMalformedObjectDeletion` names them, and deletes them.

use std::time::{Duration, Instant};

use bytes::Bytes;
use registry_core::storage::mvcc::{Committed, Mvcc};
use registry_core::storage::testing::etcd::Etcd;

use apiserver::testing::TestServer;

use serde_json::json;

use crate::client::{Connection, Protocol};
use crate::{SECRETS, create, key, keys, request, send, write_config};

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

const OPTION: &str = "ignoreStoreReadErrorWithClusterBreakingPotential";

/// Starts a server that deletes values that cannot be read, with two such secrets: `a` and `b`.
async fn start_with_corrupt_secrets(etcd: &Etcd) -> (TestServer, tempfile::TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("encryption.yaml");
    write_config(&config, &keys("aesgcm", &[0]));
    let endpoint = etcd.options().endpoints[0].clone();
    let server = TestServer::builder()
        .etcd(&endpoint, "/registry")
        .flag(format!("--encryption-provider-config={}", config.display()))
        .flag("--feature-gates=AllowUnsafeMalformedObjectDeletion=true");
    let server = server.start().await.unwrap();
    let store = etcd.connect().await;
    for name in ["a", "b", "good"] {
        create(&server, name).await;
    }
    for name in ["a", "b"] {
        let mut value = store.get(&key(name)).await.unwrap().key_value.unwrap().value.to_vec();
        value.pop();
        write(&*store, &key(name), value.into()).await;
    }
    (server, directory)
}

#[tokio::test]
async fn a_list_names_what_cannot_be_read_and_the_option_deletes_it() {
    let etcd = Etcd::start().await.unwrap();
    let (server, _directory) = start_with_corrupt_secrets(&etcd).await;
    let listed = send(&server, "GET", SECRETS, "").await.json();
    assert_eq!(listed["message"], "failed to read one or more secrets from the storage");
    assert_eq!((&listed["code"], &listed["reason"]), (&500.into(), &"StorageReadError".into()));
    let error = |key: &str| {
        format!(
            "StorageError: corrupt object, Code: 7, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: data from \
             the storage is not transformable revision=0: cipher: message authentication failed"
        )
    };
    let cause = |name: &str| json!({"reason": "UnexpectedServerResponse", "message": error(&key(name)), "field": key(name)});
    let details = json!({"name": "list", "kind": "secrets", "causes": [cause("a"), cause("b")]});
    assert_eq!(listed["details"], details);

    let path = |name: &str| format!("{SECRETS}/{name}");
    let option = json!({ OPTION: true }).to_string();
    let expected = format!("Internal error occurred: {}", error("/secrets/default/a"));
    for method in ["GET", "DELETE"] {
        let refused = send(&server, method, &path("a"), "").await;
        assert_eq!((refused.status, &refused.json()["message"]), (500, &expected.as_str().into()));
    }
    for name in ["good", "absent"] {
        let refused = send(&server, "DELETE", &path(name), &option).await.json();
        assert_eq!(
            refused["message"],
            format!(
                "secrets \"{name}\" is invalid: {OPTION}: Invalid value: true: is exclusively used to delete corrupt \
                 object(s), try again by removing this option"
            )
        );
    }
    let collection = send(&server, "DELETE", SECRETS, &option).await;
    assert_eq!(collection.status, 422, "{}", collection.text());
    for name in ["a", "b"] {
        let deleted = send(&server, "DELETE", &path(name), &option).await;
        assert_eq!((deleted.status, &deleted.json()["details"]["kind"]), (200, &"Secret".into()));
        assert_eq!(send(&server, "GET", &path(name), "").await.status, 404);
    }
    caches_become(&server, &["secrets"], 1).await;
    assert_eq!(send(&server, "GET", SECRETS, "").await.json()["items"].as_array().unwrap().len(), 1);
    server.stop().await;
}

#[tokio::test]
async fn the_option_needs_a_right_of_its_own() {
    let etcd = Etcd::start().await.unwrap();
    let (server, _directory) = start_with_corrupt_secrets(&etcd).await;
    let namespace = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
    let role = json!({
        "metadata": {"name": "deletes"},
        "rules": [{"verbs": ["delete"], "apiGroups": [""], "resources": ["secrets"]}],
    });
    let binding = json!({
        "metadata": {"name": "deletes"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "deletes"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "croc"}],
    });
    for (resource, object) in [("roles", role), ("rolebindings", binding)] {
        let created = send(&server, "POST", &format!("{namespace}/{resource}"), &object.to_string()).await;
        assert_eq!(created.status, 201, "{}", created.text());
    }
    let mut connection = Connection::open(&server, Protocol::Http1).await;
    let mut delete = request("DELETE", &format!("{SECRETS}/a"), &json!({ OPTION: true }).to_string());
    delete.headers_mut().insert("impersonate-user", "croc".parse().unwrap());
    let refused = connection.send(delete).await;
    assert_eq!(
        (refused.status, refused.json()["message"].as_str().unwrap()),
        (
            403,
            "secrets \"a\" is forbidden: not permitted to do \"unsafe-delete-ignore-read-errors\", reason: "
        )
    );
    server.stop().await;
}
