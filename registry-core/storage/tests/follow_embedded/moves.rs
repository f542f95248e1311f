//! Moves of an embedded store whose server goes on.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use registry_storage::embedded::Embedded;
use registry_storage::embedded::moving::{FollowedStore, FollowedStoreError};
use registry_storage::moving_key::Earlier;
use registry_storage::mvcc::Mvcc;
use registry_storage::testing::etcd::Etcd;
use registry_storage::transfer::{Destination, FollowEvent, FollowSource, Stage, TransferError};
use tempfile::TempDir;
use tokio::sync::watch;

use super::super::{Running, assert_arrived, content, fill, map, open, put};

/// A store that is served.
struct World {
    home: TempDir,
    store: Arc<Embedded>,
}

// === impl World ===

impl World {
    async fn new(keys: usize) -> Self {
        let home = TempDir::new().unwrap();
        let store = serve(&home.path().join("source"));
        fill(&*store, keys).await;
        Self { home, store }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    fn directory(&self, name: &str) -> Destination {
        Destination::Embedded(self.path(name))
    }

    async fn follow(
        &self,
        to: Destination,
        earlier: Earlier,
        hook: impl FnMut(FollowEvent) + Send + 'static,
    ) -> Running {
        let (finish, finished) = watch::channel(false);
        let store = FollowedStore::connect(&self.path("source"), finished.clone()).await.unwrap();
        Running::start_with(FollowSource::Embedded(store), (finish, finished), to, earlier, hook)
    }

    async fn refused(&self) -> FollowedStoreError {
        refused(&self.path("source")).await
    }
}

async fn refused(directory: &Path) -> FollowedStoreError {
    let (_finish, finished) = watch::channel(false);
    FollowedStore::connect(directory, finished).await.err().expect("it is refused")
}

fn serve(directory: &Path) -> Arc<Embedded> {
    let store = open(directory);
    store.serve_commands().unwrap();
    store
}

/// Puts, changes and deletions, until it is told to stop.
async fn write_on(store: Arc<Embedded>, stop: Arc<AtomicBool>) -> usize {
    let mut writes = 0;
    while !stop.load(Ordering::Relaxed) {
        let key = map(1000 + writes * 7 % 50);
        match store.get(&key).await.unwrap().key_value {
            Some(present) if writes % 5 == 0 => {
                store.delete_if(&key, present.mod_revision).await.unwrap();
            }
            present => {
                let expected = present.map_or(0, |present| present.mod_revision);
                put(&*store, &key, expected, writes.to_string().as_bytes(), None).await;
            }
        }
        if writes % 10 == 0 {
            let event = format!("/registry/events/default/w{writes:05}");
            put(&*store, &event, 0, b"{}", Some(Duration::from_hours(1))).await;
            put(&*store, &format!("/other/{writes}"), 0, b"", None).await;
        }
        writes += 1;
    }
    writes
}

/// Two commands follow at the same time; when the server has ended, both read the directory.
#[tokio::test(flavor = "multi_thread")]
async fn an_embedded_store_moves_into_a_directory_and_an_etcd_while_it_is_written() {
    let world = World::new(400).await;
    assert_eq!(fs::metadata(world.path("source/store.sock")).unwrap().mode() & 0o777, 0o600);
    let etcd = Etcd::start().await.unwrap();
    let to = etcd.connect().await;
    let stop = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn(write_on(world.store.clone(), stop.clone()));
    let mut into_directory = world.follow(world.directory("copy"), Earlier::Refused, |_| {}).await;
    let mut into_etcd = world.follow(Destination::Etcd(to.clone()), Earlier::Refused, |_| {}).await;
    for running in [&mut into_directory, &mut into_etcd] {
        running
            .reported(|news| matches!(news, FollowEvent::Following(at) if at.changes > 100 && at.keys >= 402))
            .await;
    }
    stop.store(true, Ordering::Relaxed);
    assert!(writer.await.unwrap() > 100);
    let sent = content(&*world.store).await;
    let revision = world.store.current_revision().await.unwrap();
    world.store.close().await;
    into_directory.reported(|news| *news == FollowEvent::Unserved).await;

    let moved = into_directory.finished().await.unwrap();
    assert_eq!((moved.keys, moved.revision), (sent.len() as u64, revision));
    into_etcd.finished().await.unwrap();
    let (source, copy) = (open(&world.path("source")), open(&world.path("copy")));
    assert_eq!(content(&*copy).await, sent, "the revisions are kept");
    assert_arrived(&*source, &*copy).await;
    assert_arrived(&*source, &*to).await;
    for store in [source, copy] {
        store.close().await;
    }
}

/// The server ends and comes back, with changes that are followed, and once with a history that begins behind them.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_comes_back_is_followed_again_and_a_compacted_history_is_compared() {
    let mut world = World::new(50).await;
    let mut running = world.follow(world.directory("copy"), Earlier::Refused, |_| {}).await;
    running.caught_up(&*world.store).await;
    world.store.close().await;
    running.reported(|news| *news == FollowEvent::Unserved).await;
    world.store = serve(&world.path("source"));
    put(&*world.store, &map(5000), 0, b"1", None).await;
    running.caught_up(&*world.store).await;
    let is_compacted = |news: &FollowEvent| *news == FollowEvent::Compacted;
    assert!(!running.news.borrow().iter().any(is_compacted));

    // A command that is behind is told, as a watch is.
    world.store.close().await;
    world.store = open(&world.path("source"));
    let known = content(&*world.store).await;
    world.store.delete_if(&map(7), known[&map(7)].1).await.unwrap();
    put(&*world.store, &map(8), known[&map(8)].1, b"changed", None).await;
    put(&*world.store, &map(5001), 0, b"1", None).await;
    world.store.compact(world.store.current_revision().await.unwrap()).await.unwrap();
    world.store.serve_commands().unwrap();
    running.reported(is_compacted).await;
    running.caught_up(&*world.store).await;
    let sent = content(&*world.store).await;
    world.store.close().await;
    running.finished().await.unwrap();
    let (source, copy) = (open(&world.path("source")), open(&world.path("copy")));
    let values = |content: super::super::Content| -> Vec<_> {
        content.into_iter().map(|(key, (value, _))| (key, value)).collect()
    };
    assert_eq!(values(content(&*copy).await), values(sent));
    assert_arrived(&*source, &*copy).await;
    source.close().await;
    copy.close().await;
}

/// The server may run on until the end, unless it writes; and it does not start while its directory is read.
#[tokio::test(flavor = "multi_thread")]
async fn a_write_after_the_last_read_is_an_error_and_a_server_cannot_come_back_at_the_end() {
    let world = World::new(50).await;
    for (key, is_late) in [(map(4000), true), ("/other/late".to_owned(), false)] {
        let (store, runtime) = (world.store.clone(), tokio::runtime::Handle::current());
        let (late, mut is_done) = (key.clone(), false);
        let hook = move |news: FollowEvent| {
            let is_time = matches!(news, FollowEvent::Stage(Stage::ReadingBack, _));
            if is_time && !std::mem::replace(&mut is_done, true) {
                tokio::task::block_in_place(|| runtime.block_on(put(&*store, &late, 0, b"late", None)));
            }
        };
        let outcome = world.follow(world.directory("copy"), Earlier::Refused, hook).await.finished().await;
        match outcome {
            Err(TransferError::SourceWritten { key: found, .. }) if is_late => assert_eq!(found, key),
            outcome => assert!(outcome.is_ok() && !is_late, "{outcome:?}"),
        }
    }
    let source = world.path("source");
    let hook = move |news: FollowEvent| {
        if matches!(news, FollowEvent::Stage(Stage::ReadingBack, _)) {
            let options = registry_storage::embedded::EmbeddedOptions::new(&source);
            let refused = Embedded::open(options).err().expect("the directory is read").to_string();
            assert!(refused.contains("is in use by another process"), "{refused}");
        }
    };
    let mut running = world.follow(world.directory("other"), Earlier::Refused, hook).await;
    running.caught_up(&*world.store).await;
    world.store.close().await;
    running.finished().await.unwrap();
    open(&world.path("source")).close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_without_a_server_of_this_version_is_refused_with_what_to_do() {
    let world = World::new(3).await;
    let socket = world.path("source/store.sock");
    // A command that sends nonsense, or nothing, disturbs nobody.
    let silent = UnixStream::connect(&socket).unwrap();
    let mut other = UnixStream::connect(&socket).unwrap();
    other.write_all(b"ORLOPST2f").unwrap();
    let mut answer = Vec::new();
    other.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"ORLOPST1");
    let mut nonsense = UnixStream::connect(&socket).unwrap();
    nonsense.write_all(b"ORLOPST1f\xff\xff\xff\xffxxxx").unwrap();
    // The server closes it, with or without having read everything.
    let _ = nonsense.read_to_end(&mut answer);

    let mut following = Vec::new();
    for number in 0..8 {
        let to = world.directory(&format!("copy{number}"));
        let mut running = world.follow(to, Earlier::Refused, |_| {}).await;
        running.reported(|news| matches!(news, FollowEvent::Following(_))).await;
        following.push(running);
    }
    let ninth = world.follow(world.directory("ninth"), Earlier::Refused, |_| {}).await;
    let message = ninth.finished().await.unwrap_err().to_string();
    assert!(message.contains("8 moves follow it already"), "{message}");
    following.remove(0).kill().await;
    // The server sees it when it answers the next time.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let tenth = world.follow(world.directory("tenth"), Earlier::Refused, |_| {}).await;
    tenth.finished().await.unwrap();
    drop((following, silent));

    world.store.close().await;
    let idle = world.refused().await.to_string();
    assert!(idle.contains("leave --follow out"), "{idle}");
    let nothing = refused(&world.path("nothing")).await.to_string();
    assert!(nothing.contains("there is no store"), "{nothing}");

    let store = open(&world.path("source"));
    let unserved = world.refused().await.to_string();
    assert!(unserved.contains("is in use by another process"), "{unserved}");
    // A server of before the versions sends a backup, and one of a later version its own beginning.
    for (name, beginning) in [("backup.sock", b"ORLOPBK1"), ("store.sock", b"ORLOPST2")] {
        let socket = world.path("source").join(name);
        let server = UnixListener::bind(&socket).unwrap();
        let sending = std::thread::spawn(move || {
            let mut stream = server.accept().unwrap().0;
            stream.read_exact(&mut [0; 9]).unwrap();
            stream.write_all(beginning).unwrap();
        });
        let message = world.refused().await.to_string();
        assert!(
            message.contains("is of another version") && message.contains("stop the server"),
            "{message}"
        );
        sending.join().unwrap();
        fs::remove_file(socket).unwrap();
    }
    store.close().await;
}
