//! Tests of moves between stores: embedded, etcd and files.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation is a failed test"
)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use registry_storage::embedded::{Embedded, EmbeddedOptions};
use registry_storage::etcd3::Etcd3;
use registry_storage::etcd3::moving::{EtcdImport, refuse_unfinished_import};
use registry_storage::moving_key::Earlier;
use registry_storage::mvcc::{Committed, Mvcc, MvccError, RangeRequest};
use registry_storage::testing::etcd::Etcd;
use registry_storage::transfer::{Destination, ImportOptions, Moved, Source, TransferError, export, import};
use tempfile::TempDir;

const PREFIX: &str = "/registry/";
const KEYS: usize = 300;

type Content = BTreeMap<String, (Bytes, u64)>;

async fn put(store: &dyn Mvcc, key: &str, expected: u64, value: &[u8], ttl: Option<Duration>) -> u64 {
    let written = store.put_if(key, expected, Bytes::copy_from_slice(value), ttl).await.unwrap();
    let Committed::At(revision) = written else { panic!("{key} is there") };
    revision
}

/// Writes JSON, other bytes, an event with an hour left, a key that is deleted, and a key of somebody else.
async fn fill(store: &dyn Mvcc) {
    for number in 0..KEYS {
        let json = format!("{{\"metadata\":{{\"name\":\"m{number}\"}}}}");
        put(store, &format!("/registry/configmaps/default/m{number}"), 0, json.as_bytes(), None).await;
    }
    put(store, "/registry/secrets/default/s", 0, b"k8s:enc:aesgcm:v1:k:\x00\xff\n", None).await;
    put(store, "/registry/events/default/e", 0, b"{}", Some(Duration::from_hours(1))).await;
    let gone = put(store, "/registry/configmaps/default/gone", 0, b"{}", None).await;
    let changed = put(store, "/registry/configmaps/default/changed", 0, b"{\"a\":1}", None).await;
    store.delete_if("/registry/configmaps/default/gone", gone).await.unwrap();
    put(store, "/registry/configmaps/default/changed", changed, b"{\"a\":2}", None).await;
    put(store, "/other/x", 0, b"{}", None).await;
}

async fn content(store: &dyn Mvcc) -> Content {
    let all = RangeRequest { start: PREFIX, end: "/registry0", limit: 0, revision: None };
    let ranged = store.range(all).await.unwrap();
    let pairs = ranged.key_values.into_iter();
    pairs.map(|pair| (pair.key.to_string(), (pair.value, pair.mod_revision))).collect()
}

fn values(content: &Content) -> BTreeMap<&String, &Bytes> {
    content.iter().map(|(key, (value, _))| (key, value)).collect()
}

async fn filled(directory: &Path) -> (Content, u64) {
    let store = Embedded::open(EmbeddedOptions::new(directory)).unwrap();
    fill(&*store).await;
    let (all, revision) = (content(&*store).await, store.current_revision().await.unwrap());
    store.close().await;
    (all, revision)
}

async fn moved(source: &mut Source, to: &Destination) -> Result<Moved, TransferError> {
    import(source, to, ImportOptions::default(), &mut |_, _| {}).await
}

/// A watch from an older revision ends, and the next write is newer than all that clients know.
async fn assert_history_begins_at(store: &dyn Mvcc, source_revision: u64) {
    let revision = store.current_revision().await.unwrap();
    assert!(revision >= source_revision, "{revision} is before {source_revision}");
    let old = store.watch(PREFIX, "/registry0", source_revision.saturating_sub(1)).await;
    let ended = match old {
        Err(error) => error,
        Ok(mut changes) => futures::StreamExt::next(&mut changes).await.unwrap().unwrap_err(),
    };
    assert!(matches!(ended, MvccError::Compacted { .. }), "{ended}");
    assert!(
        put(store, &format!("/registry/configmaps/default/new-{source_revision}"), 0, b"{}", None).await
            > source_revision
    );
}

fn paths(home: &TempDir) -> impl Fn(&str) -> PathBuf + '_ {
    |name| home.path().join(name)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_brings_an_embedded_store_elsewhere_with_its_revisions() {
    let home = TempDir::new().unwrap();
    let path = paths(&home);
    let (before, revision) = filled(&path("from")).await;
    let mut source = Source::embedded(&path("from"), PREFIX).unwrap();
    assert_eq!(source.other_keys(), 1);
    let exported = export(&mut source, &path("file"), "test", &mut |_, _| {}).await.unwrap();
    assert_eq!(exported, Moved { keys: KEYS as u64 + 3, revision });

    let to = Destination::Embedded(path("to"));
    let mut file = Source::file(&path("file")).unwrap();
    assert_eq!(moved(&mut file, &to).await.unwrap(), exported);
    let again = moved(&mut file, &to).await.unwrap_err().to_string();
    assert!(again.contains("is not empty"), "{again}");

    let store = Embedded::open(EmbeddedOptions::new(path("to"))).unwrap();
    assert_eq!(content(&*store).await, before);
    assert_history_begins_at(&*store, revision).await;
    store.close().await;

    // With revisions that clients may have seen since.
    let options = ImportOptions { bump_revision: 1000, restarts: false };
    let to = Destination::Embedded(path("bumped"));
    let mut file = Source::file(&path("file")).unwrap();
    assert_eq!(import(&mut file, &to, options, &mut |_, _| {}).await.unwrap().revision, revision + 1000);
    let store = Embedded::open(EmbeddedOptions::new(path("bumped"))).unwrap();
    assert_eq!(content(&*store).await, before);
    assert_history_begins_at(&*store, revision + 1000).await;
    store.close().await;
    let options = ImportOptions { bump_revision: u64::MAX, restarts: false };
    let refused = import(&mut file, &Destination::Embedded(path("far")), options, &mut |_, _| {}).await;
    assert!(matches!(refused, Err(TransferError::TooManyRevisions { .. })), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_moves_to_etcd_and_back_and_keeps_the_time_that_is_left() {
    let home = TempDir::new().unwrap();
    let path = paths(&home);
    let (before, revision) = filled(&path("from")).await;
    let etcd = Etcd::start().await.unwrap();
    let connected: Arc<Etcd3> = etcd.connect().await;
    let mut source = Source::embedded(&path("from"), PREFIX).unwrap();
    let to = Destination::Etcd(connected.clone());
    moved(&mut source, &to).await.unwrap();
    let there = content(&*connected).await;
    assert_eq!(values(&there), values(&before));
    assert!(there.values().all(|(_, at)| *at > revision), "no revision of the source has another meaning");
    refuse_unfinished_import(&connected, PREFIX).await.unwrap();
    let occupied = moved(&mut source, &to).await.unwrap_err().to_string();
    assert!(
        occupied.contains("keys below /registry/ already") && occupied.contains("etcdctl del"),
        "{occupied}"
    );
    assert_history_begins_at(&*connected, revision).await;

    // Several keys of the etcd have the same revision, which an embedded store gives to one.
    let back = content(&*connected).await;
    let mut source = Source::etcd(connected.clone(), PREFIX).await.unwrap();
    let exported = export(&mut source, &path("file"), "test", &mut |_, _| {}).await.unwrap();
    let text = std::fs::read_to_string(path("file")).unwrap();
    let event = text.lines().find(|line| line.contains("/events/")).unwrap();
    let expires = event.split_once("\"expires\":").unwrap().1.split_once(',').unwrap().0;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let left = expires.parse::<u64>().unwrap() - now;
    assert!((3000..=3615).contains(&left), "{left} s are left of an hour");
    let mut file = Source::file(&path("file")).unwrap();
    moved(&mut file, &Destination::Embedded(path("back"))).await.unwrap();
    let store = Embedded::open(EmbeddedOptions::new(path("back"))).unwrap();
    assert_eq!(values(&content(&*store).await), values(&back));
    assert_history_begins_at(&*store, exported.revision).await;
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unfinished_import_into_etcd_is_seen_and_begun_again() {
    let home = TempDir::new().unwrap();
    let path = paths(&home);
    let (before, revision) = filled(&path("from")).await;
    let etcd = Etcd::start().await.unwrap();
    let connected = etcd.connect().await;
    // As a process that was killed leaves it.
    let mut interrupted =
        EtcdImport::begin(connected.clone(), PREFIX, Earlier::Refused, "2026-01-02T03:04:05Z").await.unwrap();
    let mut source = Source::embedded(&path("from"), PREFIX).unwrap();
    interrupted.write(&source.next_page().await.unwrap()).await.unwrap();

    let served = refuse_unfinished_import(&connected, PREFIX).await.unwrap_err().to_string();
    assert!(served.contains("begun at 2026-01-02T03:04:05Z") && served.contains("--restart"), "{served}");
    assert!(Source::etcd(connected.clone(), PREFIX).await.is_err(), "a part is not exported");
    let mut source = Source::embedded(&path("from"), PREFIX).unwrap();
    let to = Destination::Etcd(connected.clone());
    let refused = moved(&mut source, &to).await.unwrap_err().to_string();
    assert!(refused.contains("runs, or was interrupted"), "{refused}");
    refuse_unfinished_import(&connected, "/elsewhere/").await.unwrap();

    let options = ImportOptions { bump_revision: 0, restarts: true };
    import(&mut source, &to, options, &mut |_, _| {}).await.unwrap();
    assert_eq!(values(&content(&*connected).await), values(&before));
    assert_history_begins_at(&*connected, revision).await;
    // The first one was not killed after all.
    let mut late = Source::embedded(&path("from"), PREFIX).unwrap();
    let refused = interrupted.write(&late.next_page().await.unwrap()).await.unwrap_err().to_string();
    assert!(refused.contains("another import"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_etcd_too_far_behind_is_refused_and_left_as_it_was() {
    let home = TempDir::new().unwrap();
    let path = paths(&home);
    filled(&path("from")).await;
    let etcd = Etcd::start().await.unwrap();
    let connected = etcd.connect().await;
    let mut source = Source::embedded(&path("from"), PREFIX).unwrap();
    let to = Destination::Etcd(connected.clone());
    let options = ImportOptions { bump_revision: 1_000_000_000, restarts: false };
    let refused = import(&mut source, &to, options, &mut |_, _| {}).await.unwrap_err().to_string();
    assert!(refused.contains("etcdutl snapshot restore empty.db --bump-revision 10000"), "{refused}");
    refuse_unfinished_import(&connected, PREFIX).await.unwrap();
    assert!(content(&*connected).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_move_that_cannot_be_says_why_and_leaves_nothing() {
    let home = TempDir::new().unwrap();
    let path = paths(&home);
    let message = |outcome: Result<Source, registry_storage::embedded::maintenance::MaintenanceError>| {
        outcome.map(|_| ()).unwrap_err().to_string()
    };
    assert!(message(Source::embedded(&path("missing"), PREFIX)).contains("there is no store"));
    assert!(!path("missing").exists());

    let store = Embedded::open(EmbeddedOptions::new(path("from"))).unwrap();
    fill(&*store).await;
    let in_use = message(Source::embedded(&path("from"), PREFIX));
    assert!(in_use.contains("is in use by another process"), "{in_use}");
    store.close().await;

    let mut source = Source::embedded(&path("from"), PREFIX).unwrap();
    export(&mut source, &path("file"), "test", &mut |_, _| {}).await.unwrap();
    let whole = std::fs::read(path("file")).unwrap();
    let to = Destination::Embedded(path("to"));
    for at in [whole.len() / 2, whole.len() - 1, whole.len() - 30] {
        std::fs::write(path("cut"), &whole[..at]).unwrap();
        let mut cut = Source::file(&path("cut")).unwrap();
        let refused = moved(&mut cut, &to).await.unwrap_err().to_string();
        assert!(refused.contains("is cut short"), "{refused}");
        assert!(!path("to").exists(), "nothing is written before the file is verified");
    }
    // Two imports at once into a directory: the second is refused, and the first completes.
    let to_lock = path("to");
    std::fs::create_dir(&to_lock).unwrap();
    let lock = registry_storage::directory_lock::DirectoryLock::acquire(&to_lock).unwrap();
    let mut file = Source::file(&path("file")).unwrap();
    let refused = moved(&mut file, &to).await.unwrap_err().to_string();
    assert!(refused.contains("is in use by another process"), "{refused}");
    drop(lock);
    // A killed import leaves no store, and the next import removes its remains.
    std::fs::create_dir_all(to_lock.join("log.new/keyspaces")).unwrap();
    let mut file = Source::file(&path("file")).unwrap();
    moved(&mut file, &to).await.unwrap();
}
