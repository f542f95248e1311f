//! Snapshots of the embedded store: after a restore the state is that of the snapshot, and watches have seen how it came about.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "test code")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use proptest::prelude::*;
use registry_meta::clock::Clock;
use registry_storage::Revision;
use registry_storage::embedded::{Embedded, EmbeddedOptions, Snapshot};
use registry_storage::mvcc::{ChangeStream, Committed, Mvcc as _, RangeRequest};

/// A state: values by key.
type State = BTreeMap<String, Bytes>;

/// A step of a history.
#[derive(Clone, Debug)]
enum Step {
    Put(u8, u8),
    Delete(u8),
    Snapshot,
    /// To one of the snapshots so far.
    Restore(usize),
    Compact,
}

/// A watch, and the state that follows from its events.
struct Follower {
    changes: ChangeStream,
    state: State,
    revision: Revision,
}

// === impl Follower ===

impl Follower {
    async fn start(store: &Embedded) -> Self {
        Self { changes: store.watch("/", "0", 0).await.unwrap(), state: State::new(), revision: 1 }
    }

    /// Follows up to a revision. Each change is newer than the one before it, and tells the state before it.
    async fn reach(&mut self, revision: Revision) {
        while self.revision < revision {
            for change in self.changes.next().await.unwrap().unwrap().changes {
                assert!(change.revision > self.revision, "{} after {}", change.revision, self.revision);
                self.revision = change.revision;
                let key = change.key.to_string();
                let before = match change.value {
                    Some(value) => self.state.insert(key, value),
                    None => self.state.remove(&key),
                };
                assert_eq!(before, change.previous);
            }
        }
    }
}

fn key(number: u8) -> String {
    format!("/registry/things/{}", number % 6)
}

async fn present(store: &Embedded) -> (Revision, State) {
    let all = RangeRequest { start: "/", end: "0", limit: 0, revision: None };
    let ranged = store.range(all).await.unwrap();
    let state = ranged.key_values.into_iter().map(|found| (found.key.to_string(), found.value));
    (ranged.revision, state.collect())
}

async fn put(store: &Embedded, key: &str, value: impl Into<Bytes>) -> Revision {
    let expected = store.get(key).await.unwrap().key_value.map_or(0, |found| found.mod_revision);
    match store.put_if(key, expected, value.into(), None).await.unwrap() {
        Committed::At(revision) => revision,
        Committed::ConditionFailed(got) => panic!("{got:?}"),
    }
}

async fn delete(store: &Embedded, key: &str) {
    let expected = store.get(key).await.unwrap().key_value.map_or(0, |found| found.mod_revision);
    store.delete_if(key, expected).await.unwrap();
}

async fn follows_the_model(store: Arc<Embedded>, steps: Vec<Step>) {
    let mut follower = Follower::start(&store).await;
    let mut model = State::new();
    let mut snapshots: Vec<(Snapshot, State)> = Vec::new();
    let mut newest = store.current_revision().await.unwrap();
    for step in steps {
        match step {
            Step::Put(number, value) => {
                let value = Bytes::from(vec![value; 3]);
                model.insert(key(number), value.clone());
                put(&store, &key(number), value).await;
            }
            Step::Delete(number) => {
                model.remove(&key(number));
                delete(&store, &key(number)).await;
            }
            Step::Snapshot => {
                let snapshot = store.snapshot().await.unwrap();
                assert_eq!((snapshot.revision(), snapshot.len()), (newest, model.len()));
                snapshots.push((snapshot, model.clone()));
            }
            Step::Restore(_) if snapshots.is_empty() => {}
            Step::Restore(place) => {
                let (snapshot, state) = &snapshots[place % snapshots.len()];
                let restored = store.restore(snapshot).await.unwrap();
                assert!(restored >= newest && (restored > newest || *state == model));
                model.clone_from(state);
            }
            Step::Compact => {
                follower.reach(newest).await;
                store.compact(newest).await.unwrap();
            }
        }
        let (revision, state) = present(&store).await;
        assert!(revision >= newest, "revisions never go back");
        newest = revision;
        assert_eq!(state, model);
    }
    follower.reach(newest).await;
    assert_eq!(follower.state, model);
    store.close().await;
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (any::<u8>(), any::<u8>()).prop_map(|(key, value)| Step::Put(key, value % 3)),
        3 => any::<u8>().prop_map(Step::Delete),
        2 => Just(Step::Snapshot),
        3 => any::<usize>().prop_map(Step::Restore),
        1 => Just(Step::Compact),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn states_and_watches_are_those_of_a_model(steps in prop::collection::vec(step(), 1..40)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(follows_the_model(Embedded::in_memory(), steps));
    }
}

#[tokio::test]
async fn keys_that_did_not_change_keep_their_revision() {
    let store = Embedded::in_memory();
    let kept = put(&store, "/a", "1").await;
    let changed = put(&store, "/b", "1").await;
    let snapshot = store.snapshot().await.unwrap();
    put(&store, "/b", "2").await;
    put(&store, "/c", "1").await;
    let newest = store.restore(&snapshot).await.unwrap();
    let revision = async |key| store.get(key).await.unwrap().key_value.map(|found| found.mod_revision);
    assert_eq!(revision("/a").await, Some(kept));
    assert_eq!(revision("/b").await, Some(newest));
    assert_eq!(revision("/c").await, None);
    assert_eq!(newest, changed + 4, "two writes, a deletion and an update");
    assert_eq!(store.restore(&snapshot).await.unwrap(), newest, "nothing is left to do");
}

#[tokio::test]
async fn an_object_that_was_made_again_goes_before_the_former_one_comes_back() {
    let store = Embedded::in_memory();
    put(&store, "/a", "former").await;
    let snapshot = store.snapshot().await.unwrap();
    delete(&store, "/a").await;
    let again = put(&store, "/a", "other").await;
    for _ in 0..2 {
        store.restore(&snapshot).await.unwrap();
    }
    let changes = store.watch("/", "0", again).await.unwrap().next().await.unwrap().unwrap().changes;
    let seen: Vec<_> =
        changes.iter().map(|change| (change.value.as_deref(), change.previous.as_deref())).collect();
    assert_eq!(seen, [(None, Some(&b"other"[..])), (Some(&b"former"[..]), None)]);
    let created = store.get("/a").await.unwrap().key_value.unwrap().create_revision;
    assert_eq!(created, 2, "it is the object of the snapshot");
}

#[tokio::test]
async fn a_store_takes_the_state_of_another_one() {
    let (first, second) = (Embedded::in_memory(), Embedded::in_memory());
    for (store, value) in [(&first, "first"), (&second, "second")] {
        put(store, "/a", value).await;
    }
    put(&second, "/b", "second").await;
    second.restore(&first.snapshot().await.unwrap()).await.unwrap();
    assert_eq!(present(&second).await.1, present(&first).await.1);
}

#[tokio::test]
async fn writes_in_the_same_moment_come_before_or_after_a_restore() {
    let store = Embedded::in_memory();
    put(&store, "/a", "1").await;
    let snapshot = store.snapshot().await.unwrap();
    for round in 0..50 {
        let key = format!("/b{round}");
        let (written, restored) =
            tokio::join!(store.put_if(&key, 0, Bytes::from_static(b"1"), None), store.restore(&snapshot));
        let Committed::At(written) = written.unwrap() else { panic!("the key was absent") };
        let is_later = written > restored.unwrap();
        assert_eq!(present(&store).await.1.contains_key(&key), is_later);
        store.restore(&snapshot).await.unwrap();
    }
}

#[tokio::test]
async fn leases_continue_after_a_restore() {
    let clock = Clock::adjustable();
    let options = EmbeddedOptions { clock: clock.clone(), ..EmbeddedOptions::new("memory") };
    let store = Embedded::in_memory_with(options).unwrap();
    let hour = Duration::from_hours(1);
    store.put_if("/a", 0, Bytes::from_static(b"1"), Some(hour)).await.unwrap();
    let snapshot = store.snapshot().await.unwrap();
    clock.advance(hour / 2);
    delete(&store, "/a").await;
    let restored = store.restore(&snapshot).await.unwrap();
    assert_eq!(present(&store).await.1.len(), 1, "half an hour is left");
    clock.advance(hour / 2);
    let changes = store.watch("/", "0", restored).await.unwrap().next().await.unwrap().unwrap().changes;
    assert_eq!((&*changes[0].key, changes[0].value.as_ref()), ("/a", None), "it expires");
}

#[tokio::test]
async fn a_restore_is_durable() {
    let directory = tempfile::tempdir().unwrap();
    let store = Embedded::open(EmbeddedOptions::new(directory.path())).unwrap();
    put(&store, "/a", "1").await;
    let snapshot = store.snapshot().await.unwrap();
    put(&store, "/a", "2").await;
    put(&store, "/b", "2").await;
    store.restore(&snapshot).await.unwrap();
    store.close().await;
    assert!(store.restore(&snapshot).await.is_err());
    drop(store);
    let store = Embedded::open(EmbeddedOptions::new(directory.path())).unwrap();
    assert_eq!(present(&store).await.1, State::from([("/a".to_owned(), Bytes::from_static(b"1"))]));
    store.close().await;
}
