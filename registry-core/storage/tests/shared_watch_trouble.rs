//! Failures of the shared watch: its own watch breaks, missed changes are compacted, a listener stalls, or many
//! changes happen at once. Runs over the embedded engine and over a real etcd.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation is a failed test"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use futures::{FutureExt as _, StreamExt as _};
use registry_meta::Preconditions;
use registry_storage::cacher::{CacheBudget, Cacher, CacherOptions};
use registry_storage::embedded::Embedded;
use registry_storage::interface::{AnyDeletion, ListRequest};
use registry_storage::mvcc::{ChangeStream, Committed, Mvcc, MvccError, prefix_end};
use registry_storage::shared_watch::SharedWatch;
use registry_storage::testing::etcd::Etcd;
use registry_storage::testing::{Call, EngineHooks, Hooked, Watcher, Widget, widget_store};
use registry_storage::{Interface, Revision, WatchError, WatchEvent};
use tokio::sync::watch;

const ROOT: &str = "/orlop-test/";
const KINDS: usize = 12;
const PATIENCE: Duration = Duration::from_secs(30);

/// Counts watches, and can break them.
#[derive(Default)]
struct Breakable {
    broken: watch::Sender<bool>,
    watches: AtomicUsize,
}

#[async_trait]
impl EngineHooks for Breakable {
    async fn before(&self, call: Call) -> Result<(), MvccError> {
        if call != Call::Watch {
            return Ok(());
        }
        self.watches.fetch_add(1, Ordering::SeqCst);
        if *self.broken.borrow() { Err(MvccError::Unavailable("broken".into())) } else { Ok(()) }
    }

    fn watched(&self, changes: ChangeStream) -> ChangeStream {
        let mut broken = self.broken.subscribe();
        let breaks = async move { broken.wait_for(|broken| *broken).await.is_ok() };
        changes.take_until(breaks.boxed()).boxed()
    }
}

/// Caches of some kinds on one shared watch, and another server that writes to the same engine.
struct House {
    engine: Arc<Hooked<Breakable>>,
    shared_watch: Arc<SharedWatch>,
    caches: Vec<Arc<dyn Interface>>,
    other: Arc<dyn Interface>,
}

// === impl House ===

impl House {
    async fn build(inner: Arc<dyn Mvcc>) -> Self {
        let other = widget_store(inner.clone());
        let engine = Hooked::over(inner, Breakable::default());
        let shared_watch = SharedWatch::new(engine.clone(), ROOT);
        let caches: Vec<_> = (0..KINDS).map(|kind| cached(shared_watch.client(), &prefix(kind))).collect();
        let house = Self { engine, shared_watch, caches, other };
        house.settle().await;
        house
    }

    /// Checks that every cache has the content of the engine, in the engine's order.
    async fn settle(&self) {
        let newest = self.engine.inner.current_revision().await.unwrap();
        for (kind, cache) in self.caches.iter().enumerate() {
            let begun = Instant::now();
            while cache.readiness().is_err() {
                assert!(begun.elapsed() < PATIENCE, "kind {kind} is not filled");
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            let page = cache.list(&prefix(kind), &ListRequest::default()).await.unwrap();
            assert!(page.revision >= newest, "kind {kind} is at {}, not {newest}", page.revision);
            let truth = self.other.list(&prefix(kind), &ListRequest::default()).await.unwrap();
            let names = |page: &registry_storage::ListPage| -> Vec<_> {
                page.items.iter().map(|item| (item.key.to_string(), item.revision)).collect()
            };
            assert_eq!(names(&page), names(&truth), "kind {kind}");
        }
    }

    /// Lets another server write the even kinds; the others stay idle. Returns the last revision.
    async fn write(&self, round: usize) -> Revision {
        let mut last = 0;
        for turn in 0..4 {
            for kind in (0..KINDS).step_by(2) {
                let key = format!("{}r{round}-{turn}", prefix(kind));
                last = self.other.create(&key, Widget::named("w").value(), None).await.unwrap().revision;
                if turn % 2 == 1 {
                    let any = Preconditions::default();
                    let mut deletion = AnyDeletion;
                    let gone = self.other.delete(&key, &any, &mut deletion, None);
                    last = gone.await.unwrap().revision;
                }
            }
        }
        last
    }

    async fn watchers(&self) -> Vec<Watcher> {
        let start = self.engine.inner.current_revision().await.unwrap();
        let mut watchers = Vec::new();
        for (kind, cache) in self.caches.iter().enumerate() {
            watchers.push(Watcher::after(cache.as_ref(), &prefix(kind), start).await);
        }
        watchers
    }
}

fn prefix(kind: usize) -> String {
    format!("{ROOT}kind-{kind:02}/")
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

/// Returns the next change, or the error that ends the watch; changes come in order.
async fn next(watcher: &mut Watcher) -> Result<WatchEvent, WatchError> {
    loop {
        let event = watcher.item().await.expect("a watch says why it ends")?;
        if !matches!(event, WatchEvent::Bookmark { .. }) {
            assert!(event.revision() > watcher.revision, "a change comes twice or out of order");
            watcher.revision = event.revision();
            return Ok(event);
        }
    }
}

async fn nothing_is_lost_while_the_watch_is_broken(inner: Arc<dyn Mvcc>) {
    let house = House::build(inner).await;
    let mut watchers = house.watchers().await;
    for round in 0..3 {
        house.write(round * 2).await;
        house.engine.hooks.broken.send_replace(true);
        house.write(round * 2 + 1).await;
        house.engine.hooks.broken.send_replace(false);
        house.settle().await;
    }
    for (kind, watcher) in watchers.iter_mut().enumerate().step_by(2) {
        // Six rounds, each with four creations and two deletions.
        for number in 0..36 {
            let event = next(watcher).await;
            assert!(event.is_ok(), "event {number} of kind {kind}: {event:?}");
        }
    }
    house.settle().await;
}

async fn compacted_changes_are_listed_again(inner: Arc<dyn Mvcc>) {
    let house = House::build(inner).await;
    let mut watchers = house.watchers().await;
    house.write(0).await;
    house.settle().await;
    house.engine.hooks.broken.send_replace(true);
    let gone = house.write(1).await;
    house.engine.inner.compact(gone).await.unwrap();
    house.write(2).await;
    house.engine.hooks.broken.send_replace(false);
    for (kind, watcher) in watchers.iter_mut().enumerate().step_by(2) {
        let lost = loop {
            if let Err(lost) = next(watcher).await {
                break lost;
            }
        };
        assert!(matches!(lost, WatchError::Compacted { .. }), "kind {kind}: {lost}");
        assert!(watcher.revision < gone, "kind {kind} lost nothing");
    }
    house.settle().await;
    // Everything works as before.
    let mut watchers = house.watchers().await;
    house.write(3).await;
    for watcher in watchers.iter_mut().step_by(2) {
        for _ in 0..6 {
            next(watcher).await.unwrap();
        }
    }
}

/// A listener that does not read is dropped once its queue is full, and misses nothing when it watches again.
async fn a_listener_that_stands_still_is_let_go(inner: Arc<dyn Mvcc>) {
    let house = House::build(inner).await;
    let client = house.shared_watch.client();
    let start = house.engine.inner.current_revision().await.unwrap();
    let from = prefix(1);
    let end = prefix_end(&prefix(1));
    let mut changes = client.watch(&from, &end, start).await.unwrap();
    let mut revisions = Vec::new();
    let value = Bytes::from(vec![b'x'; 1_000_000]);
    for number in 0..45 {
        let key = format!("{ROOT}kind-01/large-{number}");
        let Committed::At(revision) = client.put_if(&key, 0, value.clone(), None).await.unwrap() else {
            panic!("{key} is free")
        };
        revisions.push(revision);
    }
    // Writes are acknowledged before the shared watch sees them. Only once it has delivered all of them is it certain
    // that they do not fit into the queue: a reader that begins before then may keep up.
    handed_out(&house, *revisions.last().unwrap()).await;
    let mut seen = Vec::new();
    let mut interruptions = 0;
    while seen.len() < revisions.len() {
        match tokio::time::timeout(PATIENCE, changes.next()).await.expect("something comes") {
            Some(Ok(batch)) => seen.extend(batch.changes.iter().map(|change| change.revision)),
            Some(Err(MvccError::Unavailable(_))) | None => {
                interruptions += 1;
                let after = seen.last().copied().unwrap_or(start);
                changes = client.watch(&from, &end, after).await.unwrap();
            }
            Some(Err(error)) => panic!("{error}"),
        }
    }
    assert_eq!(seen, revisions);
    assert!(interruptions > 0, "so much does not wait for anybody");
}

/// Waits until the shared watch has delivered everything up to a revision.
async fn handed_out(house: &House, revision: Revision) {
    let observer = house.shared_watch.client();
    let idle = prefix(KINDS);
    let start = house.engine.inner.current_revision().await.unwrap();
    let mut changes = observer.watch(&idle, &prefix_end(&idle), start).await.unwrap();
    observer.request_progress().await.unwrap();
    loop {
        let batch =
            tokio::time::timeout(PATIENCE, changes.next()).await.expect("the shared watch gets there");
        if batch.unwrap().unwrap().revision >= revision {
            return;
        }
    }
}

/// Clients of a previous server resume from revisions from before the start of the next one.
async fn a_new_shared_watch_knows_what_was_just_before(inner: Arc<dyn Mvcc>) {
    let house = House::build(inner.clone()).await;
    let start = inner.current_revision().await.unwrap();
    house.write(0).await;
    drop(house);
    let house = House::build(inner).await;
    for kind in (0..KINDS).step_by(2) {
        let mut watcher = Watcher::after(house.caches[kind].as_ref(), &prefix(kind), start).await;
        for _ in 0..6 {
            next(&mut watcher).await.unwrap();
        }
    }
    assert_eq!(house.engine.hooks.watches.load(Ordering::SeqCst), 1, "nobody has to ask the engine");
}

/// When a lease expires, all its keys are deleted at one revision: readers see all of those deletions or none.
async fn changes_at_once_are_seen_at_once(inner: Arc<dyn Mvcc>) {
    let house = House::build(inner).await;
    let cache = &house.caches[3];
    let keys = prefix(3);
    let mut watcher =
        Watcher::after(cache.as_ref(), &keys, house.engine.current_revision().await.unwrap()).await;
    let mut present = BTreeSet::new();
    let creations = (0..300).map(|number| {
        let key = format!("{keys}w{number}");
        async move {
            cache.create(&key, Widget::named("w").value(), Some(Duration::from_secs(3))).await.unwrap();
            key
        }
    });
    present.extend(futures::future::join_all(creations).await);
    let begun = Instant::now();
    let mut lists = BTreeMap::new();
    while lists.values().last().is_none_or(|last: &BTreeSet<String>| !last.is_empty()) {
        assert!(begun.elapsed() < PATIENCE, "they expire");
        let page = cache.list(&keys, &ListRequest::default()).await.unwrap();
        lists.insert(page.revision, page.items.iter().map(|item| item.key.to_string()).collect());
    }
    let mut gone = BTreeMap::new();
    while gone.len() < present.len() {
        let event = watcher.item().await.unwrap().unwrap();
        if let WatchEvent::Deleted(object) = event {
            assert_eq!(gone.insert(object.key.to_string(), object.revision), None, "each goes once");
        }
    }
    let created =
        lists.range(..=*gone.values().min().unwrap()).next_back().map_or(0, |(revision, _)| *revision);
    for (revision, listed) in lists.range(created..) {
        let expected: BTreeSet<_> = present.iter().filter(|key| gone[*key] > *revision).cloned().collect();
        assert_eq!(listed.len(), expected.len(), "at {revision}");
    }
}

macro_rules! over_both {
    ($($name:ident),* $(,)?) => {
        mod embedded {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                super::$name(super::Embedded::in_memory()).await;
            })*
        }
        mod etcd3 {
            $(#[tokio::test(flavor = "multi_thread")]
            async fn $name() {
                let etcd = super::Etcd::start().await.unwrap_or_else(|error| panic!("{error}"));
                super::$name(etcd.connect().await).await;
            })*
        }
    };
}

over_both!(
    nothing_is_lost_while_the_watch_is_broken,
    compacted_changes_are_listed_again,
    a_listener_that_stands_still_is_let_go,
    a_new_shared_watch_knows_what_was_just_before,
    changes_at_once_are_seen_at_once,
);
