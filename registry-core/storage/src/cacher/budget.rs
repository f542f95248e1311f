//! The memory budget of all caches of a server.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::entry::EncodingBudget;
use crate::metrics::{BudgetNumbers, BudgetSource};

/// History takes at most this fraction (1/n) of the budget, so that it never evicts objects.
const HISTORY_PART: usize = 4;

/// Minimum size of the history of all caches, in bytes, even if the budget is small: without any history every watch
/// would end with its first event.
const HISTORY_BYTES_MIN: usize = 8 * 1024 * 1024;

/// The encodings of cached objects take at most this fraction (1/n) of the budget, in addition to it.
const ENCODINGS_PART: usize = 8;

/// A cache holds objects again once all caches together take at most this part of the budget (in quarters), so that a
/// resource near the limit does not alternate.
const RETURN_QUARTERS: usize = 3;

/// The memory that all caches share, in bytes: the memory of the current objects, and the memory of the history beside them.
/// Over the limit each cache drops its oldest events; if that does not suffice, the largest caches release their objects.
#[derive(Debug)]
pub struct CacheBudget {
    limit_bytes: usize,
    object_bytes: AtomicUsize,
    history_bytes: AtomicUsize,
    evictions: AtomicU64,
    encodings: Arc<EncodingBudget>,
    shares: Mutex<Vec<Weak<Share>>>,
}

/// One cache's share of the budget.
#[derive(Debug)]
pub(super) struct Share {
    budget: Arc<CacheBudget>,
    object_bytes: AtomicUsize,
    is_asked: AtomicBool,
    asked: Notify,
}

// === impl CacheBudget ===

impl CacheBudget {
    /// Creates a budget of `limit_bytes`.
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

    /// Returns the number of bytes in use: by objects, history and encodings.
    pub fn used_bytes(&self) -> usize {
        self.cached_bytes() + self.encodings.used_bytes()
    }

    /// Returns the number of bytes used by objects and history.
    fn cached_bytes(&self) -> usize {
        self.object_bytes.load(Ordering::Relaxed) + self.history_bytes.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes charged against the limit: all but the minimum history.
    fn charged_bytes(&self) -> usize {
        let history_bytes = self.history_bytes.load(Ordering::Relaxed);
        self.object_bytes.load(Ordering::Relaxed) + history_bytes.saturating_sub(HISTORY_BYTES_MIN)
    }

    /// Returns the limit, in bytes.
    pub fn limit_bytes(&self) -> usize {
        self.limit_bytes
    }

    /// Returns the budget of the encodings of cached objects.
    pub fn encodings(&self) -> &Arc<EncodingBudget> {
        &self.encodings
    }

    /// Returns the limit of the history of all caches, in bytes.
    pub fn history_limit_bytes(&self) -> usize {
        (self.limit_bytes / HISTORY_PART).max(HISTORY_BYTES_MIN)
    }

    pub(super) fn take_history(&self, bytes: usize) {
        self.history_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn give_back_history(&self, bytes: usize) {
        self.history_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Whether the history exceeds its limit.
    pub(super) fn is_history_exceeded(&self) -> bool {
        let history_bytes = self.history_bytes.load(Ordering::Relaxed);
        history_bytes > self.history_limit_bytes()
            || (history_bytes > HISTORY_BYTES_MIN && self.is_exceeded())
    }

    /// Whether the budget is exceeded.
    pub(super) fn is_exceeded(&self) -> bool {
        self.charged_bytes() > self.limit_bytes
    }

    /// Whether a cache of this size may hold its objects again.
    pub(super) fn has_room_for(&self, bytes: usize) -> bool {
        self.charged_bytes().saturating_add(bytes) <= self.limit_bytes / 4 * RETURN_QUARTERS
    }

    /// Asks the largest caches to release their objects, until the remainder fits.
    pub(super) fn make_room(&self) {
        let mut shares = self.shares.lock();
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
    /// Creates the share of another cache.
    pub(super) fn new(budget: &Arc<CacheBudget>) -> Arc<Self> {
        let share = Arc::new(Self {
            budget: budget.clone(),
            object_bytes: AtomicUsize::new(0),
            is_asked: AtomicBool::new(false),
            asked: Notify::new(),
        });
        let mut shares = budget.shares.lock();
        shares.push(Arc::downgrade(&share));
        share
    }

    /// Returns the size of the objects that the cache holds, in bytes.
    pub(super) fn object_bytes(&self) -> usize {
        self.object_bytes.load(Ordering::Relaxed)
    }

    /// Records objects added to the cache and objects removed from it.
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

    /// Whether the cache is asked to release its objects.
    pub(super) fn is_asked(&self) -> bool {
        self.is_asked.load(Ordering::Acquire)
    }

    /// Waits until the cache is asked to release its objects.
    pub(super) async fn asked(&self) {
        while !self.is_asked() {
            self.asked.notified().await;
        }
    }

    /// Records that the cache has released its objects.
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
