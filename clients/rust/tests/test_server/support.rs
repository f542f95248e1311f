//! Objects and patience.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{ListParams, PostParams};
use orlop_test::TestServer;
use serde_json::json;

/// Maximum time until something comes true.
const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) fn object<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> T {
    serde_json::from_value(value).unwrap()
}

pub(crate) fn config_map(name: &str, value: &str) -> ConfigMap {
    object(json!({"metadata": {"name": name}, "data": {"value": value}}))
}

pub(crate) fn maps(server: &TestServer) -> Api<ConfigMap> {
    Api::default_namespaced(server.client())
}

pub(crate) async fn create(server: &TestServer, name: &str, value: &str) -> ConfigMap {
    maps(server).create(&PostParams::default(), &config_map(name, value)).await.unwrap()
}

/// Returns the names and values of the config maps in `default`, without the certificate authority of pods.
pub(crate) async fn present(server: &TestServer) -> Vec<(String, String)> {
    let listed = maps(server).list(&ListParams::default()).await.unwrap();
    let known = listed.items.iter().filter(|map| map.metadata.name.as_deref() != Some("kube-root-ca.crt"));
    known.map(named).collect()
}

/// Returns the name and the value of a config map.
pub(crate) fn named(map: &ConfigMap) -> (String, String) {
    let value = map.data.as_ref().and_then(|data| data.get("value")).cloned();
    (map.metadata.name.clone().unwrap(), value.unwrap_or_default())
}

pub(crate) fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

pub(crate) fn code(error: &kube::Error) -> u16 {
    match error {
        kube::Error::Api(status) => status.code,
        other => panic!("{other}"),
    }
}

/// Waits until something is true.
pub(crate) async fn until(text: &str, is_true: impl AsyncFn() -> bool) {
    let begun = Instant::now();
    while !is_true().await {
        assert!(begun.elapsed() < PATIENCE, "in vain: {text}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
