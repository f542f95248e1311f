//! Tests of moves whose source goes on writing.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation is a failed test"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use registry_storage::embedded::{Embedded, EmbeddedOptions};
use registry_storage::etcd3::Etcd3;
use registry_storage::etcd3::moving::refuse_unfinished_import;
use registry_storage::moving_key::Earlier;
use registry_storage::mvcc::{Committed, Mvcc, MvccError, RangeRequest};
use registry_storage::testing::etcd::Etcd;
use registry_storage::transfer::{
    Control, Destination, FollowEvent, FollowSource, Moved, Stage, TransferError, follow,
};
use tempfile::TempDir;
use tokio::sync::watch;

mod follow_embedded {
    mod moves;
}

const PREFIX: &str = "/registry/";
const SECRET: &[u8] = b"k8s:enc:aesgcm:v1:k:\x00\xff\n";
const PATIENCE: Duration = Duration::from_mins(1);

/// Values with the revisions at which they were written, by key.
type Content = BTreeMap<String, (Bytes, u64)>;

/// A command that runs.
struct Running {
    finish: watch::Sender<bool>,
    /// The news that was told.
    news: watch::Receiver<Vec<FollowEvent>>,
    task: tokio::task::JoinHandle<Result<Moved, TransferError>>,
}

/// Two etcds: keys move from the first one.
struct World {
    source: Etcd,
    from: Arc<Etcd3>,
    destination: Etcd,
    to: Arc<Etcd3>,
    home: TempDir,
}

// === impl Running ===

impl Running {
    /// Begins a move. `hook` is called with all news, before the work goes on.
    fn start(
        world: &World,
        to: Destination,
        earlier: Earlier,
        hook: impl FnMut(FollowEvent) + Send + 'static,
    ) -> Self {
        let source = FollowSource::Etcd(world.from.clone());
        let (finish, finished) = watch::channel(false);
        Self::start_with(source, (finish, finished), to, earlier, hook)
    }

    /// Begins a move of a source that knows when it is to be finished.
    fn start_with(
        source: FollowSource,
        (finish, finished): (watch::Sender<bool>, watch::Receiver<bool>),
        to: Destination,
        earlier: Earlier,
        mut hook: impl FnMut(FollowEvent) + Send + 'static,
    ) -> Self {
        let (sender, news) = watch::channel(Vec::new());
        let task = tokio::spawn(async move {
            let mut report = |event: FollowEvent| {
                hook(event);
                sender.send_modify(|news| news.push(event));
            };
            let control = Control { finish: finished, report: &mut report };
            follow(source, PREFIX, &to, earlier, control).await
        });
        Self { finish, news, task }
    }

    async fn reported(&mut self, expected: impl Fn(&FollowEvent) -> bool) {
        let seen = self.news.wait_for(|news| news.iter().any(&expected));
        let is_reported = tokio::time::timeout(PATIENCE, seen).await.expect("it is reported in time").is_ok();
        assert!(is_reported, "the command has ended; it reported {:?}", self.news.borrow());
    }

    /// Waits until all that was written so far has been followed.
    async fn caught_up(&mut self, store: &dyn Mvcc) {
        let newest = content(store).await.values().map(|(_, revision)| *revision).max().unwrap();
        self.reported(|news| matches!(news, FollowEvent::Following(position) if position.revision >= newest))
            .await;
    }

    async fn finished(self) -> Result<Moved, TransferError> {
        self.finish.send_replace(true);
        tokio::time::timeout(PATIENCE, self.task).await.expect("it ends").unwrap()
    }

    /// Ends it as a kill does.
    async fn kill(self) {
        self.task.abort();
        let _ = self.task.await;
    }
}

// === impl World ===

impl World {
    async fn new() -> Self {
        let (source, destination) = (Etcd::start().await.unwrap(), Etcd::start().await.unwrap());
        let (from, to) = (source.connect().await, destination.connect().await);
        Self { from, to, source, destination, home: TempDir::new().unwrap() }
    }

    fn etcd(&self) -> Destination {
        Destination::Etcd(self.to.clone())
    }

    async fn move_quickly(&self, to: Destination, earlier: Earlier) -> Result<Moved, TransferError> {
        Running::start(self, to, earlier, |_| {}).finished().await
    }
}

fn map(number: usize) -> String {
    format!("/registry/configmaps/default/m{number:04}")
}

async fn put(store: &dyn Mvcc, key: &str, expected: u64, value: &[u8], ttl: Option<Duration>) -> u64 {
    let written = store.put_if(key, expected, Bytes::copy_from_slice(value), ttl).await.unwrap();
    let Committed::At(revision) = written else { panic!("{key} is there") };
    revision
}

async fn fill(store: &dyn Mvcc, keys: usize) {
    for number in 0..keys {
        put(store, &map(number), 0, format!("{number}").as_bytes(), None).await;
    }
    put(store, "/registry/secrets/default/s", 0, SECRET, None).await;
    put(store, "/registry/events/default/e", 0, b"{}", Some(Duration::from_hours(1))).await;
    put(store, "/other/x", 0, b"{}", None).await;
}

async fn content(store: &dyn Mvcc) -> Content {
    let all = RangeRequest { start: PREFIX, end: "/registry0", limit: 0, revision: None };
    let pairs = store.range(all).await.unwrap().key_values.into_iter();
    pairs.map(|pair| (pair.key.to_string(), (pair.value, pair.mod_revision))).collect()
}

/// The destination has the keys of the source, each at a revision that is not smaller, and its history begins after that of the
/// source.
async fn assert_arrived(source: &dyn Mvcc, destination: &dyn Mvcc) {
    let (sent, there) = (content(source).await, content(destination).await);
    assert_eq!(sent.keys().collect::<Vec<_>>(), there.keys().collect::<Vec<_>>());
    for (key, (value, revision)) in &sent {
        let (arrived, at) = &there[key];
        assert_eq!(value, arrived, "{key}");
        assert!(
            at >= revision,
            "{key}: {at} stood for another state in the source, where it is at {revision}"
        );
    }
    let newest = source.current_revision().await.unwrap();
    assert!(destination.current_revision().await.unwrap() >= newest);
    // A client that knows the newest revision goes on if its keys have the revisions that it knows.
    let known = if sent == there { newest - 1 } else { newest };
    let old = destination.watch(PREFIX, "/registry0", known).await;
    let ended = match old {
        Err(error) => error,
        Ok(mut changes) => futures::StreamExt::next(&mut changes).await.unwrap().unwrap_err(),
    };
    assert!(matches!(ended, MvccError::Compacted { .. }), "{ended}");
}

/// Writes until it is told to stop: keys are made, changed back and forth, removed, and made again; some have a time to live.
async fn write_on(store: Arc<Etcd3>, stop: Arc<AtomicBool>) -> usize {
    let mut known: BTreeMap<usize, u64> = BTreeMap::new();
    let mut writes = 0;
    while !stop.load(Ordering::Relaxed) {
        let number = 1000 + writes * 7 % 50;
        match known.remove(&number) {
            Some(revision) if writes % 5 == 0 => {
                store.delete_if(&map(number), revision).await.unwrap();
            }
            present => {
                let value = format!("{}", writes % 3);
                let revision = put(&*store, &map(number), present.unwrap_or(0), value.as_bytes(), None).await;
                known.insert(number, revision);
            }
        }
        let event = format!("/registry/events/default/w{writes:05}");
        if writes % 10 == 0 {
            put(&*store, &event, 0, b"{}", Some(Duration::from_hours(1))).await;
        }
        // Revisions that are of no key of the prefix count too.
        if writes % 25 == 0 {
            put(&*store, &format!("/other/{writes}"), 0, b"", None).await;
        }
        writes += 1;
    }
    writes
}

fn open(directory: &Path) -> Arc<Embedded> {
    Embedded::open(EmbeddedOptions::new(directory)).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_etcd_moves_into_an_etcd_and_a_directory_while_it_is_written() {
    let world = World::new().await;
    fill(&*world.from, 500).await;
    let stop = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn(write_on(world.from.clone(), stop.clone()));
    let directory = world.home.path().join("store");
    let mut into_etcd = Running::start(&world, world.etcd(), Earlier::Refused, |_| {});
    let mut into_directory =
        Running::start(&world, Destination::Embedded(directory.clone()), Earlier::Refused, |_| {});
    for running in [&mut into_etcd, &mut into_directory] {
        running
            .reported(|news| matches!(news, FollowEvent::Following(at) if at.changes > 200 && at.keys >= 502))
            .await;
    }
    refuse_unfinished_import(&world.to, PREFIX).await.expect_err("a part is not served");
    assert!(!directory.join("log").exists(), "a part is not served");
    stop.store(true, Ordering::Relaxed);
    assert!(writer.await.unwrap() > 100);

    let sent = content(&*world.from).await;
    let moved = into_etcd.finished().await.unwrap();
    assert_eq!(moved.keys, sent.len() as u64);
    assert_arrived(&*world.from, &*world.to).await;
    refuse_unfinished_import(&world.to, PREFIX).await.unwrap();
    let moved = into_directory.finished().await.unwrap();
    assert_eq!(moved.keys, sent.len() as u64);
    let store = open(&directory);
    assert_arrived(&*world.from, &*store).await;
    assert_eq!(content(&*store).await, sent, "an embedded store keeps the revisions");
    assert_eq!(store.current_revision().await.unwrap(), moved.revision);
    let next = put(&*store, &map(9999), 0, b"1", None).await;
    assert_eq!(next, moved.revision + 1);
    store.close().await;
    drop(open(&directory));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_command_is_resumed_and_shut_out() {
    let world = World::new().await;
    fill(&*world.from, 400).await;
    let mut first = Running::start(&world, world.etcd(), Earlier::Refused, |_| {});
    first.caught_up(&*world.from).await;
    let refused = world.move_quickly(world.etcd(), Earlier::Refused).await.unwrap_err().to_string();
    assert!(refused.contains("runs, or was interrupted") && refused.contains("--resume"), "{refused}");
    first.kill().await;

    // Meanwhile keys change, to what they were too, and go.
    let before = content(&*world.from).await;
    let changed = put(&*world.from, &map(1), before[&map(1)].1, b"other", None).await;
    put(&*world.from, &map(1), changed, b"1", None).await;
    put(&*world.from, &map(2), before[&map(2)].1, b"new", None).await;
    world.from.delete_if(&map(3), before[&map(3)].1).await.unwrap();
    put(&*world.from, &map(2000), 0, b"2000", None).await;
    let mut second = Running::start(&world, world.etcd(), Earlier::Resumed, |_| {});
    second.caught_up(&*world.from).await;
    // The second one was not killed, and a third one takes over.
    let mut third = Running::start(&world, world.etcd(), Earlier::Resumed, |_| {});
    third.caught_up(&*world.from).await;
    put(&*world.from, &map(2001), 0, b"2001", None).await;
    let ended = second.finished().await.unwrap_err().to_string();
    assert!(ended.contains("was started over this one"), "{ended}");
    third.finished().await.unwrap();
    assert_arrived(&*world.from, &*world.to).await;

    let occupied = world.move_quickly(world.etcd(), Earlier::Resumed).await.unwrap_err().to_string();
    assert!(occupied.contains("keys below /registry/ already"), "{occupied}");
    let directory = world.home.path().join("store");
    let mut killed =
        Running::start(&world, Destination::Embedded(directory.clone()), Earlier::Refused, |_| {});
    killed.caught_up(&*world.from).await;
    let in_use = world.move_quickly(Destination::Embedded(directory.clone()), Earlier::Refused).await;
    assert!(in_use.unwrap_err().to_string().contains("in use"), "two at once");
    killed.kill().await;
    world.move_quickly(Destination::Embedded(directory.clone()), Earlier::Refused).await.unwrap();
    let store = open(&directory);
    assert_eq!(content(&*store).await, content(&*world.from).await);
    store.close().await;
    let occupied = world.move_quickly(Destination::Embedded(directory), Earlier::Refused).await;
    assert!(occupied.unwrap_err().to_string().contains("is not empty"));
}

/// The history of the source goes while its keys are read, and again before its changes are followed.
#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_is_compacted_meanwhile_is_compared_again() {
    let world = World::new().await;
    fill(&*world.from, 900).await;
    let directory = world.home.path().join("store");
    for to in [world.etcd(), Destination::Embedded(directory.clone())] {
        let is_etcd = matches!(to, Destination::Etcd(_));
        let from = world.from.clone();
        let runtime = tokio::runtime::Handle::current();
        let known = content(&*from).await;
        let mut steps = 0;
        let hook = move |news: FollowEvent| {
            let is_time = match news {
                FollowEvent::Stage(Stage::Writing, _) if steps == 0 => true,
                FollowEvent::Stage(Stage::Writing, keys) if steps == 1 => keys >= 902,
                _ => false,
            };
            if !is_time {
                return;
            }
            let number = if steps == 0 { 10 } else { 890 };
            steps += 1;
            tokio::task::block_in_place(|| {
                runtime.block_on(async {
                    let at = known[&map(number)].1;
                    put(&*from, &map(number), at, b"changed", None).await;
                    if steps == 2 {
                        from.delete_if(&map(11), known[&map(11)].1).await.unwrap();
                        put(&*from, &map(11), 0, b"again", None).await;
                        let gone = put(&*from, &map(3000), 0, b"gone", None).await;
                        from.delete_if(&map(3000), gone).await.unwrap();
                    }
                    from.compact(from.current_revision().await.unwrap()).await.unwrap();
                });
            });
        };
        let mut running = Running::start(&world, to, Earlier::Refused, hook);
        running.caught_up(&*world.from).await;
        let compacted = |news: &watch::Receiver<Vec<FollowEvent>>| {
            news.borrow().iter().filter(|news| matches!(news, FollowEvent::Compacted)).count()
        };
        assert_eq!(compacted(&running.news), 2);
        running.finished().await.unwrap();
        if is_etcd {
            assert_arrived(&*world.from, &*world.to).await;
        }
    }
    let store = open(&directory);
    assert_arrived(&*world.from, &*store).await;
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_after_the_last_read_and_a_foreign_write_to_the_destination_are_errors() {
    let world = World::new().await;
    fill(&*world.from, 300).await;
    let directory = world.home.path().join("store");
    let late = |world: &World, key: String| {
        let (from, runtime) = (world.from.clone(), tokio::runtime::Handle::current());
        let mut is_done = false;
        move |news: FollowEvent| {
            if matches!(news, FollowEvent::Stage(Stage::ReadingBack, _))
                && !std::mem::replace(&mut is_done, true)
            {
                tokio::task::block_in_place(|| runtime.block_on(put(&*from, &key, 0, b"late", None)));
            }
        }
    };
    let embedded = || Destination::Embedded(directory.clone());
    for (to, key) in [(world.etcd(), map(4000)), (embedded(), map(4001))] {
        let running = Running::start(&world, to, Earlier::Refused, late(&world, key.clone()));
        let refused = running.finished().await.unwrap_err();
        assert!(
            matches!(&refused, TransferError::SourceWritten { key: found, .. } if *found == key),
            "{refused}"
        );
    }
    refuse_unfinished_import(&world.to, PREFIX).await.expect_err("it is not served");
    assert!(!directory.join("log").exists());
    // Writes of others do not matter.
    let running =
        Running::start(&world, embedded(), Earlier::Refused, late(&world, "/other/late".to_owned()));
    running.finished().await.unwrap();

    let mut running = Running::start(&world, world.etcd(), Earlier::Resumed, |_| {});
    running.caught_up(&*world.from).await;
    let known = content(&*world.to).await;
    put(&*world.to, &map(5), known[&map(5)].1, b"foreign", None).await;
    world.to.delete_if(&map(6), known[&map(6)].1).await.unwrap();
    put(&*world.to, &map(6000), 0, b"foreign", None).await;
    let refused = running.finished().await.unwrap_err();
    let expected = map(5);
    assert!(
        matches!(&refused, TransferError::Unequal { different: 3, first } if *first == expected),
        "{refused}"
    );
    // The next one mends it.
    world.move_quickly(world.etcd(), Earlier::Resumed).await.unwrap();
    assert_arrived(&*world.from, &*world.to).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn etcds_that_restart_are_waited_for_and_one_without_space_ends_the_command() {
    let mut world = World::new().await;
    fill(&*world.from, 100).await;
    let mut running = Running::start(&world, world.etcd(), Earlier::Refused, |_| {});
    running.caught_up(&*world.from).await;
    world.destination.kill();
    put(&*world.from, &map(5000), 0, b"1", None).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    world.destination.restart().await.unwrap();
    running.caught_up(&*world.from).await;
    world.source.kill();
    tokio::time::sleep(Duration::from_secs(2)).await;
    world.source.restart().await.unwrap();
    put(&*world.from, &map(5001), 0, b"1", None).await;
    running.caught_up(&*world.from).await;

    world.destination.set_no_space(true).await.unwrap();
    put(&*world.from, &map(5002), 0, b"1", None).await;
    let full = tokio::time::timeout(PATIENCE, running.task).await.unwrap().unwrap().unwrap_err().to_string();
    assert!(full.contains("database space exceeded"), "{full}");
    world.destination.set_no_space(false).await.unwrap();
    world.move_quickly(world.etcd(), Earlier::Resumed).await.unwrap();
    assert_arrived(&*world.from, &*world.to).await;
}

/// Both commands wait for half a minute, and keep what was written.
#[tokio::test(flavor = "multi_thread")]
async fn an_etcd_that_does_not_come_back_ends_the_command() {
    let (mut gone_source, mut gone_destination) = (World::new().await, World::new().await);
    for world in [&gone_source, &gone_destination] {
        fill(&*world.from, 10).await;
    }
    let mut first = Running::start(&gone_source, gone_source.etcd(), Earlier::Refused, |_| {});
    let mut second = Running::start(&gone_destination, gone_destination.etcd(), Earlier::Refused, |_| {});
    first.caught_up(&*gone_source.from).await;
    second.caught_up(&*gone_destination.from).await;
    gone_source.source.kill();
    gone_destination.destination.kill();
    put(&*gone_destination.from, &map(1000), 0, b"1", None).await;
    for running in [first, second] {
        let ended = tokio::time::timeout(PATIENCE * 2, running.task).await.unwrap().unwrap();
        assert!(matches!(&ended, Err(TransferError::Etcd(_))), "{ended:?}");
    }
    gone_source.source.restart().await.unwrap();
    gone_source.move_quickly(gone_source.etcd(), Earlier::Resumed).await.unwrap();
    assert_arrived(&*gone_source.from, &*gone_source.to).await;
}
