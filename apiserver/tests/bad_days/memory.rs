//! What a server takes of memory: while it starts, and when clients write more than its caches may hold.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::{StreamExt as _, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, ListParams, PostParams, WatchEvent, WatchParams};
use registry_core::storage::embedded::{Embedded, EmbeddedOptions};
use registry_core::storage::mvcc::Mvcc;
use registry_core::storage::testing::etcd::Etcd;

use crate::process::Process;
use crate::{PATIENCE, config_map};

const MEBIBYTE: usize = 1024 * 1024;

/// How many objects there are before a restart, and the size of one.
const OBJECTS: u32 = 30_000;
const OBJECT_BYTES: usize = 1_400;

/// What a server takes of memory without the files it maps, in bytes: now, and at its peak.
#[derive(Clone, Copy, Debug)]
struct Memory {
    now: usize,
    peak: usize,
}

impl Memory {
    fn of(process: &Process) -> Self {
        let status = std::fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
        let bytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1024
        };
        Self { now: bytes("RssAnon"), peak: bytes("VmHWM") - bytes("RssFile") }
    }
}

/// Writes config maps as a server has them at rest.
async fn fill(engine: Arc<dyn Mvcc>) {
    let text = "x".repeat(OBJECT_BYTES - 300);
    let write = |number: u32| {
        let (engine, name) = (engine.clone(), format!("cm-{number:06}"));
        let value = format!(
            r#"{{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"creationTimestamp":"2026-01-01T00:00:00Z","name":"{name}","namespace":"default","uid":"7b3a4a38-0000-4000-8000-000000{number:06}"}},"data":{{"text":"{text}"}}}}"#
        );
        async move {
            let key = format!("/registry/configmaps/default/{name}");
            engine.put_if(&key, 0, value.into(), None).await.unwrap();
        }
    };
    stream::iter(0..OBJECTS).map(write).buffer_unordered(256).collect::<()>().await;
}

/// Starts a server, and asserts that the start takes little more than what the server then keeps.
async fn assert_start_is_frugal(directory: &Path, flags: &[&str]) {
    let process = Process::start_with(directory, flags);
    let maps = process.config_maps().await;
    let page = maps.list(&ListParams::default().limit(1).match_any()).await.unwrap();
    assert_eq!(page.items.len(), 1);
    let begun = Instant::now();
    loop {
        let all = maps.list_metadata(&ListParams::default().limit(OBJECTS + 100)).await;
        if all.is_ok_and(|all| all.items.len() >= OBJECTS as usize) {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "the cache is not filled");
    }
    let peak = Memory::of(&process).peak;
    // What is free goes back to the operating system after a while.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let Memory { now, .. } = Memory::of(&process);
    println!("{} MiB while starting, {} MiB after", peak / MEBIBYTE, now / MEBIBYTE);
    assert!(now > OBJECTS as usize * OBJECT_BYTES, "the objects are cached: {now}");
    assert!(peak * 10 <= now * 13, "{} MiB while starting, {} MiB after", peak / MEBIBYTE, now / MEBIBYTE);
    process.kill();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_takes_little_more_memory_than_the_server_that_was_killed() {
    let directory = tempfile::tempdir().unwrap();
    let engine = Embedded::open(EmbeddedOptions::new(directory.path().join("storage"))).unwrap();
    fill(engine.clone()).await;
    engine.close().await;
    assert_start_is_frugal(directory.path(), &[]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_start_over_etcd_takes_little_more_memory_than_the_server_that_was_killed() {
    let etcd = Etcd::start().await.unwrap_or_else(|error| panic!("{error}"));
    fill(etcd.connect().await).await;
    let directory = tempfile::tempdir().unwrap();
    assert_start_is_frugal(directory.path(), &["--etcd-servers", &etcd.options().endpoints[0]]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_clients_write_beyond_the_caches_budget_is_not_held() {
    const LARGE: usize = 120;
    let directory = tempfile::tempdir().unwrap();
    let process = Process::start_with(directory.path(), &["--watch-cache-memory=4"]);
    let maps = process.config_maps().await;
    let before = Memory::of(&process).now;
    let text = "x".repeat(MEBIBYTE);
    let create = |number: usize| {
        let (maps, map) = (maps.clone(), config_map(&format!("large-{number:03}"), &text));
        async move { maps.create(&PostParams::default(), &map).await.unwrap() }
    };
    let mut watch = maps.watch(&WatchParams::default(), "0").await.unwrap().boxed();
    stream::iter(0..LARGE).map(create).buffer_unordered(4).collect::<Vec<_>>().await;
    let five = maps.list(&ListParams::default().limit(5)).await.unwrap();
    assert_eq!((five.items.len(), five.metadata.continue_.is_some()), (5, true));
    let listed = maps.list(&ListParams::default()).await.unwrap();
    let large = |map: &ConfigMap| map.metadata.name.as_ref().is_some_and(|name| name.starts_with("large-"));
    assert_eq!(listed.items.iter().filter(|map| large(map)).count(), LARGE);
    drop(listed);
    assert!(maps.list_metadata(&ListParams::default()).await.unwrap().items.len() >= LARGE);
    let mut seen = 0;
    while seen < LARGE {
        let event = tokio::time::timeout(PATIENCE, watch.next()).await.unwrap().unwrap().unwrap();
        let WatchEvent::Added(map) = event else { panic!("{event:?}") };
        seen += usize::from(large(&map));
    }
    let growth = Memory::of(&process).peak.saturating_sub(before);
    println!("{} MiB more at the peak, {LARGE} MiB written", growth / MEBIBYTE);
    assert!(growth < 90 * MEBIBYTE, "{} MiB", growth / MEBIBYTE);
    delete_all(&maps).await;
    process.kill();
}

async fn delete_all(maps: &Api<ConfigMap>) {
    maps.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    let left = maps.list_metadata(&ListParams::default()).await.unwrap().items;
    assert!(
        left.iter().all(|map| map.metadata.name.as_ref().is_some_and(|name| !name.starts_with("large-")))
    );
}
