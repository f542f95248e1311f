//! Data derived from an entry's JSON: other encodings, and the object in other versions of its kind, which have
//! encodings in turn. Each is computed on first use and shared afterwards.
//!
//! Unused encodings cost nothing: an entry holds one pointer, and each derived item is a list node with a pointer to
//! the next. A budget limits their total memory; beyond it, results are computed for the caller and not kept.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;

use registry_meta::GroupVersion;

use super::StoredObject;

/// An encoding of an object. It excludes the surrounding response (envelope, type), so that the same bytes serve
/// single objects, lists and watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// The object's protobuf message.
    Protobuf,
    /// The message of a `PartialObjectMetadata`.
    MetadataProtobuf,
    /// The object's fields in CBOR, without `apiVersion` and `kind`.
    Cbor,
    /// `metadata` in CBOR.
    MetadataCbor,
    /// The object's row in a table with these columns.
    TableRow {
        /// The number of the columns: `TableColumns::id` of the resource.
        columns: u64,
        /// Whether the row has the conditions of the resource's rows.
        has_conditions: bool,
    },
}

/// Limits the memory that the kept encodings of all entries may take.
#[derive(Debug)]
pub struct EncodingBudget {
    limit_bytes: usize,
    used_bytes: AtomicUsize,
}

/// The data derived from one entry: an append-only list, read without a lock.
#[derive(Debug, Default)]
pub(super) struct Encodings(OnceLock<Box<Kept>>);

#[derive(Debug)]
struct Kept {
    made: Made,
    /// The budget that is charged until the entry is dropped.
    budget: Arc<EncodingBudget>,
    next: Encodings,
}

/// A derived item; `None` if it could not be computed, which is not retried.
#[derive(Debug)]
enum Made {
    Encoding(Encoding, Option<Bytes>),
    Version(GroupVersion, Option<StoredObject>),
}

// === impl EncodingBudget ===

impl EncodingBudget {
    /// Creates a budget of `limit_bytes`. With 0, nothing is kept.
    pub fn new(limit_bytes: usize) -> Self {
        Self { limit_bytes, used_bytes: AtomicUsize::new(0) }
    }

    /// Returns the number of bytes currently kept.
    pub fn used_bytes(&self) -> usize {
        self.used_bytes.load(Ordering::Relaxed)
    }

    /// Whether the budget is exhausted. Items in computation may still exceed it.
    pub fn is_used_up(&self) -> bool {
        self.used_bytes() >= self.limit_bytes
    }
}

// === impl Encodings ===

impl Encodings {
    /// Returns an encoding, computing it on first use. Concurrent callers wait for the computation.
    pub(super) fn get_or_make(
        &self,
        encoding: Encoding,
        budget: &Arc<EncodingBudget>,
        make: impl FnOnce() -> Option<Bytes>,
    ) -> Option<Bytes> {
        let mut make = Some(make);
        let mut made = || make.take().and_then(|make| make());
        let is_it = |kept: &Made| match kept {
            Made::Encoding(other, bytes) if *other == encoding => Some(bytes.clone()),
            _ => None,
        };
        let kept = self.find_or_keep(budget, is_it, || Made::Encoding(encoding, made()));
        kept.unwrap_or_else(made)
    }

    /// Returns the object in another version of its kind, computing it on first use.
    pub(super) fn get_or_convert(
        &self,
        version: GroupVersion,
        budget: &Arc<EncodingBudget>,
        convert: impl FnOnce() -> Option<StoredObject>,
    ) -> Option<StoredObject> {
        let mut convert = Some(convert);
        let mut made = || convert.take().and_then(|convert| convert());
        let is_it = |kept: &Made| match kept {
            Made::Version(other, object) if *other == version => Some(object.clone()),
            _ => None,
        };
        let kept = self.find_or_keep(budget, is_it, || Made::Version(version, made()));
        kept.unwrap_or_else(made)
    }

    /// Returns the kept item for which `is_it` holds, or computes and keeps it; `None` if it is absent and the budget
    /// is exhausted.
    fn find_or_keep<T>(
        &self,
        budget: &Arc<EncodingBudget>,
        is_it: impl Fn(&Made) -> Option<T>,
        mut make: impl FnMut() -> Made,
    ) -> Option<T> {
        let mut place = self;
        loop {
            let kept = match place.0.get() {
                Some(kept) => kept,
                None if budget.is_used_up() => return None,
                None => place.0.get_or_init(|| Box::new(Kept::new(make(), budget.clone()))),
            };
            if let Some(it) = is_it(&kept.made) {
                return Some(it);
            }
            place = &kept.next;
        }
    }
}

// === impl Kept ===

impl Kept {
    fn new(made: Made, budget: Arc<EncodingBudget>) -> Self {
        let kept = Self { made, budget, next: Encodings::default() };
        kept.budget.used_bytes.fetch_add(kept.size_bytes(), Ordering::Relaxed);
        kept
    }

    fn size_bytes(&self) -> usize {
        let made = match &self.made {
            Made::Encoding(_, bytes) => bytes.as_ref().map_or(0, Bytes::len),
            Made::Version(_, object) => object.as_ref().map_or(0, |object| object.size_bytes()),
        };
        size_of::<Self>() + made
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.budget.used_bytes.fetch_sub(self.size_bytes(), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::super::{Attributes, Entry};
    use super::*;

    #[test]
    fn an_unused_slot_is_two_words() {
        assert!(size_of::<Encodings>() <= 16);
    }

    #[test]
    fn each_encoding_is_made_once() {
        const MESSAGE: Option<Bytes> = Some(Bytes::from_static(b"message"));
        const MAP: Option<Bytes> = Some(Bytes::from_static(b"map"));
        let encodings = Encodings::default();
        let budget = Arc::new(EncodingBudget::new(1 << 20));
        let made = AtomicU32::new(0);
        let ask = |encoding, text: &'static [u8]| {
            encodings.get_or_make(encoding, &budget, || {
                made.fetch_add(1, Ordering::Relaxed);
                Some(Bytes::from_static(text))
            })
        };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    assert_eq!(ask(Encoding::Protobuf, b"message"), MESSAGE);
                    assert_eq!(ask(Encoding::Cbor, b"map"), MAP);
                });
            }
        });
        assert_eq!(made.load(Ordering::Relaxed), 2);
        let first = ask(Encoding::Cbor, b"");
        let second = ask(Encoding::Cbor, b"");
        assert_eq!(first.unwrap().as_ptr(), second.unwrap().as_ptr(), "the bytes are shared");
    }

    #[test]
    fn a_failed_encoding_is_not_tried_again() {
        let encodings = Encodings::default();
        let budget = Arc::new(EncodingBudget::new(1 << 20));
        assert_eq!(encodings.get_or_make(Encoding::Protobuf, &budget, || None), None);
        assert_eq!(encodings.get_or_make(Encoding::Protobuf, &budget, || Some(Bytes::new())), None);
    }

    #[test]
    fn a_version_is_made_once_and_has_encodings_of_its_own() {
        const BETA: GroupVersion = GroupVersion { group: "zoo.example.dev", version: "v1beta1" };
        let encodings = Encodings::default();
        let budget = Arc::new(EncodingBudget::new(1 << 20));
        let make = || {
            let json = Bytes::from_static(b"{}");
            Some(Arc::new(Entry::new("/x".into(), 1, json, 0, Attributes::default())))
        };
        let first = encodings.get_or_convert(BETA, &budget, make).unwrap();
        let again = encodings.get_or_convert(BETA, &budget, || unreachable!("it is there")).unwrap();
        assert!(Arc::ptr_eq(&first, &again));
        let of_hub = encodings.get_or_make(Encoding::Cbor, &budget, || Some(Bytes::from_static(b"hub")));
        let of_spoke = first.encoded(Encoding::Cbor, &budget, || Some(Bytes::from_static(b"spoke")));
        assert_ne!(of_hub, of_spoke);
        drop((encodings, first, again));
        assert_eq!(budget.used_bytes(), 0);
        let encodings = Encodings::default();
        let none = Arc::new(EncodingBudget::new(0));
        let first = encodings.get_or_convert(BETA, &none, make);
        let second = encodings.get_or_convert(BETA, &none, make);
        assert!(!Arc::ptr_eq(&first.unwrap(), &second.unwrap()), "without room nothing is kept");
    }

    #[test]
    fn memory_is_counted_and_bounded() {
        let budget = Arc::new(EncodingBudget::new(200));
        let entries: Vec<Encodings> = (0..10).map(|_| Encodings::default()).collect();
        let hundred = || Some(Bytes::from(vec![7; 100]));
        for entry in &entries {
            assert_eq!(entry.get_or_make(Encoding::Cbor, &budget, hundred), hundred());
        }
        let kept = entries.iter().filter(|entry| entry.0.get().is_some()).count();
        assert!((1..=2).contains(&kept), "{kept} are kept");
        assert_eq!(budget.used_bytes(), kept * (100 + size_of::<Kept>()));
        drop(entries);
        assert_eq!(budget.used_bytes(), 0);
    }
}
