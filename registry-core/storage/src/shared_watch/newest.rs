//! The engine's newest revision, read once for all concurrent callers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::Revision;
use crate::mvcc::{Mvcc, MvccError};

/// Reads the newest revision, linearizably: each result comes from a read that began after the call.
///
/// A task of its own reads, and hands the result to all callers at once. If callers read in turn, one whose thread is busy, or has
/// a low priority, would delay all others.
#[derive(Clone)]
pub(super) struct Newest(Arc<State>);

struct State {
    inner: Arc<dyn Mvcc>,
    /// The threads on which it is read, whatever the thread of the caller.
    threads: Handle,
    callers: Mutex<Callers>,
    known: AtomicU64,
}

/// The callers of the next read.
#[derive(Default)]
struct Callers {
    waiting: Vec<oneshot::Sender<Result<Revision, MvccError>>>,
    /// Whether the task runs.
    is_reading: bool,
}

/// The task of the reads. If it is dropped before its end, its callers receive an error, and the next caller starts another one.
struct Reading {
    newest: Newest,
    has_ended: bool,
}

// === impl Newest ===

impl Newest {
    /// Must be called within a Tokio runtime, on whose threads it reads.
    pub(super) fn new(inner: Arc<dyn Mvcc>) -> Self {
        Self(Arc::new(State {
            inner,
            threads: Handle::current(),
            callers: Mutex::default(),
            known: AtomicU64::new(0),
        }))
    }

    /// Records a revision at which the engine was observed.
    pub(super) fn saw(&self, revision: Revision) {
        self.0.known.fetch_max(revision, Ordering::AcqRel);
    }

    /// Returns the greatest observed revision of the engine.
    pub(super) fn known(&self) -> Revision {
        self.0.known.load(Ordering::Acquire)
    }

    /// Returns the newest revision. While a read is in progress, callers wait for the next read and share its result; if the one
    /// in progress fails, they share its error.
    pub(super) async fn read(&self) -> Result<Revision, MvccError> {
        let (sender, result) = oneshot::channel();
        let is_reading = {
            let mut callers = self.callers();
            callers.waiting.push(sender);
            std::mem::replace(&mut callers.is_reading, true)
        };
        if !is_reading {
            self.0.threads.spawn(Reading { newest: self.clone(), has_ended: false }.run());
        }
        result.await.unwrap_or_else(|_| Err(MvccError::Unavailable("the read was given up".into())))
    }

    fn callers(&self) -> MutexGuard<'_, Callers> {
        self.0.callers.lock()
    }
}

// === impl Reading ===

impl Reading {
    /// Reads as long as there are callers.
    async fn run(mut self) {
        loop {
            let mut waiting = {
                let mut callers = self.newest.callers();
                if callers.waiting.is_empty() {
                    callers.is_reading = false;
                    self.has_ended = true;
                    return;
                }
                std::mem::take(&mut callers.waiting)
            };
            let read = self.newest.0.inner.current_revision().await;
            match &read {
                Ok(revision) => self.newest.saw(*revision),
                // Another read would probably take as long to fail.
                Err(_) => waiting.append(&mut self.newest.callers().waiting),
            }
            for caller in waiting {
                // The caller may have left.
                let _ = caller.send(read.clone());
            }
        }
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        if !self.has_ended {
            let mut callers = self.newest.callers();
            callers.waiting.clear();
            callers.is_reading = false;
        }
    }
}
