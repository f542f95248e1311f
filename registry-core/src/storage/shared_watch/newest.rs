//! The engine's newest revision, read once for all concurrent callers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;

use crate::storage::Revision;
use crate::storage::mvcc::{Mvcc, MvccError};

/// Reads the newest revision, linearizably: each result comes from a read that began after the call.
pub(super) struct Newest {
    inner: Arc<dyn Mvcc>,
    /// Number of reads started.
    begun: AtomicU64,
    /// The last finished read: its number and its result. Locked while a read is in progress.
    last: Mutex<Option<(u64, Result<Revision, MvccError>)>>,
    known: AtomicU64,
}

impl Newest {
    pub(super) fn new(inner: Arc<dyn Mvcc>) -> Self {
        Self { inner, begun: AtomicU64::new(0), last: Mutex::new(None), known: AtomicU64::new(0) }
    }

    /// Records a revision at which the engine was observed.
    pub(super) fn saw(&self, revision: Revision) {
        self.known.fetch_max(revision, Ordering::AcqRel);
    }

    /// Returns the greatest observed revision of the engine.
    pub(super) fn known(&self) -> Revision {
        self.known.load(Ordering::Acquire)
    }

    /// Returns the newest revision. While a read is in progress, other callers wait for the next read and share its
    /// result or its error.
    pub(super) async fn read(&self) -> Result<Revision, MvccError> {
        let begun = self.begun.load(Ordering::SeqCst);
        let (mut last, has_waited) = match self.last.try_lock() {
            Ok(last) => (last, false),
            Err(_) => (self.last.lock().await, true),
        };
        if let Some((number, said)) = &*last
            && (*number > begun || (has_waited && *number == begun && said.is_err()))
        {
            return said.clone();
        }
        let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        let said = self.inner.current_revision().await;
        if let Ok(revision) = &said {
            self.saw(*revision);
        }
        *last = Some((number, said.clone()));
        said
    }
}
