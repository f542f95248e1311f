//! The memory of a server that starts over a full store: in a container sized for the running server, a start that
//! needs more memory never ends.

use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::api::ListParams;
use registry_core::storage::embedded::{Embedded, EmbeddedOptions};
use registry_core::storage::mvcc::Mvcc;
use registry_core::storage::testing::etcd::Etcd;
use serde_json::json;
use tempfile::TempDir;

use crate::process::Process;

const OBJECTS: usize = 25_000;

const OBJECT_BYTES: usize = 1_500;

/// Maximum peak while a server starts, in percent of its memory afterwards.
const PEAK_PERCENT: usize = 130;

/// Time after which the memory of a start has been given back.
const SETTLED: Duration = Duration::from_secs(5);

/// Writes config maps as another server did.
async fn fill(engine: &dyn Mvcc) {
    let text = "x".repeat(OBJECT_BYTES - 200);
    let writes = (0..OBJECTS).map(|number| {
        let name = format!("m{number:06}");
        let map = json!({
            "kind": "ConfigMap", "apiVersion": "v1",
            "metadata": {"name": name, "namespace": "default", "uid": name, "labels": {"number": number.to_string()}},
            "data": {"number": number.to_string(), "text": text},
        });
        let key = format!("/registry/configmaps/default/{name}");
        async move { engine.put_if(&key, 0, Bytes::from(map.to_string()), None).await }
    });
    stream::iter(writes).buffer_unordered(256).try_collect::<Vec<_>>().await.unwrap();
}

/// Starts a server and checks that it has all objects, and that its start has not taken much more memory.
async fn check_start(store: &str, data: &TempDir, flags: &[&str]) {
    let server = Process::start_with(data.path(), flags);
    server.ready(store).await;
    let maps = server.config_maps().await;
    let page = maps.list(&ListParams::default().limit(1)).await.unwrap();
    let remaining = page.metadata.remaining_item_count.and_then(|count| usize::try_from(count).ok());
    assert_eq!(remaining, Some(OBJECTS - 1), "{store}");
    tokio::time::sleep(SETTLED).await;
    let (peak, settled) = (server.peak_bytes(), server.resident_bytes());
    println!("{store}: peak {} MiB, then {} MiB", peak >> 20, settled >> 20);
    assert!(settled > OBJECTS * OBJECT_BYTES, "{store}: {settled} bytes cannot hold the objects");
    assert!(peak * 100 <= settled * PEAK_PERCENT, "{store}: the start took {peak} bytes, {settled} are left");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_over_a_full_embedded_store_takes_little_more_memory_than_the_server() {
    let data = TempDir::new().unwrap();
    // Two servers: the log of the first is replayed, and what that left behind is read by the second.
    Process::start(data.path()).ready("the first start").await;
    let engine = Embedded::open(EmbeddedOptions::new(data.path().join("storage"))).unwrap();
    fill(&*engine).await;
    engine.close().await;
    drop(engine);
    check_start("embedded, from its journal", &data, &[]).await;
    check_start("embedded, from its tables", &data, &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_over_a_full_etcd_takes_little_more_memory_than_the_server() {
    let etcd = Etcd::start().await.unwrap();
    let data = TempDir::new().unwrap();
    let servers = format!("--etcd-servers={}", etcd.options().endpoints[0]);
    fill(&*etcd.connect().await).await;
    check_start("etcd", &data, &[&servers]).await;
}
