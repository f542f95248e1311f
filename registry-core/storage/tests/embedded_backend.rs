//! A store whose objects are kept by a backend: what it loads, writes, and shows of the changes of others.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use parking_lot::Mutex;
use registry_storage::embedded::backend::{Backend, BackendChange, BackendError, BackendName, BackendObject};
use registry_storage::embedded::{Embedded, EmbeddedOptions, OpenError};
use registry_storage::mvcc::{Committed, Mvcc, MvccError, RangeRequest};

const PREFIX: &str = "/registry/books/";

/// A table in memory, which can fail.
#[derive(Default)]
struct Table {
    rows: Mutex<BTreeMap<String, Bytes>>,
    failure: Mutex<Option<&'static str>>,
    commits: Mutex<Vec<Vec<String>>>,
    reloads: Option<Duration>,
}

struct Shared(Arc<Table>);

impl Table {
    fn with(rows: &[(&str, &str)]) -> Arc<Self> {
        let table = Self { reloads: Some(Duration::from_millis(5)), ..Self::default() };
        table.set(rows);
        Arc::new(table)
    }

    /// Changes the rows as another program does.
    fn set(&self, rows: &[(&str, &str)]) {
        *self.rows.lock() =
            rows.iter().map(|(name, json)| ((*name).to_owned(), Bytes::from((*json).to_owned()))).collect();
    }

    fn check(&self) -> Result<(), BackendError> {
        self.failure.lock().map_or(Ok(()), |reason| Err(reason.into()))
    }
}

impl Backend for Shared {
    fn load(&self) -> Result<Vec<BackendObject>, BackendError> {
        self.0.check()?;
        let rows = self.0.rows.lock();
        let object =
            |(name, json): (&String, &Bytes)| BackendObject { name: named(name), json: json.clone() };
        Ok(rows.iter().map(object).collect())
    }

    fn commit(&self, changes: &[BackendChange]) -> Result<(), BackendError> {
        self.0.check()?;
        let mut rows = self.0.rows.lock();
        for change in changes {
            match &change.json {
                Some(json) => drop(rows.insert(text(&change.name), json.clone())),
                None => drop(rows.remove(&text(&change.name))),
            }
        }
        self.0.commits.lock().push(changes.iter().map(|change| text(&change.name)).collect());
        Ok(())
    }

    fn reload_interval(&self) -> Option<Duration> {
        self.0.reloads
    }
}

fn named(text: &str) -> BackendName {
    let (namespace, name) = text.split_once('/').unwrap();
    BackendName { namespace: Some(namespace.to_owned()), name: name.to_owned() }
}

fn text(name: &BackendName) -> String {
    format!("{}/{}", name.namespace.as_deref().unwrap(), name.name)
}

fn open(table: &Arc<Table>) -> Arc<Embedded> {
    let options = EmbeddedOptions::new("unused");
    Embedded::backed(Arc::new(Shared(table.clone())), PREFIX, options).unwrap()
}

async fn contents(store: &Embedded) -> Vec<(String, Bytes)> {
    let range = RangeRequest { start: PREFIX, end: "/registry/books0", limit: 0, revision: None };
    let ranged = store.range(range).await.unwrap();
    ranged.key_values.into_iter().map(|found| (found.key.to_string(), found.value)).collect()
}

fn revision(committed: Committed) -> u64 {
    match committed {
        Committed::At(revision) => revision,
        Committed::ConditionFailed(got) => panic!("the condition failed: {got:?}"),
    }
}

async fn put(store: &Embedded, name: &str, expected: u64, json: &'static str) -> Result<u64, MvccError> {
    let key = format!("{PREFIX}{name}");
    store.put_if(&key, expected, Bytes::from_static(json.as_bytes()), None).await.map(revision)
}

#[tokio::test]
async fn objects_are_loaded_written_and_deleted() {
    let table = Table::with(&[("a/one", r#"{"n":1}"#)]);
    let store = open(&table);
    assert_eq!(contents(&store).await, [(format!("{PREFIX}a/one"), Bytes::from_static(br#"{"n":1}"#))]);

    let two = put(&store, "b/two", 0, r#"{"n":2}"#).await.unwrap();
    put(&store, "b/two", two, r#"{"n":3}"#).await.unwrap();
    assert_eq!(table.rows.lock()["b/two"], r#"{"n":3}"#);
    let stale = store.delete_if(&format!("{PREFIX}b/two"), two).await.unwrap();
    assert!(matches!(stale, Committed::ConditionFailed(_)), "a stale write reached the backend: {stale:?}");

    let first = store.get(&format!("{PREFIX}a/one")).await.unwrap().key_value.unwrap();
    revision(store.delete_if(&first.key, first.mod_revision).await.unwrap());
    assert_eq!(table.rows.lock().keys().collect::<Vec<_>>(), ["b/two"]);
}

#[tokio::test]
async fn a_later_process_begins_with_newer_revisions() {
    let table = Table::with(&[("a/one", "{}")]);
    let first = open(&table);
    let written = put(&first, "a/two", 0, "{}").await.unwrap();
    first.close().await;
    let second = open(&table);
    let objects = contents(&second).await;
    assert_eq!(objects.len(), 2);
    let again = second.get(&objects[0].0).await.unwrap().key_value.unwrap();
    assert!(again.mod_revision > written, "{} is not newer than {written}", again.mod_revision);
}

#[tokio::test]
async fn a_watch_shows_the_changes_of_others() {
    let table = Table::with(&[("a/kept", "{}"), ("a/gone", "{}"), ("a/new", r#"{"metadata":{"uid":"1"}}"#)]);
    let store = open(&table);
    let start = store.current_revision().await.unwrap();
    let mut watch = store.watch(PREFIX, "/registry/books0", start).await.unwrap();
    table.set(&[("a/kept", "{}"), ("a/new", r#"{"metadata":{"uid":"2"}}"#), ("a/born", "{}")]);

    let mut seen = Vec::new();
    while seen.len() < 4 {
        let batch = watch.next().await.unwrap().unwrap();
        seen.extend(batch.changes.into_iter().map(|change| (change.key.to_string(), change.value.is_some())));
    }
    let expected = [("a/gone", false), ("a/born", true), ("a/new", false), ("a/new", true)];
    assert_eq!(seen, expected.map(|(name, is_put)| (format!("{PREFIX}{name}"), is_put)));
    assert_eq!(*table.commits.lock(), Vec::<Vec<String>>::new(), "changes of others were written back");
}

#[tokio::test]
async fn a_failed_write_is_refused_and_writes_resume_when_the_backend_answers() {
    let table = Table::with(&[("a/one", "{}")]);
    let store = open(&table);
    *table.failure.lock() = Some("the table is locked");
    let refused = put(&store, "a/two", 0, "{}").await.unwrap_err();
    assert!(refused.to_string().contains("the table is locked"), "{refused}");
    assert_eq!(contents(&store).await.len(), 1, "reads go on, without the refused write");
    assert!(store.health().await.unwrap_err().to_string().contains("the table is locked"));

    *table.failure.lock() = None;
    let mut outcome = put(&store, "a/two", 0, "{}").await;
    while outcome.is_err() {
        tokio::time::sleep(Duration::from_millis(20)).await;
        outcome = put(&store, "a/two", 0, "{}").await;
    }
    assert_eq!(table.rows.lock().keys().collect::<Vec<_>>(), ["a/one", "a/two"]);
}

#[test]
fn a_backend_that_cannot_be_loaded_is_an_error_that_names_the_resource() {
    let table = Table::with(&[]);
    *table.failure.lock() = Some("no such table");
    let error =
        Embedded::backed(Arc::new(Shared(table)), PREFIX, EmbeddedOptions::new("unused")).err().unwrap();
    assert!(matches!(error, OpenError::Backend { .. }));
    assert_eq!(error.to_string(), "the objects below /registry/books/ cannot be loaded: no such table");
}
