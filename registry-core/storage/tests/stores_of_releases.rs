//! Opens the store that each release has written, and reads every object.
//!
//! `tests/stores/RELEASE` is the directory of a small embedded store, with the keys of [`KEYS`], written by that release. For a new
//! release, the generator below writes another one, which is added with the name of the release and never changed again:
//!
//! ```sh
//! NEW_STORE=registry-core/storage/tests/stores/0.2.0 cargo xtask test write_a_store --test stores_of_releases
//! ```
//!
//! A release that no longer opens one of them breaks its operators' upgrade: the way out is a change of the code, or a new format
//! version with an entry in the changelog that says how to move.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation is a failed test"
)]

use std::fs;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use registry_storage::embedded::{Embedded, EmbeddedOptions, OpenError};
use registry_storage::mvcc::{Committed, Mvcc, RangeRequest};
use tempfile::TempDir;

/// Keys with their values, revisions, and revisions of creation.
const KEYS: [(&str, &[u8], u64, u64); 3] = [
    ("/registry/configmaps/default/changed", b"{\"kind\":\"ConfigMap\",\"data\":{\"a\":\"2\"}}", 4, 2),
    ("/registry/events/default/later", b"{\"kind\":\"Event\"}", 6, 6),
    ("/registry/secrets/default/encrypted", b"k8s:enc:aescbc:v1:key:\x00\xff\n", 3, 3),
];
const NEWEST_REVISION: u64 = 7;
/// The first bytes of the file that a store's format version is in.
const VERSION_FILE: &str = "log/version";

fn stores() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stores")
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// Writes the store of this release to the directory that `NEW_STORE` names.
#[tokio::test(flavor = "multi_thread")]
async fn write_a_store() {
    let Some(directory) = std::env::var_os("NEW_STORE").map(PathBuf::from) else { return };
    let directory = stores().join(directory.file_name().unwrap());
    let store = Embedded::open(EmbeddedOptions::new(&directory)).unwrap();
    let put = async |key: &str, expected, value: &'static [u8]| {
        let written = store.put_if(key, expected, Bytes::from_static(value), None).await.unwrap();
        let Committed::At(revision) = written else { panic!("{key} is there") };
        revision
    };
    let first = put(KEYS[0].0, 0, b"{\"kind\":\"ConfigMap\",\"data\":{\"a\":\"1\"}}").await;
    put(KEYS[2].0, 0, KEYS[2].1).await;
    put(KEYS[0].0, first, KEYS[0].1).await;
    let gone = put("/registry/configmaps/default/gone", 0, b"{}").await;
    // In a hundred years, so that the key is there when the store is opened.
    let later = std::time::Duration::from_hours(24 * 365 * 100);
    store.put_if(KEYS[1].0, 0, Bytes::from_static(KEYS[1].1), Some(later)).await.unwrap();
    store.delete_if("/registry/configmaps/default/gone", gone).await.unwrap();
    store.close().await;
    // The journal is cut after its last record when it is opened again.
    Embedded::open(EmbeddedOptions::new(&directory)).unwrap().close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stores_of_all_releases_are_read() {
    let mut releases = 0;
    for entry in fs::read_dir(stores()).unwrap() {
        let original = entry.unwrap().path();
        let release = original.file_name().unwrap().to_str().unwrap();
        let home = TempDir::new().unwrap();
        copy(&original, home.path());
        // Git keeps no empty directories.
        fs::create_dir_all(home.path().join("log/keyspaces/1/tables")).unwrap();
        let store = Embedded::open(EmbeddedOptions::new(home.path()))
            .unwrap_or_else(|error| panic!("the store of {release}: {error}"));
        let all = RangeRequest { start: "/", end: "0", limit: 0, revision: None };
        let ranged = store.range(all).await.unwrap();
        let found: Vec<_> = ranged
            .key_values
            .iter()
            .map(|pair| (&*pair.key, &*pair.value, pair.mod_revision, pair.create_revision))
            .collect();
        assert_eq!(found, KEYS, "the store of {release}");
        assert_eq!(ranged.revision, NEWEST_REVISION);
        let written = store.put_if("/registry/configmaps/default/new", 0, "{}".into(), None).await.unwrap();
        assert!(matches!(written, Committed::At(revision) if revision == NEWEST_REVISION + 1));
        store.close().await;
        releases += 1;
    }
    assert!(releases > 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_of_a_newer_release_is_refused_and_stays_as_it_is() {
    let home = TempDir::new().unwrap();
    copy(&stores().join("0.1.0"), home.path());
    let version = home.path().join(VERSION_FILE);
    fs::write(&version, b"FJL\x04").unwrap();
    let refused = Embedded::open(EmbeddedOptions::new(home.path())).map(|_| ()).unwrap_err();
    assert!(matches!(refused, OpenError::OtherVersion { .. }), "{refused}");
    let text = refused.to_string();
    assert!(
        text.contains("written by another version of this program") && text.contains("format 4"),
        "{text}"
    );
    assert_eq!(fs::read(version).unwrap(), b"FJL\x04");
}
