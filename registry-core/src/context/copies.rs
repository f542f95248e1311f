//! The memory of the objects that the audit log has recorded and not written yet.
//!
//! A recorded object stays in memory until the last event of its request was written, which may be long after the
//! response was created: a client can leave it unread.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

/// The number of bytes that the recorded objects of all requests together may still take. Clones share it.
#[derive(Clone, Debug)]
pub struct RecordedBytes(Arc<AtomicUsize>);

/// A part of the [`RecordedBytes`], which returns when it is dropped.
#[derive(Debug)]
pub(super) struct Reservation {
    left: RecordedBytes,
    bytes: usize,
}

/// A recorded object and its memory.
struct Held {
    json: Bytes,
    _reservation: Reservation,
}

// === impl RecordedBytes ===

impl RecordedBytes {
    /// Creates the limit of a server.
    pub fn new(bytes: usize) -> Self {
        Self(Arc::new(AtomicUsize::new(bytes)))
    }

    /// Returns an empty reservation.
    pub(super) fn reserve(&self) -> Reservation {
        Reservation { left: self.clone(), bytes: 0 }
    }
}

impl Default for RecordedBytes {
    /// No limit.
    fn default() -> Self {
        Self::new(usize::MAX)
    }
}

// === impl Reservation ===

impl Reservation {
    /// Reserves more. Returns `false`, and keeps what it has, if less is left.
    pub(super) fn grow(&mut self, bytes: usize) -> bool {
        let taken =
            self.left.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(bytes));
        if taken.is_ok() {
            self.bytes += bytes;
        }
        taken.is_ok()
    }

    /// Returns the object, whose memory is reserved until its last clone is dropped.
    pub(super) fn hold(self, json: Bytes) -> Bytes {
        Bytes::from_owner(Held { json, _reservation: self })
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.left.0.fetch_add(self.bytes, Ordering::Relaxed);
    }
}

// === impl Held ===

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.json
    }
}
