//! What all caches of a server together may hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crate::metrics::{BudgetNumbers, BudgetSource};
use crate::storage::entry::EncodingBudget;

/// History takes at most this part of the budget, so that it is cheap to keep and never drives objects out.
const HISTORY_PART: usize = 4;

/// What objects were encoded as takes at most this part beside them: such bytes can be made again, and are never a
/// reason to refuse anybody.
const ENCODINGS_PART: usize = 8;

/// Bytes that all caches share: of the present objects, and of the history beside them. Over the limit each cache
/// drops its oldest events first; when that does not help, lists and watches are refused until there is room again.
#[derive(Debug)]
pub struct CacheBudget {
    limit_bytes: usize,
    object_bytes: AtomicUsize,
    history_bytes: AtomicUsize,
    refusals: AtomicU64,
    encodings: Arc<EncodingBudget>,
}

impl CacheBudget {
    /// A budget of so many bytes.
    pub fn new(limit_bytes: usize) -> Self {
        Self {
            limit_bytes,
            object_bytes: AtomicUsize::new(0),
            history_bytes: AtomicUsize::new(0),
            refusals: AtomicU64::new(0),
            encodings: Arc::new(EncodingBudget::new(limit_bytes / ENCODINGS_PART)),
        }
    }

    /// How many bytes are held now: of objects, of history, and of encodings.
    pub fn used_bytes(&self) -> usize {
        self.cached_bytes() + self.encodings.used_bytes()
    }

    /// How many bytes are held of objects and of history.
    fn cached_bytes(&self) -> usize {
        self.object_bytes.load(Ordering::Relaxed) + self.history_bytes.load(Ordering::Relaxed)
    }

    /// How many bytes may be held.
    pub fn limit_bytes(&self) -> usize {
        self.limit_bytes
    }

    /// The part that is for encodings of cached objects: for those who make them.
    pub fn encodings(&self) -> &Arc<EncodingBudget> {
        &self.encodings
    }

    /// How many bytes the history of all caches may have.
    pub fn history_limit_bytes(&self) -> usize {
        self.limit_bytes / HISTORY_PART
    }

    /// Notes that a cache holds some objects more, and some less.
    pub(super) fn exchange_objects(&self, taken_bytes: usize, given_back_bytes: usize) {
        self.object_bytes.fetch_add(taken_bytes, Ordering::Relaxed);
        self.object_bytes.fetch_sub(given_back_bytes, Ordering::Relaxed);
    }

    pub(super) fn take_history(&self, bytes: usize) {
        self.history_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn give_back_history(&self, bytes: usize) {
        self.history_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Whether history has to go.
    pub(super) fn is_exceeded(&self) -> bool {
        self.is_exhausted() || self.history_bytes.load(Ordering::Relaxed) > self.history_limit_bytes()
    }

    /// Whether more is held than may be.
    pub(super) fn is_exhausted(&self) -> bool {
        self.cached_bytes() > self.limit_bytes
    }

    /// Notes that a list or a watch was refused.
    pub(super) fn refuse(&self) {
        self.refusals.fetch_add(1, Ordering::Relaxed);
    }
}

impl BudgetSource for CacheBudget {
    fn numbers(&self) -> BudgetNumbers {
        BudgetNumbers {
            limit_bytes: self.limit_bytes,
            used_bytes: self.used_bytes(),
            encoding_bytes: self.encodings.used_bytes(),
            refusals: self.refusals.load(Ordering::Relaxed),
        }
    }
}
