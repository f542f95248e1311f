//! The writer thread. It takes the queued requests (without waiting for more), commits them durably, publishes the
//! result to readers and watchers, and then replies. Expiry and compaction are part of the same commits.

mod batch;
mod housekeeping;
mod recovery;
mod reloading;
mod restoring;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use registry_meta::clock::Clock;
use tokio::sync::oneshot;

use self::batch::Batch;
use self::housekeeping::Housekeeping;
use crate::metrics::CommitMetrics;

use super::index::Superseded;
use super::log::Commit;
use super::log_error::LogError;
use super::snapshot::Snapshot;
use super::state::{Expiry, SharedEngine};
use super::{Committed, EmbeddedOptions, MvccError, Revision};

/// Maximum number of writes in a commit, and maximum number of old records that it removes.
const MAX_BATCH_WRITES: usize = 256;

/// Size of the values at which a commit takes no further write, in bytes.
const MAX_BATCH_BYTES: usize = 4 * 1024 * 1024;

/// Time that the thread sleeps when there is nothing to wait for.
const IDLE: Duration = Duration::from_hours(1);

/// A request to the thread.
pub(super) enum Request {
    Write(Write),
    Compact { revision: Revision, reply: oneshot::Sender<Result<(), MvccError>> },
    Restore { snapshot: Snapshot, reply: oneshot::Sender<Result<Revision, MvccError>> },
    Close,
}

/// A conditional write.
pub(super) struct Write {
    pub(super) key: Arc<str>,
    /// The revision that the key must have; 0: absent.
    pub(super) expected: Revision,
    pub(super) action: Action,
    /// `None` for expiries, which need no reply.
    pub(super) reply: Option<oneshot::Sender<Result<Committed, MvccError>>>,
}

/// The change of a key.
pub(super) enum Action {
    Put { value: Bytes, expires_at_seconds: u64 },
    Delete,
}

/// The bounded queue of the thread.
pub(super) struct Queue {
    /// Bounded by what is queued. A channel with a bound would reserve the memory of all requests.
    requests: Sender<Request>,
    queued: Arc<Queued>,
    requests_max: usize,
    bytes_max: usize,
}

/// The number and the size of the requests in the queue.
#[derive(Default)]
struct Queued {
    requests: AtomicUsize,
    bytes: AtomicUsize,
}

/// The thread's own state.
struct Writer {
    shared: Arc<SharedEngine>,
    requests: Receiver<Request>,
    queued: Arc<Queued>,
    /// Records that are removed when the compaction revision passes them, in that order.
    superseded: VecDeque<Superseded>,
    expiries: BinaryHeap<Reverse<Expiry>>,
    housekeeping: Housekeeping,
    /// After a failed commit: when to check again whether writes succeed.
    next_probe: Option<Instant>,
    /// When to look for changes that others made in the backend.
    next_reload: Option<Instant>,
    metrics: CommitMetrics,
    clock: Clock,
}

/// Starts the thread.
pub(super) fn start(
    shared: Arc<SharedEngine>,
    options: &EmbeddedOptions,
    superseded: VecDeque<Superseded>,
    expiries: Vec<Expiry>,
) -> std::io::Result<(Queue, JoinHandle<()>)> {
    let (sender, requests) = channel();
    let next_reload = shared.log.reload_interval().map(|interval| Instant::now() + interval);
    let queued = Arc::<Queued>::default();
    let writer = Writer {
        shared,
        requests,
        queued: queued.clone(),
        superseded,
        expiries: expiries.into_iter().map(Reverse).collect(),
        housekeeping: Housekeeping::new(options.auto_compaction, options.history_revisions_max),
        next_probe: None,
        next_reload,
        metrics: options.metrics.clone(),
        clock: options.clock.clone(),
    };
    let thread = std::thread::Builder::new().name("embedded-writer".to_owned());
    let thread = thread.spawn(move || writer.run())?;
    let (requests_max, bytes_max) = (options.queue_writes_max, options.queue_bytes_max);
    Ok((Queue { requests: sender, queued, requests_max, bytes_max }, thread))
}

// === impl Queue ===

impl Queue {
    /// Queues a request, or fails immediately.
    pub(super) fn submit(&self, request: Request) -> Result<(), MvccError> {
        let bytes = request.bytes();
        if !self.queued.add(bytes, self.requests_max, self.bytes_max) {
            self.queued.remove(1, bytes);
            return Err(MvccError::Overloaded);
        }
        self.requests.send(request).map_err(|_| {
            self.queued.remove(1, bytes);
            closed()
        })
    }

    /// Requests the thread to end after the queued requests.
    pub(super) fn close(&self) {
        // The writer may have ended already.
        let _ = self.requests.send(Request::Close);
    }
}

// === impl Queued ===

impl Queued {
    /// Counts a request; false if there are more than these limits allow.
    fn add(&self, bytes: usize, requests_max: usize, bytes_max: usize) -> bool {
        let requests = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        let bytes = self.bytes.fetch_add(bytes, Ordering::Relaxed) + bytes;
        requests <= requests_max && bytes <= bytes_max
    }

    fn remove(&self, requests: usize, bytes: usize) {
        self.requests.fetch_sub(requests, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Returns the error for a thread that has ended.
pub(super) fn closed() -> MvccError {
    LogError::Closed.into()
}

// === impl Request ===

impl Request {
    fn bytes(&self) -> usize {
        match self {
            Self::Write(Write { key, action: Action::Put { value, .. }, .. }) => key.len() + value.len(),
            Self::Write(Write { key, .. }) => key.len(),
            Self::Compact { .. } | Self::Restore { .. } | Self::Close => 0,
        }
    }

    fn refuse(self, error: MvccError) {
        match self {
            Self::Write(Write { reply: Some(reply), .. }) => drop(reply.send(Err(error))),
            Self::Compact { reply, .. } => drop(reply.send(Err(error))),
            Self::Restore { reply, .. } => drop(reply.send(Err(error))),
            Self::Write(_) | Self::Close => {}
        }
    }
}

// === impl Writer ===

impl Writer {
    fn run(mut self) {
        let mut is_open = true;
        while is_open {
            let mut requests = Vec::new();
            match self.requests.recv_timeout(self.wait()) {
                Ok(Request::Close) | Err(RecvTimeoutError::Disconnected) => is_open = false,
                Ok(first) => is_open = self.take_queued(first, &mut requests),
                Err(RecvTimeoutError::Timeout) => {}
            }
            self.turn(requests);
        }
        self.housekeeping.wait_for_reclaim();
        self.shared.write().failure = Some("the store is closed".into());
        self.shared.head.send_modify(|head| head.is_closed = true);
        self.shared.log.close();
    }

    /// Takes the queued requests, up to a batch; false if they include the request to close.
    fn take_queued(&self, first: Request, requests: &mut Vec<Request>) -> bool {
        let mut bytes = first.bytes();
        requests.push(first);
        let mut is_open = true;
        while requests.len() < MAX_BATCH_WRITES && bytes < MAX_BATCH_BYTES {
            match self.requests.try_recv() {
                Ok(Request::Close) => {
                    is_open = false;
                    break;
                }
                Ok(next) => {
                    bytes += next.bytes();
                    requests.push(next);
                }
                Err(_empty_or_gone) => break,
            }
        }
        self.queued.remove(requests.len(), bytes);
        is_open
    }

    /// Returns the time until the next scheduled work.
    fn wait(&self) -> Duration {
        if let Some(probe) = self.next_probe {
            return probe.saturating_duration_since(Instant::now());
        }
        if self.removable() > 0 {
            return Duration::ZERO;
        }
        let expiry = self
            .expiries
            .peek()
            .map_or(IDLE, |Reverse(expiry)| self.clock.pause(expiry.remaining(&self.clock)));
        let reload = self.next_reload.map_or(IDLE, |reload| reload.saturating_duration_since(Instant::now()));
        expiry.min(self.housekeeping.wait()).min(reload).min(IDLE)
    }

    /// Makes one commit.
    fn turn(&mut self, requests: Vec<Request>) {
        if self.next_probe.is_some_and(|probe| probe <= Instant::now()) {
            self.recover();
        }
        let reloaded = self.reload_if_due();
        if let Some(reason) = self.shared.read().failure.clone() {
            for request in requests {
                request.refuse(MvccError::Unavailable(reason.clone()));
            }
            return;
        }
        let (current, compacted) = {
            let state = self.shared.read();
            (state.current, state.compacted)
        };
        let mut batch = Batch::new(current, compacted);
        if let Some(content) = reloaded
            && let Err(error) = batch.adopt(&self.shared, content)
        {
            tracing::error!(%error, "the changes in the backend are not shown");
        }
        for request in requests {
            match request {
                Request::Write(write) => batch.write(&self.shared, write),
                Request::Compact { revision, reply } => batch.compact(revision, reply),
                Request::Restore { snapshot, reply } => {
                    let outcome = batch.restore(&self.shared, &snapshot);
                    batch.replies.push(batch::Reply::Restore(reply, outcome));
                }
                Request::Close => {}
            }
        }
        self.add_expired(&mut batch);
        batch.compact_to(self.housekeeping.compaction_due(current, compacted));
        batch.remove(self.superseded.iter().take(self.removable()).map(|gone| gone.revision));
        let commit = batch.seal();
        let outcome = if commit.is_empty() { Ok(()) } else { self.commit(&commit, batch.changes.len()) };
        match outcome {
            Ok(()) => self.publish(batch),
            Err(error) => self.fail(batch, &error),
        }
    }

    fn commit(&self, commit: &Commit, writes: usize) -> Result<(), LogError> {
        let begun = Instant::now();
        self.shared.log.commit(commit)?;
        self.metrics.committed(writes, begun.elapsed());
        Ok(())
    }

    fn add_expired(&mut self, batch: &mut Batch) {
        let mut room = MAX_BATCH_WRITES;
        while let Some(Reverse(expiry)) = self.expiries.peek()
            && expiry.remaining(&self.clock).is_zero()
            && room > 0
        {
            let Some(Reverse(expiry)) = self.expiries.pop() else { break };
            let key = expiry.key.clone();
            let expected = expiry.revision;
            // If the key was written again, the expiry of the new revision applies, if any.
            batch.write(&self.shared, Write { key, expected, action: Action::Delete, reply: None });
            batch.expired.push(expiry);
            room -= 1;
        }
    }

    /// Returns the number of old records that the next commit may remove.
    fn removable(&self) -> usize {
        let compacted = self.shared.read().compacted;
        let removable = self.superseded.iter().take(MAX_BATCH_WRITES);
        removable.take_while(|gone| gone.at <= compacted).count()
    }

    /// Publishes a committed batch, then replies.
    fn publish(&mut self, batch: Batch) {
        let has_removed = batch.removals > 0;
        let newest = batch.newest;
        let changes = batch.changes.len();
        let mut state = self.shared.write();
        for pending in batch.changes {
            let key = state.index.apply(&pending.record, pending.record_bytes, &mut self.superseded);
            let record = pending.record;
            if record.expires_at_seconds != 0 {
                let at_seconds = record.expires_at_seconds;
                let revision = record.revision;
                self.expiries.push(Reverse(Expiry { at_seconds, revision, key }));
            }
            state.tail.push(pending.change);
        }
        if changes > 0 {
            state.tail.trim(changes);
        }
        let is_news = state.current != newest;
        state.current = newest;
        state.compacted = state.compacted.max(batch.compact_to);
        for gone in self.superseded.drain(..batch.removals) {
            state.index.forget(&gone);
        }
        let live_bytes = state.index.record_bytes();
        drop(state);
        if is_news {
            self.shared.head.send_modify(|head| head.revision = newest);
            self.shared.log.note_acknowledged(newest);
        }
        batch.replies.into_iter().for_each(batch::Reply::send);
        if has_removed && self.removable() == 0 {
            self.housekeeping.reclaim(&self.shared, live_bytes);
        }
    }
}
