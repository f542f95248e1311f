//! What all caches of a server together may hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::storage::entry::EncodingBudget;

/// Encodings take at most this part of the budget, so that they never drive history out.
const ENCODINGS_PART: usize = 4;

/// Bytes of history shared by all caches, and of what objects were encoded as. Over it, each cache drops its oldest
/// events first.
#[derive(Debug)]
pub struct CacheBudget {
    limit_bytes: usize,
    history_bytes: AtomicUsize,
    encodings: Arc<EncodingBudget>,
}

impl CacheBudget {
    /// A budget of so many bytes.
    pub fn new(limit_bytes: usize) -> Self {
        let encodings = Arc::new(EncodingBudget::new(limit_bytes / ENCODINGS_PART));
        Self { limit_bytes, history_bytes: AtomicUsize::new(0), encodings }
    }

    /// How many bytes are held now, of history and of encodings.
    pub fn used_bytes(&self) -> usize {
        self.history_bytes.load(Ordering::Relaxed) + self.encodings.used_bytes()
    }

    /// How many bytes may be held.
    pub fn limit_bytes(&self) -> usize {
        self.limit_bytes
    }

    /// The part that is for encodings of cached objects: for those who make them.
    pub fn encodings(&self) -> &Arc<EncodingBudget> {
        &self.encodings
    }

    pub(super) fn take(&self, bytes: usize) {
        self.history_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn give_back(&self, bytes: usize) {
        self.history_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn is_exceeded(&self) -> bool {
        self.used_bytes() > self.limit_bytes
    }
}
