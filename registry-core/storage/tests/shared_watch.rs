//! Tests of the shared watch: an engine on which all caches share one watch of the underlying engine.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation is a failed test"
)]

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt as _;
use parking_lot::Mutex;
use registry_storage::Interface;
use registry_storage::cacher::{CacheBudget, Cacher, CacherOptions};
use registry_storage::embedded::Embedded;
use registry_storage::interface::ListRequest;
use registry_storage::mvcc::{ChangeStream, Mvcc, MvccError};
use registry_storage::shared_watch::SharedWatch;
use registry_storage::testing::{
    Call, EngineFixture, EngineHooks, Fixture, Hooked, Widget, conformance, contract, widget_store,
};
use tokio::sync::Semaphore;

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
        let delivered = changes.filter(|batch| {
            std::future::ready(batch.as_ref().map_or(true, |batch| !batch.changes.is_empty()))
        });
        delivered.boxed()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_of_the_shared_watch_keeps_every_promise_of_an_engine() {
    let shared_watch = SharedWatch::new(Embedded::in_memory(), PREFIX);
    contract(async |prefix| EngineFixture { engine: shared_watch.client(), prefix }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn caches_on_a_shared_watch_keep_every_guarantee() {
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

/// Lets each read of the newest revision wait for a permit; some of them fail.
struct Gated {
    permits: Semaphore,
    begun: AtomicUsize,
    failure: Mutex<Option<Failure>>,
}

#[derive(Clone, Copy)]
enum Failure {
    Error,
    Panic,
}

#[async_trait]
impl EngineHooks for Gated {
    async fn before(&self, call: Call) -> Result<(), MvccError> {
        if call != Call::Revision {
            return Ok(());
        }
        self.begun.fetch_add(1, Ordering::SeqCst);
        self.permits.acquire().await.unwrap().forget();
        let failure = self.failure.lock().take();
        match failure {
            None => Ok(()),
            Some(Failure::Error) => Err(MvccError::Overloaded),
            Some(Failure::Panic) => panic!("as it was asked to"),
        }
    }
}

/// Returns an engine whose reads of the newest revision wait, and a client of its shared watch, which has begun.
async fn gated() -> (Arc<Hooked<Gated>>, Arc<dyn Mvcc>) {
    let hooks = Gated { permits: Semaphore::new(1), begun: AtomicUsize::new(0), failure: Mutex::default() };
    let engine = Hooked::over(Embedded::in_memory(), hooks);
    let shared_watch = SharedWatch::new(engine.clone(), PREFIX);
    // The watch begins with a read of its own.
    while engine.hooks.permits.available_permits() > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    engine.hooks.begun.store(0, Ordering::SeqCst);
    (engine, shared_watch.client())
}

async fn begun(engine: &Hooked<Gated>, number: usize) {
    while engine.hooks.begun.load(Ordering::SeqCst) < number {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// The first caller's thread is busy with something else as soon as its read has begun.
#[tokio::test(flavor = "multi_thread")]
async fn a_caller_whose_thread_is_busy_delays_no_other() {
    let (engine, client) = gated().await;
    let (go_on, busy) = std::sync::mpsc::channel::<()>();
    let first = {
        let client = client.clone();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            runtime.block_on(async move {
                let mut read = std::pin::pin!(client.current_revision());
                let polled = futures::poll!(read.as_mut());
                busy.recv().unwrap();
                match polled {
                    // Another thread let the read go on before this one had polled it to the end.
                    Poll::Ready(revision) => revision,
                    Poll::Pending => read.await,
                }
            })
        })
    };
    begun(&engine, 1).await;
    let others: Vec<_> = (0..3)
        .map(|_| {
            let client = client.clone();
            tokio::spawn(async move { client.current_revision().await })
        })
        .collect();
    engine.hooks.permits.add_permits(10);
    for other in others {
        let read = tokio::time::timeout(Duration::from_secs(10), other).await;
        assert!(read.expect("it waits for the first caller").unwrap().is_ok());
    }
    go_on.send(()).unwrap();
    assert!(first.join().unwrap().is_ok());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_read_fails_all_its_callers_and_no_later_ones() {
    let (engine, client) = gated().await;
    for failure in [Failure::Error, Failure::Panic] {
        *engine.hooks.failure.lock() = Some(failure);
        engine.hooks.begun.store(0, Ordering::SeqCst);
        let read = || {
            let client = client.clone();
            tokio::spawn(async move { client.current_revision().await })
        };
        let mut callers = vec![read()];
        begun(&engine, 1).await;
        callers.extend([read(), read()]);
        // Until they wait for the next read.
        tokio::time::sleep(Duration::from_millis(50)).await;
        engine.hooks.permits.add_permits(1);
        for caller in callers {
            let failed = tokio::time::timeout(Duration::from_secs(10), caller).await.unwrap().unwrap();
            assert!(matches!(failed, Err(MvccError::Overloaded | MvccError::Unavailable(_))), "{failed:?}");
        }
        engine.hooks.permits.add_permits(1);
        assert!(client.current_revision().await.is_ok());
    }
}

/// Returns the key prefix of a cache, by its position among the others.
fn prefix_of(cache: &Arc<dyn Interface>, caches: &[Arc<dyn Interface>]) -> String {
    let number = caches.iter().position(|own| Arc::ptr_eq(own, cache)).unwrap();
    format!("{PREFIX}kind-{number}/")
}

fn cached(engine: Arc<dyn Mvcc>, prefix: &str) -> Arc<dyn Interface> {
    let options = CacherOptions {
        prefix: prefix.to_owned(),
        indexes: &[],
        budget: Arc::new(CacheBudget::new(64 << 20)),
        history_events: 10_000,
        bookmark_period: Duration::from_secs(1),
    };
    Cacher::new(widget_store(engine), options)
}
