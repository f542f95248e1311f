//! Tests of the embedded engine's interface, on disk and in memory.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation is a failed test"
)]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::StreamExt;
use registry_storage::embedded::{Embedded, EmbeddedOptions, OpenError};
use registry_storage::mvcc::{ChangeStream, Committed, Mvcc, MvccError, RangeRequest};
use tempfile::TempDir;

const ALL: (&str, &str) = ("/", "0");

fn open(directory: &TempDir) -> Arc<Embedded> {
    Embedded::open(EmbeddedOptions::new(directory.path())).unwrap()
}

async fn put(store: &Embedded, key: &str, expected: u64, value: &str) -> u64 {
    match store.put_if(key, expected, Bytes::copy_from_slice(value.as_bytes()), None).await.unwrap() {
        Committed::At(revision) => revision,
        Committed::ConditionFailed(got) => panic!("{key} is not at {expected}: {got:?}"),
    }
}

async fn delete(store: &Embedded, key: &str, expected: u64) -> u64 {
    match store.delete_if(key, expected).await.unwrap() {
        Committed::At(revision) => revision,
        Committed::ConditionFailed(got) => panic!("{key} is not at {expected}: {got:?}"),
    }
}

async fn value(store: &Embedded, key: &str) -> Option<String> {
    let got = store.get(key).await.unwrap();
    got.key_value.map(|key_value| String::from_utf8(key_value.value.to_vec()).unwrap())
}

/// Returns the content of a range at a revision (0: now).
async fn state(store: &Embedded, revision: u64) -> Result<BTreeMap<String, String>, MvccError> {
    let revision = (revision != 0).then_some(revision);
    let ranged = store.range(RangeRequest { start: ALL.0, end: ALL.1, limit: 0, revision }).await?;
    assert_eq!(ranged.count, ranged.key_values.len() as u64);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Ok(ranged.key_values.iter().map(|found| (found.key.to_string(), text(&found.value))).collect())
}

/// Returns the next `count` changes as `(revision, key, value, previous)`.
async fn changes(watch: &mut ChangeStream, count: usize) -> Vec<(u64, String, Option<Bytes>, Option<Bytes>)> {
    let mut seen = Vec::new();
    while seen.len() < count {
        let batch =
            tokio::time::timeout(Duration::from_secs(20), watch.next()).await.expect("a change in time");
        let batch = batch.expect("an open watch").unwrap();
        assert!(batch.changes.iter().all(|change| change.revision <= batch.revision));
        seen.extend(
            batch
                .changes
                .into_iter()
                .map(|change| (change.revision, change.key.to_string(), change.value, change.previous)),
        );
    }
    assert_eq!(seen.len(), count);
    seen
}

/// A value in the form that changes use.
#[allow(clippy::unnecessary_wraps, reason = "compared with what changes hold")]
fn bytes(text: &'static str) -> Option<Bytes> {
    Some(Bytes::from_static(text.as_bytes()))
}

#[tokio::test(flavor = "multi_thread")]
async fn sixty_four_tasks_count_together_without_losing_one() {
    let directory = TempDir::new().unwrap();
    let store = open(&directory);
    let tasks: Vec<_> = (0..64)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move {
                for _ in 0..10 {
                    let mut got = store.get("/counter").await.unwrap();
                    loop {
                        let (count, expected) = got.key_value.map_or((0, 0), |found| {
                            (
                                str::from_utf8(&found.value).unwrap().parse::<u64>().unwrap(),
                                found.mod_revision,
                            )
                        });
                        let next = Bytes::from((count + 1).to_string());
                        match store.put_if("/counter", expected, next, None).await.unwrap() {
                            Committed::At(_) => break,
                            Committed::ConditionFailed(present) => got = present,
                        }
                    }
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(value(&store, "/counter").await.unwrap(), "640");
    assert_eq!(store.current_revision().await.unwrap(), 641, "one revision each, the first is 2");
    store.close().await;
    assert_eq!(value(&open(&directory), "/counter").await.unwrap(), "640");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_revision_can_be_read_until_it_is_compacted_also_after_a_restart() {
    let directory = TempDir::new().unwrap();
    let store = open(&directory);
    assert_eq!(state(&store, 1).await.unwrap(), BTreeMap::new(), "the empty store has a revision");
    let first = put(&store, "/a", 0, "1").await;
    let second = put(&store, "/b", 0, "1").await;
    let third = put(&store, "/a", first, "2").await;
    let fourth = delete(&store, "/b", second).await;
    assert_eq!([first, second, third, fourth], [2, 3, 4, 5]);
    let again = put(&store, "/b", 0, "3").await;
    let got = store.get("/a").await.unwrap();
    assert_eq!((got.revision, got.key_value.as_ref().unwrap().create_revision), (again, first));

    let mut store = store;
    for _ in 0..2 {
        let states = [
            (2, vec![("/a", "1")]),
            (3, vec![("/a", "1"), ("/b", "1")]),
            (4, vec![("/a", "2"), ("/b", "1")]),
            (5, vec![("/a", "2")]),
            (6, vec![("/a", "2"), ("/b", "3")]),
        ];
        for (revision, expected) in states {
            let expected =
                expected.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
            assert_eq!(state(&store, revision).await.unwrap(), expected, "at {revision}");
        }
        let future = state(&store, 7).await;
        assert!(matches!(future, Err(MvccError::FutureRevision { requested: 7, current: 6 })), "{future:?}");
        store.close().await;
        store = open(&directory);
    }

    store.compact(5).await.unwrap();
    store.compact(4).await.expect("what is compacted already is not an error");
    for _ in 0..2 {
        let compacted = state(&store, 4).await;
        assert!(matches!(compacted, Err(MvccError::Compacted { requested: 4, oldest: 5 })), "{compacted:?}");
        assert!(matches!(store.watch(ALL.0, ALL.1, 4).await.err(), Some(MvccError::Compacted { .. })));
        assert_eq!(state(&store, 5).await.unwrap().len(), 1);
        assert_eq!(changes(&mut store.watch(ALL.0, ALL.1, 5).await.unwrap(), 1).await[0].0, 6);
        assert_eq!(store.count(ALL.0, ALL.1).await.unwrap(), 2);
        store.close().await;
        store = open(&directory);
    }
    assert_eq!(store.current_revision().await.unwrap(), 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_count_what_follows_and_ranges_end_before_their_end() {
    let store = Embedded::in_memory();
    for number in 0..3000 {
        put(&store, &format!("/many/{number:04}"), 0, "x").await;
    }
    put(&store, "/many0", 0, "outside").await;
    let page = |start: &'static str, limit| {
        let store = store.clone();
        async move {
            store.range(RangeRequest { start, end: "/many0", limit, revision: Some(3001) }).await.unwrap()
        }
    };
    let first = page("/many/", 10).await;
    assert_eq!((first.key_values.len(), first.count, first.revision), (10, 3000, 3002));
    let last = page("/many/2995", 10).await;
    assert_eq!((last.key_values.len(), last.count), (5, 5));
    assert_eq!(page("/many1", 10).await.count, 0, "a range that ends before it starts is empty");
    assert_eq!(store.count("/many/", "/many0").await.unwrap(), 3000);
}

#[tokio::test(flavor = "multi_thread")]
async fn conditions_hold_and_failures_show_the_present_state() {
    let store = Embedded::in_memory();
    let revision = put(&store, "/a", 0, "1").await;
    for expected in [0, 1, revision + 1] {
        let outcome = store.put_if("/a", expected, Bytes::from_static(b"2"), None).await.unwrap();
        let Committed::ConditionFailed(got) = outcome else { panic!("written at {expected}") };
        assert_eq!(got.key_value.unwrap().mod_revision, revision);
        assert!(matches!(store.delete_if("/a", expected).await.unwrap(), Committed::ConditionFailed(_)));
    }
    let outcome = store.delete_if("/absent", 5).await.unwrap();
    assert!(matches!(outcome, Committed::ConditionFailed(got) if got.key_value.is_none()));
    assert_eq!(store.current_revision().await.unwrap(), revision, "nothing was written");
    let large = store.put_if("/large", 0, Bytes::from(vec![0; 1536 * 1024]), None).await;
    assert!(matches!(large, Err(MvccError::TooLarge(_))), "{large:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_tells_values_before_and_after_from_the_log_as_from_the_tail() {
    let directory = TempDir::new().unwrap();
    let store = open(&directory);
    let mut live = store.watch("/a", "/b", 1).await.unwrap();
    let created = put(&store, "/a", 0, "1").await;
    put(&store, "/elsewhere", 0, "x").await;
    let changed = put(&store, "/a", created, "2").await;
    let deleted = delete(&store, "/a", changed).await;
    let key = "/a".to_owned();
    let expected = [
        (created, key.clone(), bytes("1"), None),
        (changed, key.clone(), bytes("2"), bytes("1")),
        (deleted, key, None, bytes("2")),
    ];
    assert_eq!(changes(&mut live, 3).await, expected);
    // Progress: everything up to the newest revision has been delivered, including changes of other keys.
    store.request_progress().await.unwrap();
    let batch = live.next().await.unwrap().unwrap();
    assert_eq!((batch.revision, batch.changes.len()), (deleted, 0));
    store.close().await;
    assert!(live.next().await.is_none(), "a closed store ends its watches");

    let store = open(&directory);
    assert_eq!(changes(&mut store.watch("/a", "/b", 1).await.unwrap(), 3).await, expected);
    assert_eq!(changes(&mut store.watch("/a", "/b", changed).await.unwrap(), 1).await, expected[2..]);
}

#[tokio::test(flavor = "multi_thread")]
async fn quiet_watches_get_progress_by_themselves_when_asked_to() {
    let mut options = EmbeddedOptions::new("");
    options.progress_interval = Some(Duration::from_millis(20));
    let store = Embedded::in_memory_with(options).unwrap();
    let mut watch = store.watch(ALL.0, ALL.1, 0).await.unwrap();
    let revision = put(&store, "/a", 0, "1").await;
    changes(&mut watch, 1).await;
    let progress = watch.next().await.unwrap().unwrap();
    assert_eq!((progress.revision, progress.changes.len()), (revision, 0));
    // A watch from a future revision stays silent until that revision.
    let mut future = store.watch(ALL.0, ALL.1, revision + 1).await.unwrap();
    assert!(tokio::time::timeout(Duration::from_millis(60), future.next()).await.is_err());
    put(&store, "/b", 0, "1").await;
    let last = put(&store, "/c", 0, "1").await;
    loop {
        let batch = future.next().await.unwrap().unwrap();
        if let [change] = &batch.changes[..] {
            assert_eq!((change.revision, &*change.key), (last, "/c"));
            break;
        }
    }
}

/// Follows all changes and checks that each comes once and in order; stops after `last`.
async fn follow(store: Arc<Embedded>, after: u64, last: u64, pause: Duration) {
    let mut watch = store.watch(ALL.0, ALL.1, after).await.unwrap();
    let mut expected = after + 1;
    while expected <= last {
        let batch = watch.next().await.unwrap().unwrap();
        for change in batch.changes {
            assert_eq!(change.revision, expected);
            assert_eq!(change.previous.is_some(), change.key.starts_with("/own/") && expected > 200);
            expected += 1;
        }
        // Some are too slow for the shared tail and continue from the log.
        tokio::time::sleep(pause).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_under_load_deliver_everything_once_in_order_also_when_slow_or_resumed() {
    let directory = TempDir::new().unwrap();
    let store = open(&directory);
    for number in 0..199 {
        put(&store, &format!("/own/{number}"), 0, "0").await;
    }
    let last = 200 + 12_000;
    let mut watchers: Vec<_> = [0, 3, 20]
        .map(|pause| tokio::spawn(follow(store.clone(), 1, last, Duration::from_millis(pause))))
        .into();
    let writers: Vec<_> = (0..100_usize)
        .map(|writer| {
            let store = store.clone();
            tokio::spawn(async move {
                let key = format!("/own/{writer}");
                let mut revision = store.get(&key).await.unwrap().key_value.unwrap().mod_revision;
                for turn in 0..120 {
                    revision = put(&store, &key, revision, &format!("{turn}{}", "x".repeat(1000))).await;
                }
            })
        })
        .collect();
    // Resumed in the middle, repeatedly.
    for _ in 0..5 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let now = store.current_revision().await.unwrap();
        watchers.push(tokio::spawn(follow(store.clone(), now / 2 + 1, last, Duration::ZERO)));
    }
    for writer in writers {
        writer.await.unwrap();
    }
    for watcher in watchers {
        tokio::time::timeout(Duration::from_mins(1), watcher).await.expect("in time").unwrap();
    }
    assert_eq!(store.current_revision().await.unwrap(), last);
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_expire_in_time_also_across_a_restart_unless_written_again() {
    let directory = TempDir::new().unwrap();
    let store = open(&directory);
    let ttl = Some(Duration::from_secs(1));
    let mut revisions = Vec::new();
    for key in ["/gone", "/renewed", "/forever"] {
        let Committed::At(revision) = store.put_if(key, 0, Bytes::from_static(b"1"), ttl).await.unwrap()
        else {
            panic!("{key}")
        };
        revisions.push(revision);
    }
    let day = Some(Duration::from_hours(24));
    store.put_if("/renewed", revisions[1], Bytes::from_static(b"2"), day).await.unwrap();
    let last = put(&store, "/forever", revisions[2], "2").await;
    store.close().await;

    let store = open(&directory);
    let mut watch = store.watch(ALL.0, ALL.1, last).await.unwrap();
    let begin = Instant::now();
    assert_eq!(changes(&mut watch, 1).await, [(last + 1, "/gone".to_owned(), None, bytes("1"))]);
    assert!(begin.elapsed() < Duration::from_secs(4));
    tokio::time::sleep(Duration::from_millis(1200)).await;
    assert_eq!(state(&store, 0).await.unwrap().into_keys().collect::<Vec<_>>(), ["/forever", "/renewed"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn compaction_frees_records_and_keeps_the_newest_of_each_key() {
    let directory = TempDir::new().unwrap();
    let store = open(&directory);
    let mut revision = 0;
    for _ in 0..1000 {
        revision = put(&store, "/busy", revision, &"x".repeat(1000)).await;
    }
    let stays = put(&store, "/stays", 0, "1").await;
    let goes = put(&store, "/goes", 0, "1").await;
    let last = delete(&store, "/goes", goes).await;
    store.compact(last).await.unwrap();
    let begin = Instant::now();
    while store.statistics().record_bytes > 2000 {
        assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", store.statistics());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(store.statistics().keys, 2);
    store.close().await;
    let store = open(&directory);
    assert_eq!(store.statistics().keys, 2);
    assert_eq!(store.current_revision().await.unwrap(), last);
    assert_eq!(store.get("/stays").await.unwrap().key_value.unwrap().mod_revision, stays);
    assert_eq!(put(&store, "/next", 0, "1").await, last + 1);
}

/// Space of overwritten and compacted records is reclaimed: the disk holds live data, and journals up to their limit.
#[tokio::test(flavor = "multi_thread")]
async fn disk_use_stays_bounded_while_history_is_compacted() {
    const CHURN_BYTES: u64 = 256 << 20;
    // A journal of 64 MiB, removed records of up to 64 MiB, which are kept until there are more, and the rest.
    const MAX_DISK_BYTES: u64 = 136 << 20;
    const VALUE_BYTES: u64 = 100 << 10;
    let directory = TempDir::new().unwrap();
    let mut options = EmbeddedOptions::new(directory.path());
    options.memtable_bytes = 2 << 20;
    let store = Embedded::open(options).unwrap();
    let writers = (0..16).map(|writer| {
        let store = store.clone();
        tokio::spawn(async move {
            let key = format!("/{writer}");
            let mut revision = 0;
            let value = "x".repeat(usize::try_from(VALUE_BYTES).unwrap());
            for turn in 0..CHURN_BYTES / VALUE_BYTES / 16 {
                revision = put(&store, &key, revision, &value).await;
                if turn % 8 == 7 {
                    store.compact(revision.saturating_sub(50)).await.unwrap();
                }
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let begin = Instant::now();
    let mut revision = 0;
    loop {
        // Space is freed at a compaction, but at most every 30 s.
        revision = put(&store, "/last", revision, "x").await;
        store.compact(revision).await.unwrap();
        if store.statistics().disk_bytes <= MAX_DISK_BYTES {
            break;
        }
        assert!(begin.elapsed() < Duration::from_secs(90), "{:?}", store.statistics());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    store.close().await;
    assert_eq!(open(&directory).statistics().keys, 17);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_has_one_user_at_a_time() {
    let directory = TempDir::new().unwrap();
    let store = open(&directory);
    let refused = Embedded::open(EmbeddedOptions::new(directory.path())).err().unwrap();
    assert!(matches!(refused, OpenError::Locked { .. }), "{refused}");
    let text = refused.to_string();
    assert!(text.contains(directory.path().to_str().unwrap()), "{text}");
    assert!(text.contains(&std::process::id().to_string()) && text.contains("another directory"), "{text}");
    store.close().await;
    let closed = store.put_if("/a", 0, Bytes::new(), None).await;
    assert!(matches!(closed, Err(MvccError::Unavailable(_))), "{closed:?}");
    assert!(store.health().await.is_err());
    open(&directory);
}

#[tokio::test(flavor = "multi_thread")]
async fn opening_an_empty_store_is_fast() {
    let directory = TempDir::new().unwrap();
    let mut times = Vec::new();
    for _ in 0..5 {
        let begin = Instant::now();
        let store = open(&directory);
        times.push(begin.elapsed());
        store.close().await;
    }
    println!("opening took {times:?}");
    assert!(*times.iter().min().unwrap() < Duration::from_millis(250), "{times:?}");
}
