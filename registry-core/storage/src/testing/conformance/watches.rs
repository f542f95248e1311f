//! Watches: their start, selection, and that no event is lost or duplicated.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::{FutureExt as _, StreamExt as _};

use crate::error::StorageError;
use crate::interface::{ListRequest, WatchEvent, WatchRequest};
use crate::testing::widget::{Update, increment, with_color};
use crate::testing::{Fixture, Watcher, Widget};
use crate::{Predicate, Revision};

impl Fixture {
    async fn watch(&self, request: WatchRequest) -> Watcher {
        Watcher::start(self.store.as_ref(), &self.prefix, request).await
    }

    async fn watch_after(&self, revision: Revision) -> Watcher {
        Watcher::after(self.store.as_ref(), &self.prefix, revision).await
    }
}

pub(super) async fn a_watch_begins_with_what_is_there(fixture: Fixture) {
    let mut b = fixture.create(&Widget::named("b")).await.revision;
    let a = fixture.create(&Widget::named("a")).await.revision;
    for revision in [None, Some(0)] {
        let mut watcher = fixture.watch(WatchRequest { revision, ..WatchRequest::default() }).await;
        let expected = [("ADDED", "a".to_owned(), a), ("ADDED", "b".to_owned(), b)];
        assert_eq!(watcher.changes(2).await, expected);
        b = fixture.update("b", &mut increment(), None).await.unwrap().object.revision;
        assert_eq!(watcher.changes(1).await, [("MODIFIED", "b".to_owned(), b)]);
    }
}

pub(super) async fn initial_events_end_with_a_bookmark(fixture: Fixture) {
    let last = fixture.create_many(5).await;
    for (revision, predicate, count) in [
        (None, Predicate::default(), 5),
        (Some(0), with_color("red"), 1),
        (Some(last), Predicate::default(), 5),
    ] {
        let request = WatchRequest {
            predicate,
            revision,
            send_initial_events: Some(true),
            bookmarks: true,
            timeout: None,
        };
        let mut watcher = fixture.watch(request).await;
        let (state, bookmark) = watcher.initial_state().await;
        assert_eq!(state.len(), count);
        assert!(bookmark >= last);
    }
    let request =
        WatchRequest { send_initial_events: Some(true), bookmarks: true, ..WatchRequest::default() };
    let mut watcher = fixture.watch(request).await;
    watcher.initial_state().await;
    let changed = fixture.update("w001", &mut increment(), None).await.unwrap().object.revision;
    assert_eq!(watcher.changes(1).await, [("MODIFIED", "w001".to_owned(), changed)]);
    let request =
        WatchRequest { send_initial_events: Some(true), bookmarks: true, ..WatchRequest::default() };
    let mut empty = Watcher::start(fixture.store.as_ref(), &fixture.key("none/"), request).await;
    assert!(empty.initial_state().await.0.is_empty());
}

/// Bookmarks report progress even without changes of a watch's objects, and are sent only if requested. A store may
/// refuse requests for progress; it then reports it periodically.
pub(super) async fn bookmarks_come_when_asked_for(fixture: Fixture) {
    let start = fixture.create(&Widget::named("a")).await.revision;
    let revision = Some(start);
    let quiet = fixture.key("none/");
    let request = WatchRequest { revision, bookmarks: true, ..WatchRequest::default() };
    let mut watcher = Watcher::start(fixture.store.as_ref(), &quiet, request).await;
    let plain = WatchRequest { revision, ..WatchRequest::default() };
    let mut plain = fixture.store.watch(&quiet, &plain).await.unwrap();
    let newest = fixture.update("a", &mut increment(), None).await.unwrap().object.revision;
    let mut last = 0;
    while last < newest {
        match fixture.store.request_progress().await {
            Ok(()) | Err(StorageError::Unavailable { .. }) => {}
            Err(other) => panic!("a request for progress fails otherwise: {other}"),
        }
        let WatchEvent::Bookmark { revision, initial_events_end: false } = watcher.event().await else {
            panic!("nothing but bookmarks comes here");
        };
        assert!(revision >= last, "bookmarks do not go back");
        last = revision;
    }
    assert!(plain.next().now_or_never().is_none(), "no bookmark was asked for");
}

pub(super) async fn without_initial_events_only_changes_come(fixture: Fixture) {
    fixture.create(&Widget::named("a")).await;
    let request = WatchRequest { send_initial_events: Some(false), ..WatchRequest::default() };
    let mut watcher = fixture.watch(request).await;
    watcher.silent().await;
    let changed = fixture.update("a", &mut increment(), None).await.unwrap().object.revision;
    assert_eq!(watcher.changes(1).await, [("MODIFIED", "a".to_owned(), changed)]);
}

pub(super) async fn a_watch_goes_on_from_a_revision(fixture: Fixture) {
    let created = fixture.create(&Widget::named("a")).await.revision;
    let changed = fixture.update("a", &mut increment(), None).await.unwrap().object.revision;
    let deleted = fixture.delete("a").await.unwrap().revision;
    let again = fixture.create(&Widget::named("a")).await.revision;
    let history = [
        ("ADDED", "a".to_owned(), created),
        ("MODIFIED", "a".to_owned(), changed),
        ("DELETED", "a".to_owned(), deleted),
        ("ADDED", "a".to_owned(), again),
    ];
    for (at, after) in [created - 1, created, changed, deleted, again].into_iter().enumerate() {
        let mut watcher = fixture.watch_after(after).await;
        assert_eq!(watcher.changes(history.len() - at).await, history[at..]);
        watcher.silent().await;
    }
}

pub(super) async fn selectors_see_objects_come_and_go(fixture: Fixture) {
    let start = fixture.store.current_revision().await.unwrap();
    let request =
        WatchRequest { predicate: with_color("red"), revision: Some(start), ..WatchRequest::default() };
    let mut watcher = fixture.watch(request).await;
    fixture.create(&Widget::named("a").color("blue")).await;
    let came = fixture.replace(&Widget::named("a").color("red").count(1)).await.revision;
    let changed = fixture.replace(&Widget::named("a").color("red").count(2)).await.revision;
    let went = fixture.replace(&Widget::named("a").color("blue").count(3)).await.revision;
    fixture.replace(&Widget::named("a").color("blue").count(4)).await;
    fixture.delete("a").await.unwrap();
    let created = fixture.create(&Widget::named("a").color("red").count(5)).await.revision;
    let deleted = fixture.delete("a").await.unwrap().revision;
    let red = |count| Widget::named("a").color("red").count(count);
    assert_eq!(watcher.change().await, ("ADDED", red(1), came));
    assert_eq!(watcher.change().await, ("MODIFIED", red(2), changed));
    assert_eq!(
        watcher.change().await,
        ("DELETED", red(2), went),
        "the state that matched, the change's revision"
    );
    assert_eq!(watcher.change().await, ("ADDED", red(5), created));
    assert_eq!(watcher.change().await, ("DELETED", red(5), deleted));
}

pub(super) async fn a_deletion_shows_the_last_state(fixture: Fixture) {
    let created = fixture.create(&Widget::named("a").count(1).label("app", "web")).await.revision;
    fixture.update("a", &mut increment(), None).await.unwrap();
    let deleted = fixture.delete("a").await.unwrap();
    let mut watcher = fixture.watch_after(created).await;
    watcher.change().await;
    let WatchEvent::Deleted(object) = watcher.event().await else { panic!("the object was deleted") };
    assert_eq!((object.revision, object.json()), (deleted.revision, deleted.json()));
    assert_eq!(Widget::decode(&object).count, 2);
    assert_eq!(object.attributes.label("app"), Some("web"));
}

pub(super) async fn an_exact_key_is_watched_alone(fixture: Fixture) {
    let a = fixture.create(&Widget::named("a")).await.revision;
    fixture.create(&Widget::named("ab")).await;
    fixture.create(&Widget::named("a/b")).await;
    let mut watcher =
        Watcher::start(fixture.store.as_ref(), &fixture.key("a"), WatchRequest::default()).await;
    assert_eq!(watcher.changes(1).await, [("ADDED", "a".to_owned(), a)]);
    fixture.update("ab", &mut increment(), None).await.unwrap();
    fixture.delete("a/b").await.unwrap();
    let deleted = fixture.delete("a").await.unwrap().revision;
    assert_eq!(watcher.changes(1).await, [("DELETED", "a".to_owned(), deleted)]);
}

/// More objects than fit one read; concurrent writes follow, once each.
pub(super) async fn large_initial_states_come_whole(fixture: Fixture) {
    const COUNT: usize = 1_200;
    let mut tasks = Vec::new();
    for worker in 0..8 {
        let fixture = fixture.clone();
        tasks.push(tokio::spawn(async move {
            for number in (worker..COUNT).step_by(8) {
                fixture.create(&Widget::named(&format!("w{number:05}"))).await;
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let request =
        WatchRequest { send_initial_events: Some(true), bookmarks: true, ..WatchRequest::default() };
    let mut watcher = fixture.watch(request).await;
    let deleted = fixture.delete("w01100").await.unwrap().revision;
    let (state, revision) = watcher.initial_state().await;
    if revision < deleted {
        assert_eq!(state.len(), COUNT);
        assert_eq!(watcher.changes(1).await, [("DELETED", "w01100".to_owned(), deleted)]);
    } else {
        assert_eq!(state.len(), COUNT - 1);
    }
    let all = fixture.list(&ListRequest::default()).await;
    assert_eq!(all.items.len(), COUNT - 1);
}

/// A watch from a future revision waits for it, or is refused; it never returns older changes.
pub(super) async fn a_watch_of_the_future_waits_or_is_refused(fixture: Fixture) {
    let created = fixture.create(&Widget::named("a")).await.revision;
    let revision = Some(created + 1_000_000);
    let request = WatchRequest { revision, ..WatchRequest::default() };
    if let Ok(stream) = fixture.store.watch(&fixture.prefix, &request).await {
        let mut watcher = Watcher::over(stream, 0);
        fixture.update("a", &mut increment(), None).await.unwrap();
        watcher.silent().await;
    }
    let initial = WatchRequest { revision, send_initial_events: Some(true), ..WatchRequest::default() };
    assert!(fixture.store.watch(&fixture.prefix, &initial).await.is_err());
}

/// Writers race a watcher that drops its watch now and then and resumes from the last revision it saw. In the end it
/// has seen each revision once, in order, and has the current state.
pub(super) async fn every_event_comes_exactly_once(fixture: Fixture) {
    const WRITERS: usize = 5;
    const ROUNDS: usize = 30;
    let start = fixture.store.current_revision().await.unwrap();
    let writers: Vec<_> =
        (0..WRITERS).map(|number| tokio::spawn(churn(fixture.clone(), number, ROUNDS))).collect();
    let mut wanted = Vec::new();
    let mut seen = Vec::new();
    let mut state = BTreeMap::new();
    let mut revision = start;
    let mut watcher = fixture.watch_after(start).await;
    while seen.len() < WRITERS * ROUNDS {
        if seen.len() % 23 == 22 {
            watcher = fixture.watch_after(revision).await;
        }
        let (kind, widget, at) = watcher.change().await;
        assert!(at > revision, "{kind} of {} at {at} comes after {revision}", widget.name);
        revision = at;
        seen.push(at);
        let existed = if kind == "DELETED" {
            state.remove(&widget.name).is_some()
        } else {
            state.insert(widget.name.clone(), widget).is_some()
        };
        assert_eq!(existed, kind != "ADDED", "an event fits the state before");
    }
    for writer in writers {
        wanted.extend(writer.await.unwrap());
    }
    wanted.sort_unstable();
    assert_eq!(seen, wanted);
    let listed = fixture.list(&ListRequest::default()).await;
    let listed: BTreeMap<_, _> = listed
        .items
        .iter()
        .map(|object| Widget::decode(object))
        .map(|widget| (widget.name.clone(), widget))
        .collect();
    assert_eq!(state, listed);
}

/// Creates, changes and deletes a widget; returns the revisions of all events.
async fn churn(fixture: Fixture, number: usize, rounds: usize) -> Vec<Revision> {
    let name = format!("w{number}");
    let mut revisions = Vec::new();
    for round in 0..rounds {
        let object = match round % 5 {
            0 => fixture.create(&Widget::named(&name)).await,
            4 => fixture.delete(&name).await.unwrap(),
            _ => fixture.update(&name, &mut increment(), None).await.unwrap().object,
        };
        revisions.push(object.revision);
        if round % 7 == 0 {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
    // A write of equal bytes is not an event.
    let mut same = Update::new(|widget: Option<Widget>| Ok(widget.unwrap().write()));
    if fixture.get(&name).await.is_some() {
        fixture.update(&name, &mut same, None).await.unwrap();
    }
    revisions
}
