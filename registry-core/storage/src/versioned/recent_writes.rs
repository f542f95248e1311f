//! The values that this process is writing.
//!
//! A writer knows the attributes of its object, and what readers get of it. The watch that follows the store gets the same bytes
//! back a moment later, and would have to read all of them to find that out again.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};

use crate::interface::NewValue;

/// Maximum number of values that are remembered.
const MAX_WRITES: usize = 64;
/// Maximum size of a value that is remembered, in bytes.
const MAX_VALUE_BYTES: usize = 32 * 1024;

/// The last values written, in plain form.
#[derive(Default)]
pub(super) struct RecentWrites {
    /// Whether a watch follows the store, which takes them.
    is_followed: AtomicBool,
    writes: Mutex<VecDeque<NewValue>>,
}

// === impl RecentWrites ===

impl RecentWrites {
    /// Begins to remember values: a watch will ask for them.
    pub(super) fn follow(&self) {
        self.is_followed.store(true, Ordering::Relaxed);
    }

    /// Remembers a value. Must be called before it is written, so that the watch finds it.
    pub(super) fn note(&self, value: &NewValue) {
        let bytes = value.bytes.len() + value.shown.as_ref().map_or(0, Bytes::len);
        if !self.is_followed.load(Ordering::Relaxed) || bytes > MAX_VALUE_BYTES {
            return;
        }
        let write = value.clone();
        let mut writes = self.lock();
        let oldest = if writes.len() < MAX_WRITES { None } else { writes.pop_front() };
        writes.push_back(write);
        drop(writes);
        drop(oldest);
    }

    /// Forgets the write of a value and returns it; `None` if it is not remembered.
    pub(super) fn take(&self, value: &Bytes) -> Option<NewValue> {
        let mut writes = self.lock();
        let place = writes.iter().position(|written| written.bytes == *value)?;
        writes.remove(place)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<NewValue>> {
        self.writes.lock()
    }
}

#[cfg(test)]
mod tests {
    use crate::entry::Attributes;

    use super::*;

    fn write(bytes: impl Into<Bytes>) -> NewValue {
        let attributes = Attributes::new(Vec::<(&str, &str)>::new(), ["a"], &["metadata.name"]);
        NewValue { bytes: bytes.into(), shown: None, attributes }
    }

    #[test]
    fn values_are_taken_once() {
        let writes = RecentWrites::default();
        let value = Bytes::from_static(b"{}");
        writes.note(&write(value.clone()));
        assert!(writes.take(&value).is_none(), "nobody follows");
        writes.follow();
        writes.note(&write(value.clone()));
        assert!(writes.take(&Bytes::from_static(b"[]")).is_none());
        let taken = writes.take(&Bytes::from(b"{}".to_vec()));
        assert_eq!(taken.unwrap().attributes, write("").attributes);
        assert!(writes.take(&value).is_none());
    }

    #[test]
    fn memory_is_bounded() {
        let writes = RecentWrites::default();
        writes.follow();
        for number in 0..=MAX_WRITES {
            writes.note(&write(number.to_string()));
        }
        assert_eq!(writes.lock().len(), MAX_WRITES);
        assert!(writes.take(&Bytes::from_static(b"0")).is_none());
        let large = Bytes::from(vec![b' '; MAX_VALUE_BYTES + 1]);
        writes.note(&write(large.clone()));
        assert!(writes.take(&large).is_none());
    }
}
