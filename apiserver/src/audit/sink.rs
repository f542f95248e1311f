//! The bounded queue in front of a backend, and the modes in which requests use it.
//!
//! Kubernetes concept: `k8s.io/apiserver/plugin/pkg/audit/buffered`.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{self, Receiver};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::metrics::AuditMetrics;
use crate::options::{BatchConfig, Mode, Throttle};

use super::event::Event;

/// Maximum number of events that are delivered together when nothing says otherwise.
const MAX_READY: usize = 512;
/// Maximum size of the queued events in mode `batch`: objects can be large.
const MAX_QUEUED_BYTES: usize = 256 * 1024 * 1024;
/// Maximum number of events that wait for a full queue in blocking modes.
pub(super) const MAX_LATE: usize = 65_536;
/// Minimum interval between messages about lost events.
const REPORT_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum time to deliver the queued events at the end.
pub(super) const FLUSH_TIMEOUT: Duration = Duration::from_secs(10);

/// Delivers events.
#[async_trait]
pub(super) trait Backend: Send + Sync + 'static {
    /// Delivers events in this order. Returns whether it succeeded; failures have been reported.
    async fn deliver(&self, events: &[Arc<Event>]) -> bool;

    /// Returns the name of the thread on which it delivers, if it blocks the thread meanwhile.
    fn own_thread(&self) -> Option<&'static str> {
        None
    }
}

/// The settings of a queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct SinkSettings {
    /// Its mode.
    pub(super) mode: Mode,
    /// Maximum number of queued events.
    pub(super) buffer_size: usize,
    /// The events that are delivered together in mode `Batch`; without it those that are ready are.
    pub(super) batch: Option<BatchConfig>,
    /// Maximum number of deliveries at once.
    pub(super) concurrency: usize,
}

/// The queue of one backend.
pub(super) struct Sink {
    mode: Mode,
    queue: mpsc::Sender<Queued>,
    queued_bytes: Arc<AtomicUsize>,
    late: Arc<Semaphore>,
    faults: Arc<Faults>,
    runtime: Handle,
    stopping: CancellationToken,
    /// Ends with the worker.
    worker: Mutex<Option<BoxFuture<'static, ()>>>,
}

/// Counts lost events, and logs some of them.
pub(super) struct Faults {
    metrics: AuditMetrics,
    reported: Mutex<Option<Instant>>,
}

/// Receives whether an event was delivered.
pub(super) struct Ticket(oneshot::Receiver<bool>);

struct Queued {
    event: Arc<Event>,
    reserved: Reserved,
    /// Receives whether the event was delivered.
    done: Option<oneshot::Sender<bool>>,
}

/// The memory of a queued event, until it is delivered.
struct Reserved {
    queued_bytes: Arc<AtomicUsize>,
    bytes: usize,
}

impl Drop for Reserved {
    fn drop(&mut self) {
        self.queued_bytes.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

// === impl Ticket ===

impl Ticket {
    /// Returns what to tell whether an event was delivered, and a ticket to wait for it with, if somebody waits.
    pub(super) fn issue(is_awaited: bool) -> Option<(oneshot::Sender<bool>, Self)> {
        is_awaited.then(|| {
            let (done, delivered) = oneshot::channel();
            (done, Self(delivered))
        })
    }

    /// Waits. Returns whether the event was delivered.
    pub(super) async fn delivered(self) -> bool {
        self.0.await.unwrap_or(false)
    }
}

// === impl Faults ===

impl Faults {
    pub(super) fn new(metrics: AuditMetrics) -> Arc<Self> {
        Arc::new(Self { metrics, reported: Mutex::default() })
    }

    /// Counts events that a plug-in lost. Logs one of them, at most once per second.
    pub(super) fn report(&self, plugin: &'static str, error: &dyn std::fmt::Display, events: &[Arc<Event>]) {
        self.metrics.failed(plugin, events.len());
        let now = Instant::now();
        {
            let mut reported = self.reported.lock();
            if reported.is_some_and(|last| now < last + REPORT_INTERVAL) {
                return;
            }
            *reported = Some(now);
        }
        let first = events.first().map(|event| event.text()).unwrap_or_default();
        let count = events.len();
        tracing::error!(
            "Error in audit plugin '{plugin}' affecting {count} audit events: {error}; first: {first}"
        );
    }
}

// === impl Sink ===

impl Sink {
    /// Starts a sink.
    ///
    /// # Errors
    /// Fails if the backend's own thread cannot be started.
    pub(super) fn start(
        backend: Arc<dyn Backend>,
        settings: SinkSettings,
        faults: Arc<Faults>,
    ) -> io::Result<Self> {
        let SinkSettings { mode, buffer_size, batch, concurrency } = settings;
        let (queue, waiting) = mpsc::channel(buffer_size);
        let stopping = CancellationToken::new();
        let batch = batch.filter(|_| mode == Mode::Batch);
        let thread = backend.own_thread();
        let worker = Worker { waiting, backend, batch, concurrency, stopping: stopping.clone() };
        let worker = match thread {
            Some(name) => worker.start_thread(name)?,
            None => AbortOnDropHandle::new(tokio::spawn(worker.run())).map(drop).boxed(),
        };
        Ok(Self {
            mode,
            queue,
            queued_bytes: Arc::default(),
            late: Arc::new(Semaphore::new(MAX_LATE)),
            faults,
            runtime: Handle::current(),
            stopping,
            worker: Mutex::new(Some(worker)),
        })
    }

    /// Returns whether requests are refused whose first event cannot be delivered.
    pub(super) fn is_strict(&self) -> bool {
        self.mode == Mode::BlockingStrict
    }

    /// Hands an event over, at once: an abandoned request loses none. If `is_awaited`, and the mode says so, returns a
    /// ticket to wait for the delivery with.
    pub(super) fn submit(&self, event: &Arc<Event>, is_awaited: bool) -> Option<Ticket> {
        let lost = |reason: &str| self.faults.report("buffered", &reason, std::slice::from_ref(event));
        let (done, delivered) = Ticket::issue(is_awaited && self.mode != Mode::Batch).unzip();
        let bytes = event.size_hint();
        let reserved = Reserved { queued_bytes: self.queued_bytes.clone(), bytes };
        let queued = self.queued_bytes.fetch_add(bytes, Ordering::Relaxed);
        if self.mode == Mode::Batch && queued.saturating_add(bytes) > MAX_QUEUED_BYTES {
            lost("audit buffer queue blocked");
            return None;
        }
        match self.queue.try_send(Queued { event: event.clone(), reserved, done }) {
            Ok(()) => {}
            Err(TrySendError::Closed(_)) => lost("audit backend shut down"),
            Err(TrySendError::Full(queued)) => match self.late.clone().try_acquire_owned() {
                Ok(permit) if self.mode != Mode::Batch => {
                    let queue = self.queue.clone();
                    self.runtime.spawn(async move {
                        let _permit = permit;
                        let _ = queue.send(queued).await;
                    });
                }
                _ => lost("audit buffer queue blocked"),
            },
        }
        delivered
    }

    /// Delivers the queued events, within bounded time.
    pub(super) async fn stop(&self) {
        self.stopping.cancel();
        let worker = self.worker.lock().take();
        if let Some(worker) = worker {
            let _ = tokio::time::timeout(FLUSH_TIMEOUT, worker).await;
        }
    }
}

/// Takes events from the queue to the backend.
struct Worker {
    waiting: Receiver<Queued>,
    backend: Arc<dyn Backend>,
    batch: Option<BatchConfig>,
    concurrency: usize,
    stopping: CancellationToken,
}

// === impl Worker ===

impl Worker {
    /// Runs on a thread of its own, until the queue is closed and empty. Returns its end.
    fn start_thread(self, name: &str) -> io::Result<BoxFuture<'static, ()>> {
        let (ended, end) = oneshot::channel::<()>();
        let runtime = Handle::current();
        let run = move || {
            runtime.block_on(self.run());
            drop(ended);
        };
        thread::Builder::new().name(name.to_owned()).spawn(run)?;
        Ok(end.map(drop).boxed())
    }

    async fn run(mut self) {
        let mut bucket = self.batch.and_then(|batch| batch.throttle).map(Bucket::new);
        let mut delivering = JoinSet::new();
        loop {
            let batch = self.collect().await;
            if batch.is_empty() {
                break;
            }
            if let Some(bucket) = &mut bucket {
                bucket.take().await;
            }
            if self.concurrency == 1 {
                deliver(self.backend.clone(), batch).await;
                continue;
            }
            while delivering.len() >= self.concurrency {
                delivering.join_next().await;
            }
            delivering.spawn(deliver(self.backend.clone(), batch));
        }
        while delivering.join_next().await.is_some() {}
    }

    /// Returns the next batch: at least one event, unless the queue is closed and empty.
    async fn collect(&mut self) -> Vec<Queued> {
        let (max_size, max_wait) =
            self.batch.map_or((MAX_READY, Duration::ZERO), |batch| (batch.max_size, batch.max_wait));
        let mut batch = Vec::new();
        let Some(first) = self.next().await else { return batch };
        batch.push(first);
        let full_at = Instant::now() + max_wait;
        while batch.len() < max_size {
            if let Ok(next) = self.waiting.try_recv() {
                batch.push(next);
                continue;
            }
            if max_wait.is_zero() || self.stopping.is_cancelled() {
                break;
            }
            match tokio::time::timeout_at(full_at, self.next()).await {
                Ok(Some(next)) => batch.push(next),
                Ok(None) | Err(_) => break,
            }
        }
        batch
    }

    async fn next(&mut self) -> Option<Queued> {
        if !self.stopping.is_cancelled() {
            tokio::select! {
                next = self.waiting.recv() => return next,
                () = self.stopping.cancelled() => {}
            }
        }
        // What is queued already is still delivered.
        self.waiting.close();
        self.waiting.recv().await
    }
}

async fn deliver(backend: Arc<dyn Backend>, batch: Vec<Queued>) {
    let (events, waiting): (Vec<_>, Vec<_>) =
        batch.into_iter().map(|queued| (queued.event, (queued.done, queued.reserved))).unzip();
    let is_delivered = backend.deliver(&events).await;
    for (done, _reserved) in waiting {
        if let Some(done) = done {
            let _ = done.send(is_delivered);
        }
    }
}

/// A token bucket.
struct Bucket {
    throttle: Throttle,
    tokens: f64,
    filled: Instant,
}

// === impl Bucket ===

impl Bucket {
    fn new(throttle: Throttle) -> Self {
        Self { throttle, tokens: capacity(throttle), filled: Instant::now() }
    }

    /// Waits for a token, and takes it.
    async fn take(&mut self) {
        self.fill();
        if self.tokens < 1.0 {
            let seconds = (1.0 - self.tokens) / f64::from(self.throttle.per_second);
            let wait = Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX);
            tokio::time::sleep(wait).await;
            self.fill();
        }
        self.tokens -= 1.0;
    }

    fn fill(&mut self) {
        let now = Instant::now();
        let fresh = now.duration_since(self.filled).as_secs_f64() * f64::from(self.throttle.per_second);
        self.tokens = (self.tokens + fresh).min(capacity(self.throttle));
        self.filled = now;
    }
}

fn capacity(throttle: Throttle) -> f64 {
    f64::from(u32::try_from(throttle.burst).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests;
