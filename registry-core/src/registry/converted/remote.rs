//! Remote conversions that readers of an object share: those that are under way, and those of the last moment.
//!
//! A conversion by a webhook is not a property of the object: the webhook may be replaced behind the same URL. It is
//! therefore kept for a second only, within which readers may see the answer of the webhook's earlier release.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared, WeakShared};
use parking_lot::Mutex;

use crate::resource::conversion::ConversionError;
use crate::storage::StoredObject;

use super::VersionAdapter;

/// Maximum time for which a conversion is kept.
const KEPT: Duration = Duration::from_secs(1);
/// Maximum size of the conversions that are kept.
const MAX_BYTES: usize = 32 << 20;
/// Number of entries above which those that nobody waits for are dropped.
const MAX_UNUSED: usize = 256;

/// The conversions that are under way, and those of the last second.
#[derive(Default)]
pub(super) struct RemoteConversions {
    made: Mutex<Made>,
    under_way: Mutex<HashMap<usize, WeakShared<Converting>>>,
}

/// Conversions by the address of the object. The object is kept, so that no other takes its address.
#[derive(Default)]
struct Made {
    by_address: HashMap<usize, (StoredObject, StoredObject)>,
    bytes: usize,
}

/// Returns an object, and its conversion. The object is kept, so that no other takes its address.
type Converting = BoxFuture<'static, (StoredObject, Result<StoredObject, ConversionError>)>;

// === impl RemoteConversions ===

impl RemoteConversions {
    /// Returns an object's conversion, if it was made within the last second.
    pub(super) fn get(&self, entry: &StoredObject) -> Option<StoredObject> {
        let made = self.made.lock();
        made.by_address.get(&address(entry)).map(|(_, converted)| converted.clone())
    }

    /// Keeps an object's conversion. All that are kept are dropped a second after the first of them.
    pub(super) fn keep(self: &Arc<Self>, entry: &StoredObject, converted: &StoredObject) {
        let mut made = self.made.lock();
        let bytes = entry.size_bytes() + converted.size_bytes();
        if made.bytes + bytes > MAX_BYTES {
            return;
        }
        if made.by_address.is_empty() {
            let conversions = Arc::downgrade(self);
            tokio::spawn(async move {
                tokio::time::sleep(KEPT).await;
                let dropped =
                    conversions.upgrade().map(|conversions| std::mem::take(&mut *conversions.made.lock()));
                drop(dropped);
            });
        }
        let kept = (entry.clone(), converted.clone());
        if made.by_address.insert(address(entry), kept).is_none() {
            made.bytes += bytes;
        }
    }

    /// Converts an object for a watcher, or waits for its conversion by another one. It is kept only as all others are.
    pub(super) async fn converted(
        &self,
        entry: &StoredObject,
        adapter: &VersionAdapter,
    ) -> Result<StoredObject, ConversionError> {
        let (_, converted) = self.converting(entry, adapter).await;
        converted
    }

    /// Whether a watcher waits for a conversion.
    pub(super) fn is_busy(&self) -> bool {
        self.under_way.lock().values().any(|weak| weak.upgrade().is_some())
    }

    fn converting(&self, entry: &StoredObject, adapter: &VersionAdapter) -> Shared<Converting> {
        let mut under_way = self.under_way.lock();
        if let Some(shared) = under_way.get(&address(entry)).and_then(WeakShared::upgrade) {
            return shared;
        }
        let (object, adapter) = (entry.clone(), adapter.clone());
        let converting = async move {
            let converted = adapter.read_remotely(&object).await;
            (object, converted)
        };
        let shared = converting.boxed().shared();
        if under_way.len() >= MAX_UNUSED {
            under_way.retain(|_, weak| weak.upgrade().is_some());
        }
        if let Some(weak) = shared.downgrade() {
            under_way.insert(address(entry), weak);
        }
        shared
    }
}

fn address(entry: &StoredObject) -> usize {
    Arc::as_ptr(entry).addr()
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
        let conversions = Arc::<RemoteConversions>::default();
        let (object, converted) = (entry(1), entry(1));
        assert!(conversions.get(&object).is_none());
        conversions.keep(&object, &converted);
        tokio::time::sleep(KEPT / 2).await;
        let kept = conversions.get(&object).expect("half a second later");
        assert!(Arc::ptr_eq(&kept, &converted));
        conversions.keep(&entry(1), &converted);
        tokio::time::sleep(KEPT).await;
        assert!(conversions.get(&object).is_none());
        assert_eq!(Arc::strong_count(&object), 1);
        conversions.keep(&object, &converted);
        assert!(conversions.get(&object).is_some(), "it is kept anew");
    }

    #[tokio::test]
    async fn no_more_than_the_limit_is_kept() {
        let conversions = Arc::<RemoteConversions>::default();
        let (large, small) = (entry(MAX_BYTES / 2), entry(1));
        conversions.keep(&large, &large);
        assert!(conversions.get(&large).is_none());
        conversions.keep(&small, &small);
        assert!(conversions.get(&small).is_some());
    }
}
