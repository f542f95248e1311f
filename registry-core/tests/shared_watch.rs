//! Tests of the shared watch: an engine on which all caches share one watch of the underlying engine.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation is a failed test"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt as _;
use registry_core::storage::Interface;
use registry_core::storage::cacher::{CacheBudget, Cacher, CacherOptions, Consistency};
use registry_core::storage::embedded::Embedded;
use registry_core::storage::interface::ListRequest;
use registry_core::storage::mvcc::{ChangeStream, Mvcc, MvccError};
use registry_core::storage::shared_watch::SharedWatch;
use registry_core::storage::testing::{
    Call, EngineFixture, EngineHooks, Fixture, Hooked, Widget, conformance, contract, widget_store,
};

const PREFIX: &str = "/orlop-test/";

/// Counts the calls that reach the engine; refuses to report progress, as an old etcd does.
#[derive(Default)]
struct Counting {
    watches: AtomicUsize,
    reads: AtomicUsize,
    revisions: AtomicUsize,
}

#[async_trait]
impl EngineHooks for Counting {
    async fn before(&self, call: Call) -> Result<(), MvccError> {
        match call {
            Call::Get | Call::Range => self.reads.fetch_add(1, Ordering::SeqCst),
            Call::Watch => self.watches.fetch_add(1, Ordering::SeqCst),
            Call::Progress => return Err(MvccError::Unavailable("too old".into())),
            Call::Revision => {
                tokio::time::sleep(Duration::from_millis(5)).await;
                self.revisions.fetch_add(1, Ordering::SeqCst)
            }
            Call::Count | Call::Write | Call::Compact => 0,
        };
        Ok(())
    }

    fn watched(&self, changes: ChangeStream) -> ChangeStream {
        let told = changes.filter(|batch| {
            std::future::ready(batch.as_ref().map_or(true, |batch| !batch.changes.is_empty()))
        });
        told.boxed()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_the_hub_keeps_every_promise_of_an_engine() {
    let shared_watch = SharedWatch::new(Embedded::in_memory(), PREFIX);
    contract(async |prefix| EngineFixture { engine: shared_watch.client(), prefix }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn caches_on_a_hub_keep_every_guarantee() {
    let shared_watch = SharedWatch::new(Embedded::in_memory(), PREFIX);
    conformance(async |prefix| {
        let engine = shared_watch.client();
        Fixture { store: cached(engine.clone(), &prefix), engine, prefix }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_caches_share_one_watch_and_one_question_and_read_nothing() {
    let inner = Embedded::in_memory();
    let engine = Hooked::over(inner.clone(), Counting::default());
    let shared_watch = SharedWatch::new(engine.clone(), PREFIX);
    let caches: Vec<_> =
        (0..20).map(|number| cached(shared_watch.client(), &format!("{PREFIX}kind-{number}/"))).collect();
    while !caches.iter().all(|cache| cache.readiness().is_ok()) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // Another server writes one kind; the keys of the other kinds never change.
    let other = widget_store(inner);
    let written = other.create(&format!("{PREFIX}kind-0/a"), Widget::named("a").value(), None).await.unwrap();
    // The caches have started.
    for cache in &caches {
        cache.list(&prefix_of(cache, &caches), &ListRequest::default()).await.unwrap();
    }
    let reads = engine.hooks.reads.load(Ordering::SeqCst);
    let asked = engine.hooks.revisions.load(Ordering::SeqCst);
    let lists = caches.iter().enumerate().map(|(number, cache)| async move {
        let page = cache.list(&format!("{PREFIX}kind-{number}/"), &ListRequest::default()).await.unwrap();
        (page.revision, page.items.len())
    });
    for (number, (revision, items)) in futures::future::join_all(lists).await.into_iter().enumerate() {
        assert!(revision >= written.revision, "kind {number} is as new as the store");
        assert_eq!(items, usize::from(number == 0));
    }
    assert_eq!(engine.hooks.reads.load(Ordering::SeqCst), reads, "nothing was read from the engine");
    let asked = engine.hooks.revisions.load(Ordering::SeqCst) - asked;
    assert!(asked <= 2, "20 lists at once asked {asked} times for the newest revision");
    assert_eq!(engine.hooks.watches.load(Ordering::SeqCst), 1);
}

/// Returns the key prefix of a cache, by its position among the others.
fn prefix_of(cache: &Arc<dyn Interface>, caches: &[Arc<dyn Interface>]) -> String {
    let number = caches.iter().position(|own| Arc::ptr_eq(own, cache)).unwrap();
    format!("{PREFIX}kind-{number}/")
}

fn cached(engine: Arc<dyn Mvcc>, prefix: &str) -> Arc<dyn Interface> {
    let options = CacherOptions {
        prefix: prefix.to_owned(),
        consistency: Consistency::Store,
        indexes: &[],
        budget: Arc::new(CacheBudget::new(64 << 20)),
        history_events: 10_000,
        bookmark_period: Duration::from_secs(1),
    };
    Cacher::new(widget_store(engine), options)
}
