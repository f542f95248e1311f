//! Attributes of the values that this process is writing.
//!
//! A writer knows the attributes of its object. The watch that follows the store gets the same bytes back a moment later, and
//! would have to read all of them to find the attributes again.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};

use crate::entry::Attributes;

/// Maximum number of values that are remembered.
const MAX_WRITES: usize = 64;
/// Maximum size of a value that is remembered, in bytes.
const MAX_VALUE_BYTES: usize = 32 * 1024;

/// The last values written, in plain form, with their attributes.
#[derive(Default)]
pub(super) struct RecentWrites {
    /// Whether a watch follows the store, which takes them.
    is_followed: AtomicBool,
    writes: Mutex<VecDeque<(Bytes, Attributes)>>,
}

// === impl RecentWrites ===

impl RecentWrites {
    /// Begins to remember values: a watch will ask for them.
    pub(super) fn follow(&self) {
        self.is_followed.store(true, Ordering::Relaxed);
    }

    /// Remembers a value. Must be called before it is written, so that the watch finds it.
    pub(super) fn note(&self, value: &Bytes, attributes: &Attributes) {
        if !self.is_followed.load(Ordering::Relaxed) || value.len() > MAX_VALUE_BYTES {
            return;
        }
        let write = (value.clone(), attributes.clone());
        let mut writes = self.lock();
        let oldest = if writes.len() < MAX_WRITES { None } else { writes.pop_front() };
        writes.push_back(write);
        drop(writes);
        drop(oldest);
    }

    /// Forgets a value and returns its attributes; `None` if it is not remembered.
    pub(super) fn take(&self, value: &Bytes) -> Option<Attributes> {
        let mut writes = self.lock();
        let place = writes.iter().position(|(written, _)| written == value)?;
        writes.remove(place).map(|(_, attributes)| attributes)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(Bytes, Attributes)>> {
        self.writes.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attributes(name: &str) -> Attributes {
        Attributes::new(Vec::<(&str, &str)>::new(), [name], &["metadata.name"])
    }

    #[test]
    fn values_are_taken_once() {
        let writes = RecentWrites::default();
        let value = Bytes::from_static(b"{}");
        writes.note(&value, &attributes("a"));
        assert_eq!(writes.take(&value), None, "nobody follows");
        writes.follow();
        writes.note(&value, &attributes("a"));
        assert_eq!(writes.take(&Bytes::from_static(b"[]")), None);
        assert_eq!(writes.take(&Bytes::from(b"{}".to_vec())), Some(attributes("a")));
        assert_eq!(writes.take(&value), None);
    }

    #[test]
    fn memory_is_bounded() {
        let writes = RecentWrites::default();
        writes.follow();
        for number in 0..=MAX_WRITES {
            writes.note(&number.to_string().into(), &attributes("a"));
        }
        assert_eq!(writes.lock().len(), MAX_WRITES);
        assert_eq!(writes.take(&Bytes::from_static(b"0")), None);
        let large = Bytes::from(vec![b' '; MAX_VALUE_BYTES + 1]);
        writes.note(&large, &attributes("a"));
        assert_eq!(writes.take(&large), None);
    }
}
