//! The log in the modes in which requests wait for their events: the task of a request writes them itself.
//!
//! To hand an event to another thread, and to wait for it, costs a request several times as much as the write. One task at a time
//! writes the lines that all have added; the others wait for it, and block no thread. A thread of the log's own writes what
//! nobody waits for, a few milliseconds later, and everything while the file is slow or is not a regular one: a disk that
//! hangs blocks one request's thread, once.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use super::super::event::Event;
use crate::options::Mode;

use super::super::sink::{FLUSH_TIMEOUT, Faults, MAX_LATE, Ticket};
use super::{LogBackend, Output};

/// Name of the log's own thread.
const THREAD_NAME: &str = "audit-log";
/// Delay of lines that nobody waits for.
const DELAY: Duration = Duration::from_millis(5);
/// Time without lines after which the log's own thread sleeps until it is woken.
const ACTIVE: Duration = Duration::from_millis(100);
/// Duration of a write from which the file is slow.
const SLOW: Duration = Duration::from_millis(20);
/// Number of quick writes in sequence after which it is not slow any more.
const QUICK_WRITES: usize = 100;
/// Maximum number of writes by one task.
const MAX_WRITES: usize = 4;

/// The log, and its own thread.
pub(in crate::audit) struct DirectLog {
    mode: Mode,
    shared: Arc<Shared>,
    thread: Thread,
    /// Ends with the thread.
    end: Mutex<Option<oneshot::Receiver<()>>>,
}

struct Shared {
    backend: LogBackend,
    pending: Mutex<Pending>,
    /// Whether only the log's own thread writes.
    is_slow: AtomicBool,
    is_regular: bool,
    faults: Arc<Faults>,
}

#[derive(Default)]
struct Pending {
    lines: Vec<Line>,
    /// Whether the log's own thread looks for lines by itself.
    is_active: bool,
    is_stopping: bool,
}

/// A line that is not written yet.
struct Line {
    event: Arc<Event>,
    bytes: Vec<u8>,
    /// Receives whether it was written.
    done: Option<oneshot::Sender<bool>>,
}

// === impl DirectLog ===

impl DirectLog {
    /// Starts the log.
    ///
    /// # Errors
    /// Fails if its thread cannot be started.
    pub(in crate::audit) fn start(backend: LogBackend, mode: Mode, faults: Arc<Faults>) -> io::Result<Self> {
        let is_regular = backend.output().is_regular();
        let is_slow = AtomicBool::new(!is_regular);
        let shared = Arc::new(Shared { backend, pending: Mutex::default(), is_slow, is_regular, faults });
        let (ended, end) = oneshot::channel::<()>();
        let run = {
            let shared = shared.clone();
            move || {
                shared.run();
                drop(ended);
            }
        };
        let thread = thread::Builder::new().name(THREAD_NAME.to_owned()).spawn(run)?.thread().clone();
        Ok(Self { mode, shared, thread, end: Mutex::new(Some(end)) })
    }

    /// Returns whether requests are refused whose first event cannot be written.
    pub(in crate::audit) fn is_strict(&self) -> bool {
        self.mode == Mode::BlockingStrict
    }

    /// Writes an event, or has it written. If `is_awaited`, returns a ticket to wait with; otherwise it is written soon.
    pub(in crate::audit) fn submit(&self, event: &Arc<Event>, is_awaited: bool) -> Option<Ticket> {
        let (done, ticket) = Ticket::issue(is_awaited).unzip();
        let is_inline = is_awaited && !self.shared.is_slow.load(Ordering::Relaxed);
        let wakes = self.shared.add(event, done, is_inline);
        if wakes || is_inline && self.shared.write_in_turn() {
            self.thread.unpark();
        }
        ticket
    }

    /// Writes what is pending, within bounded time. Later events are lost.
    pub(in crate::audit) async fn stop(&self) {
        self.end_thread();
        let end = self.end.lock().take();
        if let Some(end) = end {
            // It ends without a message.
            let _ = tokio::time::timeout(FLUSH_TIMEOUT, end).await;
        }
    }

    fn end_thread(&self) {
        self.shared.pending().is_stopping = true;
        self.thread.unpark();
    }
}

impl Drop for DirectLog {
    fn drop(&mut self) {
        self.end_thread();
    }
}

// === impl Shared ===

impl Shared {
    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock()
    }

    /// Adds the line of an event. Returns whether the log's own thread has to be woken.
    fn add(&self, event: &Arc<Event>, done: Option<oneshot::Sender<bool>>, is_inline: bool) -> bool {
        let bytes = match self.backend.line(event) {
            Ok(bytes) => bytes,
            Err(error) => {
                self.faults.report("truncate", &error, std::slice::from_ref(event));
                // Such an event fails no request, as in Kubernetes. A request that has ended waits for nothing.
                let _ = done.map(|done| done.send(true));
                return false;
            }
        };
        let mut pending = self.pending();
        let lost = if pending.is_stopping {
            "audit backend shut down"
        } else if pending.lines.len() >= MAX_LATE {
            "audit buffer queue blocked"
        } else {
            pending.lines.push(Line { event: event.clone(), bytes, done });
            let is_slow = self.is_slow.load(Ordering::Relaxed);
            return !is_inline && (!std::mem::replace(&mut pending.is_active, true) || is_slow);
        };
        drop(pending);
        self.faults.report("buffered", &lost, std::slice::from_ref(event));
        false
    }

    /// Writes what is pending, unless another task does: it looks again after its write. Returns whether the log's own thread
    /// has to go on.
    fn write_in_turn(&self) -> bool {
        for _ in 0..MAX_WRITES {
            let Some(output) = self.backend.try_output() else { return false };
            if self.write_pending(output).is_none() || self.pending().lines.is_empty() {
                return false;
            }
        }
        self.pending().is_active = true;
        true
    }

    /// Writes what is pending. Returns how long it took; `None` if there was nothing.
    fn write_pending(&self, mut output: MutexGuard<'_, Output>) -> Option<Duration> {
        let lines = std::mem::take(&mut self.pending().lines);
        if lines.is_empty() {
            return None;
        }
        let begun = Instant::now();
        let written = output.write(lines.iter().map(|line| &*line.bytes));
        drop(output);
        let duration = begun.elapsed();
        if duration > SLOW {
            self.is_slow.store(true, Ordering::Relaxed);
        }
        if let Err(error) = &written {
            let events: Vec<_> = lines.iter().map(|line| line.event.clone()).collect();
            self.faults.report("log", error, &events);
        }
        for done in lines.into_iter().filter_map(|line| line.done) {
            // The request may have been given up.
            let _ = done.send(written.is_ok());
        }
        Some(duration)
    }

    /// Runs the log's own thread.
    fn run(&self) {
        let mut last_line = Instant::now();
        let mut quick_writes = 0;
        loop {
            let (is_active, is_stopping) = {
                let pending = self.pending();
                (pending.is_active, pending.is_stopping)
            };
            if !is_active && !is_stopping {
                thread::park();
            } else if !is_stopping {
                // While the file is slow, whoever adds a line wakes this thread.
                thread::park_timeout(DELAY);
            }
            match self.write_pending(self.backend.output()) {
                Some(duration) => {
                    last_line = Instant::now();
                    quick_writes = if duration > SLOW { 0 } else { quick_writes + 1 };
                    if quick_writes >= QUICK_WRITES && self.is_regular {
                        self.is_slow.store(false, Ordering::Relaxed);
                    }
                }
                None if is_stopping => return,
                None => {
                    let mut pending = self.pending();
                    let is_over = last_line.elapsed() > ACTIVE && pending.lines.is_empty();
                    pending.is_active &= !is_over;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use registry_core::context::AuditLevel;

    use super::super::super::event::tests::event;
    use super::super::{LogFormat, Retention};
    use super::*;
    use crate::metrics::ServerMetrics;

    fn start(path: &std::path::Path, mode: Mode) -> Arc<DirectLog> {
        let faults = Faults::new(ServerMetrics::new().unwrap().audit().clone());
        let backend =
            LogBackend::open(path, Retention::default(), LogFormat::Json, None, faults.clone()).unwrap();
        Arc::new(DirectLog::start(backend, mode, faults).unwrap())
    }

    fn event_of(id: String) -> Arc<Event> {
        let mut event = event(AuditLevel::Metadata);
        Arc::make_mut(&mut event.facts).audit_id = id;
        Arc::new(event)
    }

    async fn write(log: &DirectLog, id: String) -> bool {
        log.submit(&event_of(id), true).expect("it is awaited").delivered().await
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn lines_are_written_in_order_before_requests_go_on_whether_the_file_is_slow_or_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.log");
        let log = start(&path, Mode::Blocking);
        let mut requests = tokio::task::JoinSet::new();
        for number in 0..200 {
            let (log, path) = (log.clone(), path.clone());
            requests.spawn(async move {
                if number % 50 == 49 {
                    log.shared.is_slow.store(true, Ordering::Relaxed);
                }
                log.submit(&event_of(format!("first-{number:03}")), false);
                assert!(write(&log, format!("second-{number:03}")).await);
                let text = std::fs::read_to_string(path).unwrap();
                let [first, second] =
                    ["first", "second"].map(|stage| text.find(&format!("{stage}-{number:03}")));
                assert!(first.is_some() && first < second, "{number}: {first:?}, {second:?}");
            });
        }
        while let Some(ended) = requests.join_next().await {
            ended.unwrap();
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 400);
        assert!(text.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
    }

    #[tokio::test]
    async fn a_line_that_nobody_waits_for_is_written_soon_and_at_the_end() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.log");
        let log = start(&path, Mode::Blocking);
        for round in 1..=2 {
            log.submit(&event_of(format!("round-{round}")), false);
            let begun = Instant::now();
            while std::fs::read_to_string(&path).unwrap().lines().count() < round {
                assert!(begun.elapsed() < Duration::from_secs(10), "round {round}");
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            // Until the thread sleeps.
            tokio::time::sleep(2 * ACTIVE).await;
        }
        for number in 0..1000 {
            log.submit(&event_of(number.to_string()), false);
        }
        log.stop().await;
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 1002);
        assert!(!write(&log, "late".to_owned()).await, "later events are lost");
    }

    #[tokio::test]
    async fn a_slow_file_is_written_by_the_thread_until_it_is_quick_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("audit.log");
        let log = start(&path, Mode::BlockingStrict);
        assert!(log.is_strict());
        log.shared.is_slow.store(true, Ordering::Relaxed);
        for number in 0..QUICK_WRITES {
            assert!(write(&log, number.to_string()).await);
        }
        let begun = Instant::now();
        while log.shared.is_slow.load(Ordering::Relaxed) {
            assert!(begun.elapsed() < Duration::from_secs(10));
            assert!(write(&log, "more".to_owned()).await);
        }
    }

    #[tokio::test]
    async fn a_write_that_fails_is_known_to_the_request() {
        let log = start(std::path::Path::new("/dev/full"), Mode::Blocking);
        assert!(!write(&log, "a".to_owned()).await);
        assert!(log.shared.is_slow.load(Ordering::Relaxed), "a device is written by the thread only");
    }
}
