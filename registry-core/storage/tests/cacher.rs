//! Tests of the watch cache: which watchers an event wakes, lagging watchers, the budget, and a [model](model).
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation is a failed test"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures::StreamExt as _;
use proptest::prelude::*;
use registry_meta::selector::FieldSelector;
use registry_meta::{Preconditions, StatusError};
use registry_storage::cacher::{CacheBudget, Cacher, CacherOptions};
use registry_storage::embedded::Embedded;
use registry_storage::interface::{
    AnyDeletion, ListRequest, TryUpdate, UpdateAction, WatchEvent, WatchRequest, WatchStream,
};
use registry_storage::mvcc::{ChangeStream, Committed, Mvcc, MvccError};
use registry_storage::testing::{EngineHooks, Hooked, NoProgress, Widget, widget_store};
use registry_storage::{Interface, Predicate, Revision, StorageError, StoredObject, WatchError};

#[path = "cacher/model.rs"]
mod model;

const PREFIX: &str = "/registry/widgets/";

fn options(history_events: usize, budget: &Arc<CacheBudget>) -> CacherOptions {
    CacherOptions {
        prefix: PREFIX.to_owned(),
        indexes: &["spec.color"],
        budget: budget.clone(),
        history_events,
        bookmark_period: Duration::from_millis(20),
    }
}

async fn cache(engine: &Arc<Embedded>, history_events: usize, budget_bytes: usize) -> Arc<Cacher> {
    cache_within(engine, history_events, &Arc::new(CacheBudget::new(budget_bytes))).await
}

async fn cache_within(
    engine: &Arc<Embedded>,
    history_events: usize,
    budget: &Arc<CacheBudget>,
) -> Arc<Cacher> {
    let cacher = Cacher::new(widget_store(engine.clone()), options(history_events, budget));
    while cacher.readiness().is_err() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    cacher
}

async fn create(cacher: &Cacher, widget: Widget) -> Revision {
    let key = format!("{PREFIX}{}", widget.name);
    let revision = cacher.create(&key, widget.value(), None).await.unwrap().revision;
    settle(cacher).await;
    revision
}

/// Writes this widget unconditionally.
struct Put(Widget);

#[async_trait::async_trait]
impl TryUpdate for Put {
    async fn try_update(&mut self, _current: Option<&StoredObject>) -> Result<UpdateAction, StatusError> {
        Ok(self.0.write())
    }
}

async fn put(cacher: &Cacher, name: &str, widget: Widget) {
    let key = format!("{PREFIX}{name}");
    cacher.guaranteed_update(&key, &Preconditions::default(), &mut Put(widget), None).await.unwrap();
    settle(cacher).await;
}

async fn delete(cacher: &Cacher, name: &str) {
    let key = format!("{PREFIX}{name}");
    cacher.delete(&key, &Preconditions::default(), &mut AnyDeletion, None).await.unwrap();
    settle(cacher).await;
}

/// A consistent read waits for the cache.
async fn settle(cacher: &Cacher) {
    cacher.count(PREFIX).await.unwrap();
}

fn watch_color(color: &str) -> WatchRequest {
    let fields = FieldSelector::parse(&format!("spec.color={color}")).unwrap();
    WatchRequest {
        predicate: Predicate { fields, ..Predicate::default() },
        send_initial_events: Some(false),
        ..WatchRequest::default()
    }
}

#[derive(Default)]
struct WakeCount(AtomicUsize);

impl Wake for WakeCount {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Returns the items that are ready on a watch; then the watch waits, and wakes `count`.
fn drain(watch: &mut WatchStream, count: &Arc<WakeCount>) -> Vec<Result<WatchEvent, WatchError>> {
    let waker = Waker::from(count.clone());
    let mut context = Context::from_waker(&waker);
    let mut items = Vec::new();
    while let Poll::Ready(Some(item)) = watch.poll_next_unpin(&mut context) {
        items.push(item);
    }
    items
}

#[tokio::test]
async fn an_event_wakes_only_the_watchers_of_its_bucket() {
    let cacher = cache(&Embedded::in_memory(), 1000, 1 << 20).await;
    let mut watches = Vec::new();
    for number in 0..50 {
        let mut watch = cacher.watch(PREFIX, &watch_color(&format!("color-{number}"))).await.unwrap();
        let count = Arc::new(WakeCount::default());
        assert!(drain(&mut watch, &count).is_empty());
        watches.push((watch, count));
    }
    create(&cacher, Widget::named("a").color("color-7")).await;
    create(&cacher, Widget::named("b").color("nobody's")).await;
    for (number, (watch, count)) in watches.iter_mut().enumerate() {
        let expected = usize::from(number == 7);
        assert_eq!(count.0.load(Ordering::SeqCst), expected, "wake-ups of watcher {number}");
        assert_eq!(drain(watch, count).len(), expected);
    }
}

#[tokio::test]
async fn a_slow_watcher_lives_until_it_falls_off() {
    let cacher = cache(&Embedded::in_memory(), 10, 1 << 20).await;
    let request = WatchRequest { send_initial_events: Some(false), ..WatchRequest::default() };
    let mut watch = cacher.watch(PREFIX, &request).await.unwrap();
    for number in 0..10 {
        create(&cacher, Widget::named(&format!("w{number}"))).await;
    }
    let count = Arc::default();
    assert_eq!(drain(&mut watch, &count).iter().filter(|item| item.is_ok()).count(), 10);
    for number in 10..21 {
        create(&cacher, Widget::named(&format!("w{number}"))).await;
    }
    let items = drain(&mut watch, &count);
    assert!(matches!(items.as_slice(), [Err(WatchError::Compacted { .. })]), "{items:?}");
}

#[tokio::test]
async fn over_the_budget_the_oldest_history_goes_first_and_objects_stay() {
    let cacher = cache(&Embedded::in_memory(), 1000, 16 << 20).await;
    let request = WatchRequest { send_initial_events: Some(false), ..WatchRequest::default() };
    let mut early = cacher.watch(PREFIX, &request).await.unwrap();
    for number in 0..30 {
        // Each has a history of two events, which hold the first state.
        let name = format!("w{number}");
        create(&cacher, Widget::named(&name).text("x".repeat(300_000))).await;
        put(&cacher, &name, Widget::named(&name).text("y".repeat(300_000))).await;
    }
    let mut late = cacher.watch(PREFIX, &request).await.unwrap();
    create(&cacher, Widget::named("last")).await;
    assert!(matches!(drain(&mut early, &Arc::default())[..], [Err(WatchError::Compacted { .. })]));
    assert!(matches!(drain(&mut late, &Arc::default())[..], [Ok(WatchEvent::Added(_))]));
    assert_eq!(cacher.list(PREFIX, &ListRequest::default()).await.unwrap().items.len(), 31);
}

#[tokio::test]
async fn held_memory_is_counted_to_the_byte_and_given_back() {
    let budget = Arc::new(CacheBudget::new(1 << 20));
    let cacher = cache_within(&Embedded::in_memory(), 2, &budget).await;
    for number in 0..20 {
        create(&cacher, Widget::named("one").text("x".repeat(number * 100))).await;
        let entry = cacher.get(&format!("{PREFIX}one"), None).await.unwrap().unwrap();
        assert!(budget.used_bytes() >= entry.size_bytes());
        delete(&cacher, "one").await;
    }
    assert!(budget.used_bytes() < 3 * 4_000, "two events: {}", budget.used_bytes());
    drop(cacher);
    // The task that fills it also holds it, until it notices.
    while budget.used_bytes() > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// Whether the cache holds the objects of the resource.
fn holds_objects(cacher: &Cacher) -> bool {
    cacher.source().upgrade().unwrap().numbers().holds_objects
}

/// Waits until the cache holds, or does not hold, the objects.
async fn until_it_holds_objects(cacher: &Cacher, wanted: bool) {
    while holds_objects(cacher) != wanted {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn beyond_the_budget_objects_are_read_from_the_store_and_watches_go_on() {
    let engine = Embedded::in_memory();
    let budget = Arc::new(CacheBudget::new(50_000));
    let cacher = cache_within(&engine, 1000, &budget).await;
    let mut reds = cacher.watch(PREFIX, &watch_color("red")).await.unwrap();
    let big = |name: &str, color: &str| Widget::named(name).color(color).text("x".repeat(10_000));
    for name in ["a", "b", "c", "d", "e", "f"] {
        create(&cacher, big(name, "red")).await;
    }
    until_it_holds_objects(&cacher, false).await;
    assert!(cacher.source().upgrade().unwrap().numbers().object_bytes == 0);

    let request = ListRequest { limit: 4, ..ListRequest::default() };
    let first = cacher.list(PREFIX, &request).await.unwrap();
    assert_eq!((first.items.len(), first.remaining), (4, Some(2)));
    assert_eq!(cacher.list(PREFIX, &ListRequest::default()).await.unwrap().items.len(), 6);
    assert_eq!(cacher.count(PREFIX).await.unwrap(), 6);
    assert!(cacher.get(&format!("{PREFIX}a"), None).await.unwrap().is_some());
    let request = WatchRequest { send_initial_events: Some(true), ..WatchRequest::default() };
    let mut late = cacher.watch(PREFIX, &request).await.unwrap();
    for _ in 0..6 {
        assert!(matches!(late.next().await, Some(Ok(WatchEvent::Added(_)))));
    }
    assert!(matches!(late.next().await, Some(Ok(WatchEvent::Bookmark { initial_events_end: true, .. }))));

    // The previous state still determines which watchers see the object go.
    put(&cacher, "a", big("a", "blue")).await;
    delete(&cacher, "b").await;
    for _ in 0..6 {
        assert!(matches!(reds.next().await, Some(Ok(WatchEvent::Added(_)))));
    }
    let Some(Ok(WatchEvent::Deleted(gone))) = reds.next().await else { panic!("a is no longer red") };
    assert_eq!((&*gone.key, gone.attributes.field("spec.color")), ("/registry/widgets/a", "red"));
    let Some(Ok(WatchEvent::Deleted(gone))) = reds.next().await else { panic!("b is gone") };
    assert_eq!(&*gone.key, "/registry/widgets/b");
    assert!(matches!(late.next().await, Some(Ok(WatchEvent::Modified(_)))));
    assert!(matches!(late.next().await, Some(Ok(WatchEvent::Deleted(_)))));
    assert_eq!(cacher.source().upgrade().unwrap().numbers().objects, 5);
}

#[tokio::test]
async fn the_largest_cache_lets_go_and_holds_its_objects_again_once_they_fit() {
    let engine = Embedded::in_memory();
    let budget = Arc::new(CacheBudget::new(100_000));
    let large = cache_within(&engine, 1000, &budget).await;
    let mut small = options(1000, &budget);
    small.prefix = "/registry/gadgets/".to_owned();
    let small = Cacher::new(widget_store(engine.clone()), small);
    let gadget = Widget::named("g").text("x".repeat(10_000)).value();
    small.create("/registry/gadgets/g", gadget, None).await.unwrap();
    let mut watch = large.watch(PREFIX, &watch_color("red")).await.unwrap();
    let names: Vec<_> = (0..10).map(|number| format!("w{number}")).collect();
    for name in &names {
        create(&large, Widget::named(name).color("red").text("x".repeat(10_000))).await;
    }
    until_it_holds_objects(&large, false).await;
    assert!(small.get("/registry/gadgets/g", None).await.unwrap().is_some());
    assert!(holds_objects(&small), "only the largest one");
    assert!(budget.used_bytes() < 8 << 20);

    for name in &names[2..] {
        delete(&large, name).await;
    }
    until_it_holds_objects(&large, true).await;
    assert_eq!(large.list(PREFIX, &ListRequest::default()).await.unwrap().items.len(), 2);
    put(&large, "w0", Widget::named("w0").color("red")).await;
    let events: Vec<_> = (&mut watch).take(19).map(Result::unwrap).collect().await;
    assert!(matches!(events.last(), Some(WatchEvent::Modified(_))), "nothing was missed");
}

#[tokio::test]
async fn a_cache_that_does_not_fit_from_the_beginning_serves_from_the_store() {
    let engine = Embedded::in_memory();
    let writer = widget_store(engine.clone());
    for number in 0..20 {
        let name = format!("w{number}");
        let widget = Widget::named(&name).text("x".repeat(10_000));
        writer.create(&format!("{PREFIX}{name}"), widget.value(), None).await.unwrap();
    }
    let cacher = cache(&engine, 1000, 50_000).await;
    assert!(!holds_objects(&cacher));
    assert_eq!(cacher.source().upgrade().unwrap().numbers().objects, 20);
    assert_eq!(cacher.list(PREFIX, &ListRequest::default()).await.unwrap().items.len(), 20);
}

#[tokio::test]
async fn a_watch_that_stalls_in_its_initial_state_holds_nothing_that_the_history_has_not() {
    let cacher = cache(&Embedded::in_memory(), 10, 1 << 20).await;
    for number in 100..300 {
        create(&cacher, Widget::named(&format!("w{number}"))).await;
    }
    let request = WatchRequest { send_initial_events: Some(true), ..WatchRequest::default() };
    let mut stalled = cacher.watch(PREFIX, &request).await.unwrap();
    assert!(matches!(stalled.next().await, Some(Ok(WatchEvent::Added(_)))));
    let last = Arc::downgrade(&cacher.get(&format!("{PREFIX}w299"), None).await.unwrap().unwrap());
    for number in (100..300).rev() {
        let name = format!("w{number}");
        put(&cacher, &name, Widget::named(&name).text("new")).await;
    }
    assert!(last.upgrade().is_none(), "let go although nobody listened");
    let rest = drain(&mut stalled, &Arc::default());
    assert!(rest.len() < 100, "{}", rest.len());
    assert!(rest.iter().any(|item| matches!(item, Err(WatchError::Compacted { .. }))));
}

#[tokio::test]
async fn pages_show_one_revision_while_others_write() {
    let cacher = cache(&Embedded::in_memory(), 1000, 1 << 20).await;
    for number in 0..9 {
        create(&cacher, Widget::named(&format!("w{number}"))).await;
    }
    let mut request = ListRequest { limit: 2, ..ListRequest::default() };
    let first = cacher.list(PREFIX, &request).await.unwrap();
    let mut keys = Vec::new();
    let mut next = Some(first.clone());
    while let Some(page) = next.take() {
        assert_eq!(page.revision, first.revision);
        keys.extend(page.items.iter().map(|item| item.key.to_string()));
        create(&cacher, Widget::named(&format!("w5-{}", keys.len()))).await;
        if let Some(token) = page.continue_token {
            request.continue_token = Some(token);
            next = Some(cacher.list(PREFIX, &request).await.unwrap());
        }
    }
    let expected: Vec<_> = (0..9).map(|number| format!("{PREFIX}w{number}")).collect();
    assert_eq!(keys, expected);
}

/// Hooks that keep the changes back from watches.
struct NoChanges;

impl EngineHooks for NoChanges {
    fn watched(&self, changes: ChangeStream) -> ChangeStream {
        changes.filter(|_| std::future::ready(false)).boxed()
    }
}

#[tokio::test]
async fn an_object_is_read_as_the_store_has_it_while_the_cache_is_behind() {
    let engine = Embedded::in_memory();
    let bytes = |color| Widget::named("a").color(color).value().bytes;
    let key = format!("{PREFIX}a");
    let first = committed(engine.put_if(&key, 0, bytes("red"), None).await);
    let behind = Hooked::over(engine.clone(), NoChanges);
    let cacher = Cacher::new(widget_store(behind), options(1000, &Arc::new(CacheBudget::new(1 << 20))));
    while cacher.readiness().is_err() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let read = || async { cacher.get(&key, None).await.unwrap().map(|object| object.revision) };
    assert_eq!(read().await, Some(first));
    // Another client may learn of these revisions from a watch of another resource before the writer has its answer.
    let second = committed(engine.put_if(&key, first, bytes("green"), None).await);
    assert_eq!(read().await, Some(second));
    committed(engine.delete_if(&key, second).await);
    assert_eq!(read().await, None);
}

fn committed(outcome: Result<Committed, MvccError>) -> Revision {
    match outcome {
        Ok(Committed::At(revision)) => revision,
        other => panic!("not written: {other:?}"),
    }
}

#[tokio::test]
async fn a_read_not_older_than_a_consistent_list_is_answered_although_no_progress_is_reported() {
    let engine = Embedded::in_memory();
    let without_progress = Hooked::over(engine.clone(), NoProgress);
    let options = options(1000, &Arc::new(CacheBudget::new(1 << 20)));
    let cacher = Cacher::new(widget_store(without_progress), options);
    cacher.create(&format!("{PREFIX}a"), Widget::named("a").value(), None).await.unwrap();
    // A write of another resource advances the revision; the watch behind the cache receives no event.
    engine.put_if("/registry/others/b", 0, "{}".into(), None).await.unwrap();
    let consistent = cacher.list(PREFIX, &ListRequest::default()).await.unwrap();
    assert_eq!(consistent.revision, engine.current_revision().await.unwrap());

    let not_older = ListRequest { revision: Some(consistent.revision), ..ListRequest::default() };
    let listed = cacher.list(PREFIX, &not_older).await.unwrap();
    assert_eq!((listed.revision, listed.items.len()), (consistent.revision, 1));
    let got = cacher.get(&format!("{PREFIX}a"), Some(consistent.revision)).await.unwrap();
    assert!(got.is_some());
    let request = WatchRequest {
        revision: Some(consistent.revision),
        send_initial_events: Some(true),
        ..WatchRequest::default()
    };
    let mut watch = cacher.watch(PREFIX, &request).await.unwrap();
    assert!(matches!(watch.next().await, Some(Ok(WatchEvent::Added(_)))));

    let future = ListRequest { revision: Some(consistent.revision + 1), ..ListRequest::default() };
    let refused = cacher.list(PREFIX, &future).await.map(|page| page.revision);
    assert!(matches!(refused, Err(StorageError::FutureRevision { .. })), "{refused:?}");
}
