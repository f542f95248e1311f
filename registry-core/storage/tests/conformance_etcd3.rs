//! Runs the suites on a real etcd.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation is a failed test"
)]

use std::sync::Arc;

use registry_storage::mvcc::Mvcc;
use registry_storage::testing::etcd::Etcd;
use registry_storage::testing::{
    EngineFixture, Fixture, conformance, contract, fault_tolerance, widget_store,
};

#[tokio::test(flavor = "multi_thread")]
async fn the_store_over_etcd_keeps_every_guarantee() {
    let etcd = Etcd::start().await.unwrap_or_else(|error| panic!("{error}"));
    let engine = etcd.connect().await;
    conformance(async |prefix| {
        let engine: Arc<dyn Mvcc> = engine.clone();
        Fixture { store: widget_store(Arc::clone(&engine)), engine, prefix }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn etcd_keeps_every_promise_of_an_engine() {
    let etcd = Etcd::start().await.unwrap_or_else(|error| panic!("{error}"));
    let engine = etcd.connect().await;
    contract(async |prefix| EngineFixture { engine: engine.clone(), prefix }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_stays_consistent_under_faults() {
    let etcd = Etcd::start().await.unwrap_or_else(|error| panic!("{error}"));
    let engine = etcd.connect().await;
    for seed in 1..=3 {
        fault_tolerance(engine.clone(), &format!("/orlop-test/faults/{seed}/"), seed).await;
    }
}
