//! The engine's newest revision, read once for all who ask at the same time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;

use crate::storage::Revision;
use crate::storage::mvcc::{Mvcc, MvccError};

/// Reads the newest revision, linearizably: an answer comes from a read that began after the question.
pub(super) struct Newest {
    inner: Arc<dyn Mvcc>,
    /// How many reads were begun.
    begun: AtomicU64,
    /// The last finished read: its number and what it said. Held while a read is under way.
    last: Mutex<Option<(u64, Result<Revision, MvccError>)>>,
    known: AtomicU64,
}

impl Newest {
    pub(super) fn new(inner: Arc<dyn Mvcc>) -> Self {
        Self { inner, begun: AtomicU64::new(0), last: Mutex::new(None), known: AtomicU64::new(0) }
    }

    /// The engine was seen at this revision.
    pub(super) fn saw(&self, revision: Revision) {
        self.known.fetch_max(revision, Ordering::AcqRel);
    }

    /// The greatest revision the engine was seen at.
    pub(super) fn known(&self) -> Revision {
        self.known.load(Ordering::Acquire)
    }

    /// The newest revision. While a read is under way others wait for the next one, which answers all of them; unless
    /// that one fails, which tells all of them enough.
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
