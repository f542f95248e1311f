//! Tests of check, backup, restore, and damage of an embedded store.
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

#[tokio::test(flavor = "multi_thread")]
async fn a_restore_that_raises_nothing_brings_the_history_back() {
    let home = TempDir::new().unwrap();
    let original = home.path().join("original");
    let copy = home.path().join("copy");
    let cold = home.path().join("cold.backup");
    let warm = home.path().join("warm.backup");
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
        let restored = restore(file, &copy, 0).unwrap();
        assert_eq!(
            restored,
            Restored { backup: report.clone(), increments: Vec::new(), store: report.clone() }
        );
        assert_eq!(check(&copy).unwrap().problems, [""; 0]);
        let store = Embedded::open(options(&copy)).unwrap();
        let all = everything(&store).await;
        assert_eq!((all.revision, &all.key_values), (expected.revision, &expected.key_values));
        assert_eq!(store.statistics().compacted_revision, KEYS / 2);
        assert!(store.watch("/", "0", KEYS / 2).await.is_ok());
        store.close().await;
        assert!(matches!(restore(file, &copy, 0), Err(MaintenanceError::Occupied { .. })));
        fs::remove_dir_all(&copy).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_in_use_is_backed_up_while_it_is_written() {
    let home = TempDir::new().unwrap();
    let original = home.path().join("original");
    let copy = home.path().join("copy");
    let file = home.path().join("file.backup");
    fill(&original).await;
    // A server that was killed leaves its socket behind.
    drop(UnixListener::bind(original.join("store.sock")).unwrap());
    let store = Embedded::open(options(&original)).unwrap();
    let save = || {
        let (original, file) = (original.clone(), file.clone());
        tokio::task::spawn_blocking(move || backup(Source::Directory(&original), &file))
    };
    let refused = save().await.unwrap();
    assert!(matches!(refused, Err(MaintenanceError::Open(OpenError::Locked { .. }))), "{refused:?}");
    store.serve_commands().unwrap();
    assert_eq!(fs::metadata(original.join("store.sock")).unwrap().mode() & 0o777, 0o600);

    let writer = tokio::spawn({
        let store = store.clone();
        async move {
            for number in 0.. {
                let (key, value) = (format!("/later/{number:06}"), Bytes::from(number.to_string()));
                if store.put_if(&key, 0, value, None).await.is_err() {
                    return number;
                }
            }
            0
        }
    });
    let mut revision = 0;
    for _ in 0..4 {
        let report = save().await.unwrap().unwrap();
        assert!(report.revision >= revision, "{report:?}");
        revision = report.revision;
        assert_eq!(restore(&file, &copy, 0).unwrap().store, report);
        let copied = Embedded::open(options(&copy)).unwrap();
        let all = everything(&copied).await;
        copied.close().await;
        let exact = RangeRequest { start: "/", end: "0", limit: 0, revision: Some(report.revision) };
        assert_eq!(all.key_values, store.range(exact).await.unwrap().key_values);
        fs::remove_dir_all(&copy).unwrap();
    }
    store.close().await;
    assert!(writer.await.unwrap() > 0);
    assert!(!original.join("store.sock").exists());
    assert_eq!(save().await.unwrap().unwrap(), check(&original).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_ends_during_a_backup_leaves_the_one_before() {
    let home = TempDir::new().unwrap();
    let original = home.path().join("original");
    let file = home.path().join("file.backup");
    fill(&original).await;
    backup(Source::Directory(&original), &file).unwrap();
    let whole = fs::read(&file).unwrap();
    let greeted = [&b"ORLOPST1"[..], &whole].concat();
    let _used = DirectoryLock::acquire(&original).unwrap();
    for length in [0, 7, 8, 15, 16, 40, whole.len() / 2, greeted.len() - 1] {
        let socket = original.join("store.sock");
        let server = UnixListener::bind(&socket).unwrap();
        let sent = greeted[..length].to_vec();
        let sending = std::thread::spawn(move || server.accept().unwrap().0.write_all(&sent).unwrap());
        let refused = backup(Source::Directory(&original), &file);
        assert!(matches!(refused, Err(MaintenanceError::Interrupted { .. })), "{length}: {refused:?}");
        sending.join().unwrap();
        fs::remove_file(&socket).unwrap();
    }
    let mut damaged = greeted.clone();
    damaged[whole.len() / 2] ^= 1;
    let socket = original.join("store.sock");
    let server = UnixListener::bind(&socket).unwrap();
    let sending = std::thread::spawn(move || {
        let mut stream = server.accept().unwrap().0;
        stream.read_exact(&mut [0; 9]).unwrap();
        // The reader may end before everything is written.
        drop(stream.write_all(&damaged));
    });
    let refused = backup(Source::Directory(&original), &file);
    assert!(matches!(refused, Err(MaintenanceError::Damaged { .. })), "{refused:?}");
    sending.join().unwrap();
    assert_eq!(fs::read(&file).unwrap(), whole);
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 2, "nothing else is left");
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

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_store_answers_every_revision_of_its_clients_as_compacted() {
    const BUMP: u64 = 1_000_000_000;
    let home = TempDir::new().unwrap();
    let original = home.path().join("original");
    let copy = home.path().join("copy");
    let file = home.path().join("file.backup");
    fill(&original).await;
    let store = Embedded::open(options(&original)).unwrap();
    store.put_if("/lease", 0, Bytes::new(), Some(Duration::from_hours(1))).await.unwrap();
    store.close().await;
    let report = backup(Source::Directory(&original), &file).unwrap();

    let refused = restore(&file, &copy, u64::MAX);
    assert!(matches!(refused, Err(MaintenanceError::TooManyRevisions(_))), "{refused:?}");
    assert!(!copy.exists());
    let restored = restore(&file, &copy, BUMP).unwrap();
    assert_eq!(restored.backup, report);
    let revision = report.revision + BUMP;
    assert_eq!((restored.store.revision, restored.store.compacted_revision), (revision, revision));
    assert_eq!(restored.store.keys as u64, restored.store.records, "no record is without use");
    assert_eq!(check(&copy).unwrap(), restored.store);
    assert_eq!(keys(&copy), keys(&original));

    let store = Embedded::open(options(&copy)).unwrap();
    for known in [KEYS / 2, report.revision, report.revision + 60, revision - 1] {
        let refused = store.watch("/", "0", known).await.err();
        assert!(matches!(refused, Some(MvccError::Compacted { .. })), "{known}: {refused:?}");
    }
    assert!(store.watch("/", "0", revision).await.is_ok());
    let written = store.put_if("/new", 0, Bytes::new(), None).await.unwrap();
    assert!(matches!(written, Committed::At(new) if new == revision + 1), "{written:?}");
    store.close().await;

    // It is saved and restored as every other store.
    let report = backup(Source::Directory(&copy), &file).unwrap();
    let again = home.path().join("again");
    assert_eq!(restore(&file, &again, BUMP).unwrap().store.revision, report.revision + BUMP);
    assert_eq!(keys(&again), keys(&copy));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_backup_is_refused_before_anything_is_written() {
    let home = TempDir::new().unwrap();
    let original = home.path().join("original");
    let copy = home.path().join("copy");
    let file = home.path().join("file.backup");
    fill(&original).await;
    backup(Source::Directory(&original), &file).unwrap();
    let bytes = fs::read(&file).unwrap();
    for at in (0..bytes.len()).step_by(bytes.len() / 150) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 0x20;
        for damaged in [&flipped[..], &bytes[..at]] {
            fs::write(&file, damaged).unwrap();
            let refused =
                restore(&file, &copy, 1).err().unwrap_or_else(|| panic!("byte {at} went unnoticed"));
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

/// Whether a store opens and has all its content. If not, opening must report it, or at the latest a read (for damage
/// of parts that only single reads use).
async fn is_harmless(directory: &Path, expected: &Ranged, place: &str) -> bool {
    let store = match Embedded::open(options(directory)) {
        Ok(store) => store,
        Err(error) => {
            let text = error.to_string();
            let is_damaged =
                matches!(error, OpenError::Damaged { .. }) && text.contains("apiserver storage restore");
            // A changed number of the version cannot be told from another version.
            let is_clear = is_damaged || text.contains("was written by another version of this program");
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
    // After another open, the journal ends where its data does.
    Embedded::open(options(&original)).unwrap().close().await;

    let mut refused = 0;
    let mut harmless = 0;
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
                // The damage persists, and a check reports it too.
                let report = check(&damaged);
                assert!(report.is_err() || !report.unwrap().problems.is_empty(), "{place}");
            }
            fs::remove_dir_all(&damaged).unwrap();
        }
    }
    println!("{refused} refused, {harmless} harmless");
    assert!(refused > 50);
}

/// Returns content, mode and modification time of everything in a directory; for directories the names in them.
fn snapshot(directory: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u32, i64, i64)> {
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

fn assert_unchanged(directory: &Path, before: &BTreeMap<PathBuf, (Vec<u8>, u32, i64, i64)>, place: &str) {
    let after = snapshot(directory);
    let changed: Vec<_> =
        before.keys().chain(after.keys()).filter(|path| before.get(*path) != after.get(*path)).collect();
    assert!(changed.is_empty(), "{place}: a check changed {changed:?}");
}

#[derive(Clone, Copy, Debug)]
enum Damage {
    Deleted,
    Emptied,
    CutShort,
    Zeroed,
}

// === impl Damage ===

impl Damage {
    const ALL: [Self; 4] = [Self::Deleted, Self::Emptied, Self::CutShort, Self::Zeroed];

    fn inflict(self, file: &Path) {
        let bytes = fs::read(file).unwrap();
        match self {
            Self::Deleted => fs::remove_file(file),
            Self::Emptied => fs::write(file, ""),
            Self::CutShort => fs::write(file, &bytes[..bytes.len() / 2]),
            Self::Zeroed => fs::write(file, vec![0; bytes.len()]),
        }
        .unwrap();
    }
}

/// Fills a store with tables, an old manifest and journals of more than one generation.
async fn fill_with_tables(directory: &Path) -> Ranged {
    fill(directory).await;
    for round in 0..4 {
        let store = Embedded::open(options(directory)).unwrap();
        for number in 0..60 {
            let value = Bytes::from("y".repeat(700));
            store.put_if(&format!("/round/{round}/{number}"), 0, value, None).await.unwrap();
        }
        store.close().await;
    }
    let store = Embedded::open(options(directory)).unwrap();
    let all = everything(&store).await;
    store.close().await;
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn no_damage_to_a_single_file_lets_a_check_or_a_start_delete_data() {
    let home = TempDir::new().unwrap();
    let original = home.path().join("original");
    let expected = fill_with_tables(&original).await;
    let before = snapshot(&original);
    assert_eq!(check(&original).unwrap().problems, [""; 0]);
    assert_unchanged(&original, &before, "an intact store");

    let mut refused = Vec::new();
    let mut harmless = Vec::new();
    for file in files(&original) {
        let name = file.strip_prefix(&original).unwrap();
        for damage in Damage::ALL {
            let place = format!("{damage:?} {}", name.display());
            let damaged = home.path().join("damaged");
            copy_directory(&original, &damaged);
            let target = damaged.join(name);
            damage.inflict(&target);

            let before = snapshot(&damaged);
            let report = check(&damaged);
            assert_unchanged(&damaged, &before, &place);

            if is_harmless(&damaged, &expected, &place).await {
                harmless.push(place.clone());
            } else {
                assert!(report.is_err() || !report.unwrap().problems.is_empty(), "{place}");
                refused.push(place.clone());
                // With the file restored, all content is present.
                fs::copy(&file, &target).unwrap();
                assert!(is_harmless(&damaged, &expected, &place).await, "{place}: data is lost");
            }
            fs::remove_dir_all(&damaged).unwrap();
        }
    }
    println!("refused: {refused:#?}\nharmless: {harmless:#?}");
    assert!(refused.iter().any(|place| place == "Deleted log/keyspaces/1/current"), "{refused:?}");
    assert!(refused.len() > 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_file_is_named_with_the_way_out() {
    let home = TempDir::new().unwrap();
    let original = home.path().join("original");
    fill_with_tables(&original).await;
    let before = snapshot(&original);
    let tables: Vec<_> = files(&original.join("log/keyspaces/1/tables"));
    let mut paths = vec![original.join("log"), original.join("log/keyspaces"), original.join("log/version")];
    for keyspace in ["0", "1"] {
        let keyspace = original.join("log/keyspaces").join(keyspace);
        paths.extend([keyspace.clone(), keyspace.join("current"), keyspace.join("tables")]);
    }
    paths.extend(tables);
    let aside = home.path().join("aside");
    for path in paths {
        fs::rename(&path, &aside).unwrap();
        for error in [
            Embedded::open(options(&original)).map(|_| ()).unwrap_err().to_string(),
            check(&original).unwrap_err().to_string(),
        ] {
            // A missing directory of tables is reported by the first table, and one of a keyspace by its parent: its number is
            // not known without it.
            let reported = if path.ends_with("keyspaces/1") { path.parent().unwrap() } else { &path };
            assert!(error.contains(reported.to_str().unwrap()), "{}: {error}", path.display());
            assert!(error.contains("apiserver storage restore"), "{error}");
        }
        fs::rename(&aside, &path).unwrap();
    }
    let after = snapshot(&original);
    // Except for the lock and the times of moved files.
    for (path, (content, ..)) in before.iter().filter(|(path, _)| !path.ends_with("LOCK")) {
        assert_eq!(&after[path].0, content, "{}", path.display());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_was_never_completed_is_created_again() {
    let home = TempDir::new().unwrap();
    let directory = home.path().join("data");
    let backup_file = home.path().join("backup");
    fill(&home.path().join("other")).await;
    backup(Source::Directory(&home.path().join("other")), &backup_file).unwrap();
    let leftovers = |directory: &Path| {
        fs::create_dir_all(directory.join("log.new/keyspaces/1/tables")).unwrap();
        fs::write(directory.join("log.new/version"), "").unwrap();
        fs::write(directory.join("LOCK"), "").unwrap();
    };
    leftovers(&directory);
    let error = check(&directory).unwrap_err().to_string();
    assert!(error.contains("there is no store"), "{error}");
    restore(&backup_file, &directory, 1).unwrap();
    assert_eq!(check(&directory).unwrap().problems, [""; 0]);
    fs::remove_dir_all(&directory).unwrap();

    leftovers(&directory);
    // The remains of an earlier version after a power loss.
    fs::write(directory.join("acknowledged"), [0; 16]).unwrap();
    let store = Embedded::open(options(&directory)).unwrap();
    assert_eq!(store.current_revision().await.unwrap(), 1);
    store.close().await;
    assert!(!directory.join("log.new").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_does_not_follow_links_and_is_private() {
    let home = TempDir::new().unwrap();
    let original = home.path().join("original");
    fill(&original).await;
    let before = snapshot(&original);
    let victim = home.path().join("victim");
    let link = home.path().join("link");
    fs::write(&victim, "victim").unwrap();
    symlink(&victim, &link).unwrap();
    let error = backup(Source::Directory(&original), &link).unwrap_err().to_string();
    assert!(error.contains("symbolic link"), "{error}");
    assert_eq!(fs::read(&victim).unwrap(), b"victim");
    // An older backup that all users can read is replaced by a backup that only its owner can read.
    fs::set_permissions(&victim, fs::Permissions::from_mode(0o666)).unwrap();
    backup(Source::Directory(&original), &victim).unwrap();
    assert_eq!(victim.metadata().unwrap().mode() & 0o777, 0o600);
    assert_unchanged(&original, &before, "a backup");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_others_can_enter_is_closed_to_them() {
    let home = TempDir::new().unwrap();
    let directory = home.path().join("data");
    fill(&directory).await;
    fs::set_permissions(&directory, fs::Permissions::from_mode(0o755)).unwrap();
    Embedded::open(options(&directory)).unwrap().close().await;
    assert_eq!(directory.metadata().unwrap().mode() & 0o777, 0o700);
}
