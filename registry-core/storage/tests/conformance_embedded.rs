//! Runs the suites on the embedded engine: on disk, in memory, and behind the watch cache.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation is a failed test"
)]

use std::sync::Arc;
use std::time::Duration;

use registry_storage::Interface;
use registry_storage::cacher::{CacheBudget, Cacher, CacherOptions};
use registry_storage::embedded::{Embedded, EmbeddedOptions};
use registry_storage::mvcc::Mvcc;
use registry_storage::testing::{
    EngineFixture, Fixture, conformance, contract, fault_tolerance, widget_store,
};

#[tokio::test(flavor = "multi_thread")]
async fn the_store_over_the_embedded_engine_keeps_every_guarantee() {
    let directory = tempfile::tempdir().unwrap();
    let engine = Embedded::open(EmbeddedOptions::new(directory.path())).unwrap();
    conformance(async |prefix| {
        let engine: Arc<dyn Mvcc> = engine.clone();
        Fixture { store: widget_store(Arc::clone(&engine)), engine, prefix }
    })
    .await;
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_embedded_engine_keeps_every_promise() {
    let directory = tempfile::tempdir().unwrap();
    let engine = Embedded::open(EmbeddedOptions::new(directory.path())).unwrap();
    contract(async |prefix| EngineFixture { engine: engine.clone(), prefix }).await;
    engine.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_engine_without_a_disk_keeps_them_too() {
    let engine = Embedded::in_memory();
    contract(async |prefix| EngineFixture { engine: engine.clone(), prefix }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_stays_consistent_under_faults() {
    let engine = Embedded::in_memory();
    for seed in 1..=3 {
        fault_tolerance(engine.clone(), &format!("/orlop-test/faults/{seed}/"), seed).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_watch_cache_keeps_every_guarantee_of_the_store_below() {
    let engine = Embedded::in_memory();
    conformance(async |prefix| {
        let engine: Arc<dyn Mvcc> = engine.clone();
        let store = cached(widget_store(Arc::clone(&engine)), &prefix);
        Fixture { store, engine, prefix }
    })
    .await;
}

fn cached(store: Arc<dyn Interface>, prefix: &str) -> Arc<dyn Interface> {
    Cacher::new(
        store,
        CacherOptions {
            prefix: prefix.to_owned(),
            indexes: &[],
            budget: Arc::new(CacheBudget::new(64 << 20)),
            history_events: 10_000,
            bookmark_period: Duration::from_secs(1),
        },
    )
}
