//! Remote conversions of the last moment, so that a burst of readers of an object shares one call.
//!
//! A conversion by a webhook is not a property of the object: the webhook may be replaced behind the same URL. It is
//! therefore kept for a second only, within which readers may see the answer of the webhook's earlier release.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::storage::StoredObject;

/// Maximum time for which a conversion is kept.
const KEPT: Duration = Duration::from_secs(1);
/// Maximum size of the conversions that are kept.
const MAX_BYTES: usize = 32 << 20;

/// The conversions of the last second.
#[derive(Default)]
pub(super) struct Recent(Mutex<Conversions>);

/// Conversions by the address of the object. The object is kept, so that no other takes its address.
#[derive(Default)]
struct Conversions {
    by_address: HashMap<usize, (StoredObject, StoredObject)>,
    bytes: usize,
}

// === impl Recent ===

impl Recent {
    /// Returns an object's conversion, if it was made within the last second.
    pub(super) fn get(&self, entry: &StoredObject) -> Option<StoredObject> {
        let conversions = self.0.lock();
        conversions.by_address.get(&Arc::as_ptr(entry).addr()).map(|(_, converted)| converted.clone())
    }

    /// Keeps an object's conversion. All that are kept are dropped a second after the first of them.
    pub(super) fn keep(self: &Arc<Self>, entry: &StoredObject, converted: &StoredObject) {
        let mut conversions = self.0.lock();
        let bytes = entry.size_bytes() + converted.size_bytes();
        if conversions.bytes + bytes > MAX_BYTES {
            return;
        }
        if conversions.by_address.is_empty() {
            let recent = Arc::downgrade(self);
            tokio::spawn(async move {
                tokio::time::sleep(KEPT).await;
                let dropped = recent.upgrade().map(|recent| std::mem::take(&mut *recent.0.lock()));
                drop(dropped);
            });
        }
        let kept = (entry.clone(), converted.clone());
        if conversions.by_address.insert(Arc::as_ptr(entry).addr(), kept).is_none() {
            conversions.bytes += bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::api::Object;
    use crate::storage::Entry;

    use super::*;

    fn entry(bytes: usize) -> StoredObject {
        let object =
            serde_json::json!({"kind": "Host", "metadata": {"name": "a"}, "data": "x".repeat(bytes)});
        Arc::new(Entry::unstored(&Object::from_value(object).unwrap()))
    }

    #[tokio::test(start_paused = true)]
    async fn a_conversion_is_kept_for_a_second() {
        let recent = Arc::<Recent>::default();
        let (object, converted) = (entry(1), entry(1));
        assert!(recent.get(&object).is_none());
        recent.keep(&object, &converted);
        tokio::time::sleep(KEPT / 2).await;
        let kept = recent.get(&object).expect("half a second later");
        assert!(Arc::ptr_eq(&kept, &converted));
        recent.keep(&entry(1), &converted);
        tokio::time::sleep(KEPT).await;
        assert!(recent.get(&object).is_none());
        assert_eq!(Arc::strong_count(&object), 1);
        recent.keep(&object, &converted);
        assert!(recent.get(&object).is_some(), "it is kept anew");
    }

    #[tokio::test]
    async fn no_more_than_the_limit_is_kept() {
        let recent = Arc::<Recent>::default();
        let (large, small) = (entry(MAX_BYTES / 2), entry(1));
        recent.keep(&large, &large);
        assert!(recent.get(&large).is_none());
        recent.keep(&small, &small);
        assert!(recent.get(&small).is_some());
    }
}
