//! Number of objects per read of the engine: engines limit by number of objects, memory is limited by bytes.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::mvcc::KeyValue;

/// Maximum number of objects per read.
const MAX_OBJECTS: u64 = 10_000;

/// Minimum number of objects per read, unless fewer are wanted.
const OBJECTS_MIN: u64 = 4;

/// Assumed object size before the first read, in bytes.
const ASSUMED_BYTES: usize = 16 * 1024;

/// Average size of a resource's objects, estimated from recent reads.
#[derive(Debug)]
pub(super) struct PageSize {
    average_bytes: AtomicUsize,
}

// === impl PageSize ===

impl Default for PageSize {
    fn default() -> Self {
        Self { average_bytes: AtomicUsize::new(ASSUMED_BYTES) }
    }
}

impl PageSize {
    /// Returns the estimated number of objects in this many bytes.
    pub(super) fn objects_of(&self, bytes: usize) -> u64 {
        let average_bytes = self.average_bytes.load(Ordering::Relaxed).max(1);
        ((bytes / average_bytes) as u64).clamp(OBJECTS_MIN, MAX_OBJECTS)
    }

    /// Updates the average from the result of a read.
    pub(super) fn note(&self, key_values: &[KeyValue]) {
        let bytes: usize =
            key_values.iter().map(|key_value| key_value.key.len() + key_value.value.len()).sum();
        if let Some(average_bytes) = bytes.checked_div(key_values.len()) {
            // Immediately if objects grow, gradually if they shrink.
            let before = self.average_bytes.load(Ordering::Relaxed);
            let after = average_bytes.max(before - before / 4).max(1);
            let after = if before == ASSUMED_BYTES { average_bytes } else { after };
            self.average_bytes.store(after, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(sizes: &[usize]) -> Vec<KeyValue> {
        let of_size = |size: &usize| KeyValue {
            key: "".into(),
            value: vec![0; *size].into(),
            mod_revision: 1,
            create_revision: 1,
        };
        sizes.iter().map(of_size).collect()
    }

    #[test]
    fn pages_of_large_objects_have_few_of_them() {
        let page_size = PageSize::default();
        assert_eq!(page_size.objects_of(1 << 20), 64);
        page_size.note(&read(&[500, 1_500]));
        assert_eq!(page_size.objects_of(1 << 20), 1_048);
        page_size.note(&read(&[1 << 20]));
        assert_eq!(page_size.objects_of(1 << 20), OBJECTS_MIN);
        for _ in 0..100 {
            page_size.note(&read(&[10]));
        }
        assert_eq!(page_size.objects_of(1 << 20), MAX_OBJECTS);
        page_size.note(&[]);
        assert_eq!(page_size.objects_of(1 << 20), MAX_OBJECTS);
    }
}
