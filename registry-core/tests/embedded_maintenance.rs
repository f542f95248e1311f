//! Check, backup, restore, and damage of an embedded store.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation is a failed test"
)]

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use registry_core::storage::embedded::maintenance::{MaintenanceError, Source, backup, check, restore};
use registry_core::storage::embedded::{Embedded, EmbeddedOptions, OpenError};
use registry_core::storage::mvcc::{Committed, Mvcc, MvccError, RangeRequest, Ranged};
use tempfile::TempDir;

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

/// A store with keys that were created, changed, deleted, and compacted; partly in tables, partly in the journal.
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

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_brings_everything_back_and_the_history_with_it() {
    let home = TempDir::new().unwrap();
    let (original, copy) = (home.path().join("original"), home.path().join("copy"));
    let (cold, warm) = (home.path().join("cold.backup"), home.path().join("warm.backup"));
    let expected = fill(&original).await;
    let report = check(&original).unwrap();
    assert_eq!(report.problems, [""; 0]);
    assert_eq!((report.revision, report.compacted_revision), (expected.revision, KEYS / 2));

    assert_eq!(backup(Source::Directory(&original), &cold).unwrap(), report);
    let store = Embedded::open(options(&original)).unwrap();
    assert!(matches!(check(&original), Err(MaintenanceError::Open(OpenError::Locked { .. }))));
    assert_eq!(backup(Source::Engine(&store), &warm).unwrap().revision, report.revision);
    store.close().await;

    for file in [&cold, &warm] {
        assert_eq!(restore(file, &copy).unwrap().revision, report.revision);
        assert_eq!(check(&copy).unwrap().problems, [""; 0]);
        let store = Embedded::open(options(&copy)).unwrap();
        let all = everything(&store).await;
        assert_eq!((all.revision, &all.key_values), (expected.revision, &expected.key_values));
        assert_eq!(store.statistics().compacted_revision, KEYS / 2);
        assert!(store.watch("/", "0", KEYS / 2).await.is_ok());
        store.close().await;
        assert!(matches!(restore(file, &copy), Err(MaintenanceError::Occupied { .. })));
        fs::remove_dir_all(&copy).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_backup_is_refused_before_anything_is_written() {
    let home = TempDir::new().unwrap();
    let (original, copy) = (home.path().join("original"), home.path().join("copy"));
    let file = home.path().join("file.backup");
    fill(&original).await;
    backup(Source::Directory(&original), &file).unwrap();
    let bytes = fs::read(&file).unwrap();
    for at in (0..bytes.len()).step_by(bytes.len() / 150) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x20;
        for damaged in [&flipped[..], &bytes[..at]] {
            fs::write(&file, damaged).unwrap();
            let refused = restore(&file, &copy).err().unwrap_or_else(|| panic!("byte {at} went unnoticed"));
            assert!(matches!(refused, MaintenanceError::Damaged { .. }), "byte {at}: {refused}");
            assert!(!copy.exists());
        }
    }
}

fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_directory(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// Whether a store opens and has everything; if not, that must be said when it is opened, or at the latest when it is
/// read (damage of what only single reads use).
async fn is_harmless(directory: &Path, expected: &Ranged, place: &str) -> bool {
    let store = match Embedded::open(options(directory)) {
        Ok(store) => store,
        Err(error) => {
            let is_clear = matches!(error, OpenError::Damaged { .. })
                && error.to_string().contains("apiserver storage restore");
            assert!(is_clear, "{place}: {error}");
            return false;
        }
    };
    let all = try_everything(&store).await;
    store.close().await;
    match all {
        Ok(all) => {
            assert_eq!((all.revision, &all.key_values), (expected.revision, &expected.key_values), "{place}");
            true
        }
        Err(error) => {
            assert!(error.to_string().contains("apiserver storage check"), "{place}: {error}");
            false
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flipped_byte_anywhere_is_refused_or_harmless_but_never_loses_data_silently() {
    let home = TempDir::new().unwrap();
    let original = home.path().join("original");
    let expected = fill(&original).await;
    // Opened again, the journal ends where its data does.
    Embedded::open(options(&original)).unwrap().close().await;

    let (mut refused, mut harmless) = (0, 0);
    for file in files(&original) {
        let bytes = fs::read(&file).unwrap();
        let offsets = (0..bytes.len()).step_by((bytes.len() / 25).max(1));
        for at in offsets {
            let damaged = home.path().join("damaged");
            copy_directory(&original, &damaged);
            let target = damaged.join(file.strip_prefix(&original).unwrap());
            let mut flipped = bytes.clone();
            flipped[at] ^= 0x20;
            fs::write(&target, flipped).unwrap();
            let place = format!("byte {at} of {}", file.display());
            if is_harmless(&damaged, &expected, &place).await {
                harmless += 1;
            } else {
                refused += 1;
                // It stays so, and a check tells it too.
                let report = check(&damaged);
                assert!(report.is_err() || !report.unwrap().problems.is_empty(), "{place}");
            }
            fs::remove_dir_all(&damaged).unwrap();
        }
    }
    println!("{refused} refused, {harmless} harmless");
    assert!(refused > 50);
}
