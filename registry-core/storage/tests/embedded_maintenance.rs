//! Tests of an embedded store that no server uses, or that is saved while one does: backups, chains of them, and damage.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation is a failed test"
)]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use registry_storage::directory_lock::DirectoryLock;
use registry_storage::embedded::maintenance::{MaintenanceError, Restored, Source, backup, check, restore};
use registry_storage::embedded::moving::StoreReader;
use registry_storage::embedded::{Embedded, EmbeddedOptions, OpenError};
use registry_storage::moving_key::MovingKey;
use registry_storage::mvcc::{Committed, Mvcc, MvccError, RangeRequest, Ranged};
use tempfile::TempDir;

#[path = "embedded_maintenance/backups.rs"]
mod backups;
#[path = "embedded_maintenance/damage.rs"]
mod damage;
#[path = "embedded_maintenance/increments.rs"]
mod increments;

/// The content, mode, and modification time of each path.
type Snapshot = BTreeMap<PathBuf, (Vec<u8>, u32, i64, i64)>;

const KEYS: u64 = 120;

fn options(directory: &Path) -> EmbeddedOptions {
    EmbeddedOptions { memtable_bytes: 32 * 1024, ..EmbeddedOptions::new(directory) }
}

async fn try_everything(store: &Embedded) -> Result<Ranged, MvccError> {
    store.range(RangeRequest { start: "/", end: "0", limit: 0, revision: None }).await
}

async fn everything(store: &Embedded) -> Ranged {
    try_everything(store).await.unwrap()
}

/// Fills a store with keys that were created, changed, deleted, and compacted; partly in tables, partly in the
/// journal.
async fn fill(directory: &Path) -> Ranged {
    let store = Embedded::open(options(directory)).unwrap();
    let value = Bytes::from("x".repeat(700));
    let mut revisions = Vec::new();
    for number in 0..KEYS {
        let outcome = store.put_if(&format!("/key/{number}"), 0, value.clone(), None).await.unwrap();
        let Committed::At(revision) = outcome else { panic!("{number} is there") };
        revisions.push(revision);
    }
    for number in (0..KEYS).step_by(3) {
        let expected = revisions[usize::try_from(number).unwrap()];
        store
            .put_if(&format!("/key/{number}"), expected, Bytes::from_static(b"changed"), None)
            .await
            .unwrap();
    }
    store.compact(KEYS / 2).await.unwrap();
    let outcome = store.delete_if("/key/1", revisions[1]).await.unwrap();
    assert!(matches!(outcome, Committed::At(_)));
    let all = everything(&store).await;
    store.close().await;
    all
}

/// Returns all keys with their revisions and times to live.
fn keys(directory: &Path) -> Vec<MovingKey> {
    let mut reader = StoreReader::open(directory, "").unwrap();
    let mut keys = Vec::new();
    loop {
        let page = reader.next_page().unwrap();
        if page.is_empty() {
            return keys;
        }
        keys.extend(page);
    }
}

/// Returns content, mode and modification time of everything in a directory; for directories the names in them.
fn snapshot(directory: &Path) -> Snapshot {
    let mut all = BTreeMap::new();
    let mut paths = vec![directory.to_owned()];
    while let Some(path) = paths.pop() {
        let metadata = path.symlink_metadata().unwrap();
        let content = if metadata.is_dir() {
            let mut names: Vec<_> = fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()).collect();
            names.sort();
            paths.extend(names.iter().cloned());
            format!("{names:?}").into_bytes()
        } else {
            fs::read(&path).unwrap()
        };
        all.insert(path, (content, metadata.mode(), metadata.mtime(), metadata.mtime_nsec()));
    }
    all
}

fn assert_unchanged(directory: &Path, before: &Snapshot, place: &str) {
    let after = snapshot(directory);
    let changed: Vec<_> =
        before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path)).collect();
    assert!(changed.is_empty(), "{place}: a check changed {changed:?}");
}
