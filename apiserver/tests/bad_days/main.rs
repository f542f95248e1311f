//! Failures of a whole server and its clients: a server that is killed or restarted under a thousand
//! reflectors, an etcd that dies, hangs, loses data or is not available yet, a full disk, clients that stall,
//! ports and directories that are in use, directories that cannot be written.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "test code")]

mod beside_command;
mod descriptors;
mod disk;
mod each_syscall;
mod ending;
mod etcd;
mod http2;
mod killed;
mod log;
mod maintenance;
mod memory;
mod moving;
mod process;
mod proxy;
mod reflectors;
mod stalled;
mod start;
mod temporary;

use std::path::Path;
use std::time::{Duration, Instant};

use apiserver::testing::{TestServer, TestServerBuilder};
use futures::StreamExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, WatchEvent, WatchParams};
use kube::runtime::reflector::Store;
use kube::runtime::utils::Backoff;
use kube::runtime::{WatchStreamExt as _, reflector, watcher};
use serde_json::json;
use tokio_util::task::AbortOnDropHandle;

/// Maximum time for expected events on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// Time between the attempts of a reflector.
const REFLECTOR_PAUSE: Duration = Duration::from_millis(800);

/// Pauses of a reflector that stay short. Those of controllers grow with each failure to 30 s and more, so that a reflector
/// that met six failures on a busy machine would be later than [`PATIENCE`] without a fault of the server.
struct ShortPauses;

/// Returns a server over the etcd at this URL.
fn over_etcd(url: &str) -> TestServerBuilder {
    TestServer::builder().etcd(url, "/registry")
}

/// Returns a client without retries, which shows the server's responses.
async fn client(kubeconfig: &Path) -> kube::Client {
    let kubeconfig = kube::config::Kubeconfig::read_from(kubeconfig).unwrap();
    let options = kube::config::KubeConfigOptions::default();
    let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
    config.default_retry = false;
    kube::Client::try_from(config).unwrap()
}

async fn config_maps(server: &TestServer) -> Api<ConfigMap> {
    Api::default_namespaced(client(server.kubeconfig_path()).await)
}

fn config_map(name: &str, value: &str) -> ConfigMap {
    serde_json::from_value(json!({"metadata": {"name": name}, "data": {"value": value}})).unwrap()
}

/// Returns a reflector, as controllers run one, with shorter pauses.
fn reflect(maps: &Api<ConfigMap>) -> (Store<ConfigMap>, AbortOnDropHandle<()>) {
    let (reader, writer) = reflector::store();
    let watched = watcher(maps.clone(), watcher::Config::default());
    let mut events = reflector(writer, watched.backoff(ShortPauses)).boxed();
    let task = tokio::spawn(async move { while events.next().await.is_some() {} });
    (reader, AbortOnDropHandle::new(task))
}

/// Waits until a reflector has the objects that the server lists.
async fn converge(maps: &Api<ConfigMap>, reader: &Store<ConfigMap>) {
    let version = |map: &ConfigMap| (map.metadata.name.clone(), map.metadata.resource_version.clone());
    let begun = Instant::now();
    loop {
        // A list that waits for the watch cache may exceed the time of its request on a busy machine.
        let listed = match maps.list(&ListParams::default()).await {
            Ok(listed) => listed,
            Err(kube::Error::Api(status)) if status.code == 504 && begun.elapsed() < PATIENCE => continue,
            Err(error) => panic!("the server does not list: {error}"),
        };
        let mut truth: Vec<_> = listed.iter().map(version).collect();
        let mut seen: Vec<_> = reader.state().iter().map(|map| version(map)).collect();
        truth.sort();
        seen.sort();
        if seen == truth {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "the reflector does not get there: {seen:?} is not {truth:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Returns the result of a watch from a revision: the code of its error event; `None` for another event.
async fn watched(maps: &Api<ConfigMap>, version: &str) -> Option<u16> {
    let events = maps.watch(&WatchParams::default(), version).await.unwrap();
    let next = tokio::time::timeout(PATIENCE, events.boxed().next()).await.expect("a watch does not hang");
    match next.expect("a watch says why it ends").unwrap() {
        WatchEvent::Error(status) => Some(status.code),
        _ => None,
    }
}

// === impl ShortPauses ===

impl Iterator for ShortPauses {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(REFLECTOR_PAUSE)
    }
}

impl Backoff for ShortPauses {
    fn reset(&mut self) {}
}
