//! What all caches of a server together may hold.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of history shared by all caches. Over it, each cache drops its oldest events first.
#[derive(Debug)]
pub struct CacheBudget {
    limit_bytes: usize,
    used_bytes: AtomicUsize,
}

impl CacheBudget {
    /// A budget of so many bytes.
    pub fn new(limit_bytes: usize) -> Self {
        Self { limit_bytes, used_bytes: AtomicUsize::new(0) }
    }

    /// How many bytes of history are held now.
    pub fn used_bytes(&self) -> usize {
        self.used_bytes.load(Ordering::Relaxed)
    }

    /// How many bytes of history may be held.
    pub fn limit_bytes(&self) -> usize {
        self.limit_bytes
    }

    pub(super) fn take(&self, bytes: usize) {
        self.used_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(super) fn give_back(&self, bytes: usize) {
        self.used_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub(super) fn is_exceeded(&self) -> bool {
        self.used_bytes() > self.limit_bytes
    }
}
