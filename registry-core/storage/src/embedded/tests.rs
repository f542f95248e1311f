//! Tests of the engine over a log with injected failures.

use std::ops::{ControlFlow, RangeInclusive};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Instant;

use futures::StreamExt;

use super::load::Loaded;
use super::log::Commit;
use super::log_error::AccessError;
use super::record::{EMPTY_REVISION, Kind, META_REVISION, Record};
use super::*;

/// A memory log whose commits can be blocked and made to fail.
struct FaultyLog {
    inner: MemoryLog,
    faults: Arc<Faults>,
}

#[derive(Default)]
struct Faults {
    /// Commits and reopening fail.
    is_broken: AtomicBool,
    /// A failed commit is found in the log later, as with a torn write.
    keeps_failed: AtomicBool,
    /// Each commit waits for a message.
    gate: Mutex<Option<mpsc::Receiver<()>>>,
}

fn full(text: &str) -> LogError {
    LogError::Io(AccessError::Log(Arc::new(std::io::Error::other(text))))
}

impl Log for FaultyLog {
    fn read(&self, revision: Revision) -> Result<Option<Bytes>, LogError> {
        self.inner.read(revision)
    }

    fn scan(
        &self,
        range: RangeInclusive<Revision>,
        visit: &mut dyn FnMut(Revision, Bytes) -> ControlFlow<()>,
    ) -> Result<(), LogError> {
        self.inner.scan(range, visit)
    }

    fn commit(&self, commit: &Commit) -> Result<(), LogError> {
        if let Some(gate) = &*self.faults.gate.lock() {
            gate.recv().unwrap();
        }
        if !self.faults.is_broken.load(Ordering::SeqCst) {
            return self.inner.commit(commit);
        }
        if self.faults.keeps_failed.load(Ordering::SeqCst) {
            self.inner.commit(commit)?;
        }
        Err(full("the disk is full"))
    }

    fn acknowledged(&self) -> Result<Revision, LogError> {
        Ok(0)
    }

    fn note_acknowledged(&self, _revision: Revision) {}

    fn reopen(&self) -> Result<(), LogError> {
        if self.faults.is_broken.load(Ordering::SeqCst) {
            return Err(full("the disk is still full"));
        }
        Ok(())
    }

    fn reclaim(&self, _live_bytes: u64) {}

    fn disk_bytes(&self) -> u64 {
        0
    }

    fn close(&self) {}
}

fn faulty_store(options: EmbeddedOptions) -> (Arc<Embedded>, Arc<Faults>) {
    let faults = Arc::new(Faults::default());
    let log = FaultyLog { inner: MemoryLog::default(), faults: faults.clone() };
    (Embedded::start(Box::new(log), None, options).unwrap(), faults)
}

async fn put(
    store: &Embedded,
    key: &str,
    expected: Revision,
    value: &'static str,
) -> Result<Committed, MvccError> {
    store.put_if(key, expected, Bytes::from_static(value.as_bytes()), None).await
}

async fn healthy(store: &Embedded) {
    let begin = Instant::now();
    while store.health().await.is_err() {
        assert!(begin.elapsed() < Duration::from_secs(10), "still: {:?}", store.health().await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_commit_is_never_seen_and_writes_resume_without_a_gap() {
    for keeps_failed in [false, true] {
        let (store, faults) = faulty_store(EmbeddedOptions::new(""));
        let mut watch = store.watch("/", "0", 0).await.unwrap();
        put(&store, "/kept", 0, "1").await.unwrap();
        faults.keeps_failed.store(keeps_failed, Ordering::SeqCst);
        faults.is_broken.store(true, Ordering::SeqCst);

        let failed = put(&store, "/lost", 0, "1").await.unwrap_err();
        assert!(matches!(&failed, MvccError::Unavailable(text) if text.contains("disk is full")), "{failed}");
        let refused = put(&store, "/other", 0, "1").await.unwrap_err();
        assert!(
            matches!(&refused, MvccError::Unavailable(text) if text.contains("refuses writes")),
            "{refused}"
        );
        assert!(store.health().await.unwrap_err().to_string().contains("disk is full"));
        assert_eq!(&*store.get("/kept").await.unwrap().key_value.unwrap().value, b"1", "reads go on");

        faults.is_broken.store(false, Ordering::SeqCst);
        healthy(&store).await;
        assert!(store.get("/lost").await.unwrap().key_value.is_none());
        let Committed::At(3) = put(&store, "/next", 0, "2").await.unwrap() else {
            panic!("not the next revision")
        };
        let mut seen = Vec::new();
        while seen.len() < 2 {
            let batch = watch.next().await.unwrap().unwrap();
            seen.extend(batch.changes.iter().map(|change| (change.key.to_string(), change.revision)));
        }
        assert_eq!(seen, [("/kept".to_owned(), 2), ("/next".to_owned(), 3)]);
        let ranged =
            store.range(RangeRequest { start: "/", end: "0", limit: 0, revision: None }).await.unwrap();
        assert_eq!((ranged.count, ranged.revision), (2, 3));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_of_one_batch_see_each_other_and_the_queue_is_bounded() {
    let options = EmbeddedOptions { queue_writes_max: 4, ..EmbeddedOptions::new("") };
    let (store, faults) = faulty_store(options);
    let (open_gate, gate) = mpsc::channel();
    *faults.gate.lock() = Some(gate);
    let spawn_put = |key: &'static str, expected, value| {
        let store = store.clone();
        tokio::spawn(async move { put(&store, key, expected, value).await })
    };
    // The first write waits at the gate; later writes queue and become one batch.
    let first = spawn_put("/first", 0, "1");
    tokio::time::sleep(Duration::from_millis(50)).await;
    let mut queued = Vec::new();
    for (expected, value) in [(0, "a"), (3, "b"), (3, "c")] {
        queued.push(spawn_put("/same", expected, value));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let compaction = tokio::spawn({
        let store = store.clone();
        async move { store.compact(99).await }
    });
    tokio::time::sleep(Duration::from_millis(20)).await;
    let overload = put(&store, "/over", 0, "x").await;
    assert!(matches!(overload, Err(MvccError::Overloaded)), "{overload:?}");

    open_gate.send(()).unwrap();
    open_gate.send(()).unwrap();
    assert!(matches!(first.await.unwrap(), Ok(Committed::At(2))));
    let mut outcomes = Vec::new();
    for write in queued {
        outcomes.push(write.await.unwrap().unwrap());
    }
    let [Committed::At(3), Committed::At(4), Committed::ConditionFailed(got)] = &outcomes[..] else {
        panic!("{outcomes:?}");
    };
    let present = got.key_value.as_ref().unwrap();
    assert_eq!((present.mod_revision, present.create_revision, &*present.value), (4, 3, &b"b"[..]));
    assert!(matches!(compaction.await.unwrap(), Err(MvccError::FutureRevision { requested: 99, .. })));
    // Otherwise the closing writer would wait at the gate.
    drop(open_gate);
}

#[tokio::test(flavor = "multi_thread")]
async fn history_is_compacted_by_age_and_by_length() {
    let by_age = AutoCompaction {
        interval: Duration::from_millis(20),
        retain: Duration::from_millis(50),
        retain_revisions: 3,
    };
    let by_length =
        EmbeddedOptions { history_revisions_max: 16, auto_compaction: None, ..EmbeddedOptions::new("") };
    for options in [EmbeddedOptions { auto_compaction: Some(by_age), ..EmbeddedOptions::new("") }, by_length]
    {
        let store = Embedded::in_memory_with(options).unwrap();
        let mut revision = 0;
        for _ in 0..40 {
            let Committed::At(next) = put(&store, "/key", revision, "value").await.unwrap() else { panic!() };
            revision = next;
        }
        let begin = Instant::now();
        while store.statistics().compacted_revision < revision - 16
            || store.statistics().record_bytes > 17 * 60
        {
            assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", store.statistics());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert!(store.statistics().compacted_revision <= revision - 3);
        assert_eq!(store.get("/key").await.unwrap().key_value.unwrap().mod_revision, revision);
    }
}

/// A log that lost a record in the middle is refused, and the message names the record.
#[test]
fn a_gap_in_the_history_is_refused() {
    let put = |revision| Record {
        kind: Kind::Put,
        revision,
        create_revision: revision,
        previous_revision: 0,
        expires_at_seconds: 0,
        key: format!("/{revision}"),
        value: Bytes::new(),
    };
    let log = MemoryLog::default();
    let mut records = vec![(META_REVISION, Record::meta(EMPTY_REVISION).encode())];
    records.extend([2, 3, 6].map(|revision| (revision, put(revision).encode())));
    log.commit(&Commit { records, ..Commit::default() }).unwrap();
    let Err(LogError::Damaged(problem)) = Loaded::from_log(&log) else { panic!("a gap goes unnoticed") };
    assert!(problem.contains("the records of the revisions 4 to 5 are missing"), "{problem}");
}
