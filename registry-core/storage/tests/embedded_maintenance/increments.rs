//! Backups of what has changed since an earlier backup, and of stores that are made of a chain of them.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use registry_storage::embedded::maintenance::{
    Backup, BackupFile, ChainError, Increment, MaintenanceError, Restored, Source, backup, backup_since,
    backup_with_files, check,
};
use registry_storage::embedded::{Embedded, EmbeddedOptions};
use registry_storage::mvcc::{Committed, Mvcc, MvccError};
use tempfile::TempDir;

use super::keys;

const BUMP: u64 = 1_000_000_000;

/// A store with the backups that were made of it.
struct World {
    home: TempDir,
    links: Vec<PathBuf>,
}

// === impl World ===

impl World {
    fn new() -> Self {
        Self { home: TempDir::new().unwrap(), links: Vec::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn open(&self) -> Arc<Embedded> {
        Embedded::open(EmbeddedOptions::new(self.path("store"))).unwrap()
    }

    /// Writes the next backup of the chain: a full one first.
    fn save(&mut self, source: Source<'_>) -> Option<Increment> {
        let file = self.path(&format!("{}.backup", self.links.len()));
        let written = match self.links.last() {
            None => backup(source, &file).map(|_| None),
            Some(previous) => {
                backup_since(source, previous, &file, &[]).map(|(_, increment)| Some(increment))
            }
        };
        self.links.push(file);
        written.unwrap()
    }

    fn restore(&self, links: &[PathBuf]) -> Result<Restored, MaintenanceError> {
        let copy = self.path("copy");
        let _ = fs::remove_dir_all(&copy);
        Backup::read(&links[0], &links[1..])?.restore(&copy, BUMP)
    }

    fn refused(&self, links: &[PathBuf]) -> ChainError {
        match self.restore(links) {
            Err(MaintenanceError::Chain(error)) => {
                assert!(!self.path("copy").exists(), "nothing is written");
                *error
            }
            other => panic!("{other:?}"),
        }
    }
}

async fn put(store: &Embedded, key: &str, value: &str) {
    let ttl = key.contains("lease").then_some(Duration::from_hours(1));
    let present = store.get(key).await.unwrap().key_value.map_or(0, |present| present.mod_revision);
    let written = store.put_if(key, present, Bytes::copy_from_slice(value.as_bytes()), ttl).await.unwrap();
    assert!(matches!(written, Committed::At(_)));
}

async fn delete(store: &Embedded, key: &str) {
    if let Some(present) = store.get(key).await.unwrap().key_value {
        store.delete_if(key, present.mod_revision).await.unwrap();
    }
}

/// Numbers that look random, and are the same in each run.
struct Numbers(u64);

// === impl Numbers ===

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Puts, deletions and new lives of the same keys, compacted or not, with backups of a running and of a stopped store in between:
/// each link brings the state back that the store had.
#[tokio::test(flavor = "multi_thread")]
async fn each_link_of_a_chain_brings_back_what_the_store_had() {
    for seed in 0..3 {
        let mut world = World::new();
        let mut numbers = Numbers(seed);
        let mut states = Vec::new();
        for round in 0..5 {
            let store = world.open();
            store.serve_commands().unwrap();
            for _ in 0..numbers.below(40) {
                let kind = if numbers.below(4) == 0 { "lease" } else { "key" };
                let key = format!("/{kind}/{}", numbers.below(25));
                match numbers.below(3) {
                    0 => delete(&store, &key).await,
                    _ => put(&store, &key, &format!("{round}.{}", numbers.below(3))).await,
                }
            }
            if numbers.below(2) == 0 {
                store.compact(store.current_revision().await.unwrap()).await.unwrap();
            }
            let directory = world.path("store");
            match numbers.below(3) {
                0 => drop(world.save(Source::Engine(&store))),
                1 => drop(tokio::task::block_in_place(|| world.save(Source::Directory(&directory)))),
                _ => {
                    store.close().await;
                    world.save(Source::Directory(&directory));
                }
            }
            store.close().await;
            states.push((check(&directory).unwrap().revision, keys(&directory)));
        }
        for (at, (revision, state)) in states.iter().enumerate() {
            let restored = world.restore(&world.links[..=at]).unwrap();
            assert_eq!(restored.store.revision, revision + BUMP, "seed {seed}, link {at}");
            assert_eq!(keys(&world.path("copy")), *state, "seed {seed}, link {at}");
            assert_eq!(check(&world.path("copy")).unwrap(), restored.store);
            assert_eq!(restored.increments.len(), at);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_increment_has_what_changed_and_the_history_begins_at_its_revision() {
    let mut world = World::new();
    let store = world.open();
    let large = "x".repeat(2000);
    for number in 0..500 {
        put(&store, &format!("/key/{number}"), &large).await;
    }
    world.save(Source::Engine(&store));
    put(&store, "/key/7", "changed").await;
    delete(&store, "/key/8").await;
    put(&store, "/new", "1").await;
    // Without the history of the deletion it is known all the same.
    let revision = store.current_revision().await.unwrap();
    store.compact(revision).await.unwrap();
    let increment = world.save(Source::Engine(&store)).unwrap();
    assert_eq!(increment, Increment { revision, keys: 500, records: 2 });
    let sizes: Vec<u64> = world.links.iter().map(|file| file.metadata().unwrap().size()).collect();
    assert!(sizes[0] > 1_000_000 && sizes[1] < 500 * 16 + 1000, "{sizes:?}");
    // Nothing has changed.
    let again = world.save(Source::Engine(&store)).unwrap();
    assert_eq!(again, Increment { records: 0, ..increment });
    store.close().await;

    let copy = world.path("copy");
    Backup::read(&world.links[0], &world.links[1..]).unwrap().restore(&copy, 0).unwrap();
    assert_eq!(keys(&copy), keys(&world.path("store")));
    let store = Embedded::open(EmbeddedOptions::new(&copy)).unwrap();
    assert_eq!(store.current_revision().await.unwrap(), revision);
    let old = store.watch("/", "0", revision - 1).await.err();
    assert!(matches!(old, Some(MvccError::Compacted { .. })), "{old:?}");
    assert!(store.watch("/", "0", revision).await.is_ok());
    put(&store, "/next", "1").await;
    assert_eq!(store.current_revision().await.unwrap(), revision + 1);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn links_that_are_missing_foreign_or_in_another_order_are_refused_with_the_one_expected() {
    let mut world = World::new();
    let store = world.open();
    for number in 0..4 {
        put(&store, &format!("/{number}"), "1").await;
        world.save(Source::Engine(&store));
    }
    store.close().await;
    let link = |at: usize| world.links[at].clone();
    let missing = world.refused(&[link(0), link(2)]);
    assert!(matches!(missing, ChainError::OtherLink { .. }), "{missing}");
    assert!(missing.to_string().contains("but the backup \"1.backup\" (revision 3, SHA-256 "), "{missing}");
    let swapped = world.refused(&[link(0), link(2), link(1)]);
    assert!(swapped.to_string().contains("\"1.backup\" (revision 3"), "{swapped}");
    let twice = world.refused(&[link(0), link(1), link(1)]);
    assert!(twice.to_string().contains("\"0.backup\" (revision 2"), "{twice}");
    let beheaded = world.refused(&[link(1), link(2)]);
    assert!(matches!(beheaded, ChainError::NotFirst { .. }), "{beheaded}");
    let alone = world.refused(&[link(3)]);
    assert!(alone.to_string().contains("\"2.backup\" (revision 4"), "{alone}");
    let full = world.refused(&[link(0), link(0)]);
    assert!(matches!(full, ChainError::FullBackup { .. }), "{full}");

    // The names of the files do not matter, only their content.
    let renamed = world.path("renamed");
    fs::rename(link(1), &renamed).unwrap();
    assert_eq!(world.restore(&[link(0), renamed.clone(), link(2)]).unwrap().store.keys, 3);

    let mut other = World::new();
    let store = other.open();
    put(&store, "/0", "of another store").await;
    other.save(Source::Engine(&store));
    let foreign = world.refused(&[other.links[0].clone(), renamed]);
    assert!(matches!(foreign, ChainError::OtherChain { .. }), "{foreign}");
    // A store whose past is another one, at the same revisions, and one that is older.
    let mut message = Vec::new();
    for previous in [link(0), link(3)] {
        let file = other.path("never");
        let refused = backup_since(Source::Engine(&store), &previous, &file, &[]).unwrap_err();
        let MaintenanceError::Chain(refused) = refused else { panic!("{refused}") };
        assert!(matches!(*refused, ChainError::OtherStore { .. }), "{refused}");
        assert!(!file.exists());
        message.push(refused.to_string());
    }
    store.close().await;
    assert!(message[0].contains("without --since"), "{message:?}");
}

/// The newest increment is written after a restore, whose store goes on with other revisions.
#[tokio::test(flavor = "multi_thread")]
async fn a_restored_store_goes_on_with_the_chain_that_it_was_made_of() {
    let mut world = World::new();
    let store = world.open();
    put(&store, "/a", "1").await;
    world.save(Source::Engine(&store));
    put(&store, "/b", "1").await;
    world.save(Source::Engine(&store));
    put(&store, "/c", "1").await;
    let lost = world.path("lost.backup");
    backup_since(Source::Engine(&store), &world.links[1], &lost, &[]).unwrap();
    store.close().await;

    world.restore(&world.links).unwrap();
    let copy = world.path("copy");
    let store = Embedded::open(EmbeddedOptions::new(&copy)).unwrap();
    put(&store, "/d", "1").await;
    delete(&store, "/a").await;
    let third = world.path("third.backup");
    let (_, written) = backup_since(Source::Engine(&store), &world.links[1], &third, &[]).unwrap();
    assert_eq!((written.keys, written.records), (2, 1));
    store.close().await;
    let expected = keys(&copy);
    let chain = [&world.links[..], &[third]].concat();
    world.restore(&chain).unwrap();
    assert_eq!(keys(&copy), expected);
    // The restored store does not have the writes after the backup.
    let branch = [&chain[..2], &[lost, chain[2].clone()]].concat();
    let refused = world.refused(&branch);
    assert!(matches!(refused, ChainError::OtherLink { .. }), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_link_is_refused_before_anything_is_written() {
    let mut world = World::new();
    let store = world.open();
    for number in 0..5 {
        put(&store, &format!("/{number}"), "a value").await;
    }
    world.save(Source::Engine(&store));
    put(&store, "/9", "another value").await;
    delete(&store, "/1").await;
    let key = BackupFile { name: "ca.crt".to_owned(), content: "certificate".into() };
    let increment = world.path("1.backup");
    let files = std::slice::from_ref(&key);
    backup_since(Source::Engine(&store), &world.links[0], &increment, files).unwrap();
    world.links.push(increment.clone());
    let backup = Backup::read(&world.links[0], &world.links[1..]).unwrap();
    assert_eq!(backup.files(), files, "the files are those of the last link");
    for at in 0..2 {
        let file = world.links[at].clone();
        let bytes = fs::read(&file).unwrap();
        let is_whole = |cut: usize| at == 1 && bytes[cut..].starts_with(b"ORLOPFL1");
        for place in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[place] ^= 0x20;
            for damaged in [&flipped[..], &bytes[..place]] {
                // A beginning that names another kind of file, or a whole backup without its files.
                if damaged.len() < bytes.len() && is_whole(place) {
                    continue;
                }
                fs::write(&file, damaged).unwrap();
                let refused = world.restore(&world.links).err();
                let refused = refused.unwrap_or_else(|| panic!("byte {place} of link {at} went unnoticed"));
                let is_clear = matches!(
                    refused,
                    MaintenanceError::Damaged { .. } | MaintenanceError::OtherVersion { .. }
                );
                assert!(is_clear && refused.to_string().contains(&*file.to_string_lossy()), "{refused}");
                assert!(!world.path("copy").exists());
            }
        }
        fs::write(&file, bytes).unwrap();
    }
    // A file that follows a damaged one is not written.
    fs::write(&increment, "ORLOPIN1").unwrap();
    let refused = backup_since(Source::Engine(&store), &increment, &world.path("2.backup"), &[]);
    assert!(matches!(refused, Err(MaintenanceError::Damaged { .. })), "{refused:?}");
    let full = world.links[0].clone();
    let before = fs::read(&full).unwrap();
    let refused = backup_since(Source::Engine(&store), &full, &full, &[]).unwrap_err().to_string();
    assert!(refused.contains("would replace the backup that it follows"), "{refused}");
    assert_eq!(fs::read(&full).unwrap(), before);
    backup_with_files(Source::Engine(&store), &full, &[]).unwrap();
    store.close().await;
}
