//! What all caches of a server together may hold.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::Notify;

use crate::metrics::{BudgetNumbers, BudgetSource};
use crate::storage::entry::EncodingBudget;

/// History takes at most this part of the budget, so that it is cheap to keep and never drives objects out.
const HISTORY_PART: usize = 4;

/// The history of all caches may take this much, in bytes, however small the budget is: without any history every
/// watch would end with its first event.
const HISTORY_BYTES_MIN: usize = 8 * 1024 * 1024;

/// The encodings of cached objects take at most this part of the budget, beside it.
const ENCODINGS_PART: usize = 8;

/// A cache holds objects again once all caches together take at most this part of the budget (in quarters), so that
/// a resource near the limit does not go in and out.
const RETURN_QUARTERS: usize = 3;

/// The bytes that all caches share: those of the present objects, and those of the history beside them. Over the limit
/// each cache drops its oldest events; when that is not enough, the largest caches [let go](Share::is_asked) of their
/// objects.
#[derive(Debug)]
pub struct CacheBudget {
    limit_bytes: usize,
    object_bytes: AtomicUsize,
    history_bytes: AtomicUsize,
    evictions: AtomicU64,
    encodings: Arc<EncodingBudget>,
    shares: Mutex<Vec<Weak<Share>>>,
}

/// What one cache has of the budget.
#[derive(Debug)]
pub(super) struct Share {
    budget: Arc<CacheBudget>,
    object_bytes: AtomicUsize,
    is_asked: AtomicBool,
    asked: Notify,
}

// === impl CacheBudget ===

impl CacheBudget {
    /// A budget of so many bytes.
    pub fn new(limit_bytes: usize) -> Self {
        Self {
            limit_bytes,
            object_bytes: AtomicUsize::new(0),
            history_bytes: AtomicUsize::new(0),
            evictions: AtomicU64::new(0),
            encodings: Arc::new(EncodingBudget::new(limit_bytes / ENCODINGS_PART)),
            shares: Mutex::default(),
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

    /// How many bytes count against the limit: all but the least history.
    fn charged_bytes(&self) -> usize {
        let history_bytes = self.history_bytes.load(Ordering::Relaxed);
        self.object_bytes.load(Ordering::Relaxed) + history_bytes.saturating_sub(HISTORY_BYTES_MIN)
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
        (self.limit_bytes / HISTORY_PART).max(HISTORY_BYTES_MIN)
    }

    pub(super) fn take_history(&self, bytes: usize) {
        self.history_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn give_back_history(&self, bytes: usize) {
        self.history_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Whether history has to go.
    pub(super) fn is_history_exceeded(&self) -> bool {
        let history_bytes = self.history_bytes.load(Ordering::Relaxed);
        history_bytes > self.history_limit_bytes()
            || (history_bytes > HISTORY_BYTES_MIN && self.is_exceeded())
    }

    /// Whether more is held than may be.
    pub(super) fn is_exceeded(&self) -> bool {
        self.charged_bytes() > self.limit_bytes
    }

    /// Whether a cache of this size may hold its objects again.
    pub(super) fn has_room_for(&self, bytes: usize) -> bool {
        self.charged_bytes().saturating_add(bytes) <= self.limit_bytes / 4 * RETURN_QUARTERS
    }

    /// Asks the largest caches to let go of their objects, until what remains fits.
    pub(super) fn make_room(&self) {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        shares.retain(|share| share.strong_count() > 0);
        let mut all: Vec<_> = shares.iter().filter_map(Weak::upgrade).collect();
        drop(shares);
        let mut held_bytes = self.charged_bytes();
        for share in all.extract_if(.., |share| share.is_asked()) {
            held_bytes = held_bytes.saturating_sub(share.object_bytes());
        }
        all.sort_by_key(|share| std::cmp::Reverse(share.object_bytes()));
        for share in all {
            if held_bytes <= self.limit_bytes || share.object_bytes() == 0 {
                return;
            }
            held_bytes = held_bytes.saturating_sub(share.object_bytes());
            self.evictions.fetch_add(1, Ordering::Relaxed);
            share.ask();
        }
    }
}

// === impl Share ===

impl Share {
    /// The share of one more cache.
    pub(super) fn of(budget: &Arc<CacheBudget>) -> Arc<Self> {
        let share = Arc::new(Self {
            budget: budget.clone(),
            object_bytes: AtomicUsize::new(0),
            is_asked: AtomicBool::new(false),
            asked: Notify::new(),
        });
        let mut shares = budget.shares.lock().unwrap_or_else(PoisonError::into_inner);
        shares.push(Arc::downgrade(&share));
        share
    }

    /// How many bytes of objects the cache holds.
    pub(super) fn object_bytes(&self) -> usize {
        self.object_bytes.load(Ordering::Relaxed)
    }

    /// Notes that the cache holds some objects more, and some less.
    pub(super) fn exchange(&self, taken_bytes: usize, given_back_bytes: usize) {
        self.object_bytes.fetch_add(taken_bytes, Ordering::Relaxed);
        self.object_bytes.fetch_sub(given_back_bytes, Ordering::Relaxed);
        self.budget.object_bytes.fetch_add(taken_bytes, Ordering::Relaxed);
        self.budget.object_bytes.fetch_sub(given_back_bytes, Ordering::Relaxed);
    }

    fn ask(&self) {
        self.is_asked.store(true, Ordering::Release);
        self.asked.notify_one();
    }

    /// Whether the cache is to let go of its objects.
    pub(super) fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::Acquire)
    }

    /// Waits until the cache is to let go of its objects.
    pub(super) async fn asked(&self) {
        while !self.is_asked() {
            self.asked.notified().await;
        }
    }

    /// The cache has let go of its objects.
    pub(super) fn comply(&self) {
        self.is_asked.store(false, Ordering::Release);
    }
}

impl BudgetSource for CacheBudget {
    fn numbers(&self) -> BudgetNumbers {
        BudgetNumbers {
            limit_bytes: self.limit_bytes,
            used_bytes: self.used_bytes(),
            encoding_bytes: self.encodings.used_bytes(),
            evictions: self.evictions.load(Ordering::Relaxed),
        }
    }
}
