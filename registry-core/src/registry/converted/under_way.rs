//! Remote conversions of events that are under way, so that all watchers of an object share one call.

use std::collections::HashMap;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared, WeakShared};
use parking_lot::Mutex;

use crate::resource::conversion::ConversionError;
use crate::storage::StoredObject;

use super::VersionAdapter;

/// Number of entries above which those that nobody waits for are dropped.
const MAX_UNUSED: usize = 256;

/// An object, and its conversion. The object is kept, so that no other takes its address.
type Converted = (StoredObject, Result<StoredObject, ConversionError>);
type Conversion = BoxFuture<'static, Converted>;

/// The conversions that are under way, by the address of the object.
#[derive(Default)]
pub(super) struct UnderWay(Mutex<HashMap<usize, WeakShared<Conversion>>>);

// === impl UnderWay ===

impl UnderWay {
    /// Converts an object, or waits for its conversion by another watcher. Nothing is kept of it here.
    pub(super) async fn converted(
        &self,
        entry: &StoredObject,
        adapter: &VersionAdapter,
    ) -> Result<StoredObject, ConversionError> {
        let (_, converted) = self.conversion(entry, adapter).await;
        converted
    }

    /// Whether a watcher waits for a conversion.
    pub(super) fn is_busy(&self) -> bool {
        self.0.lock().values().any(|weak| weak.upgrade().is_some())
    }

    fn conversion(&self, entry: &StoredObject, adapter: &VersionAdapter) -> Shared<Conversion> {
        let address = Arc::as_ptr(entry).addr();
        let mut under_way = self.0.lock();
        if let Some(shared) = under_way.get(&address).and_then(WeakShared::upgrade) {
            return shared;
        }
        let (entry, adapter) = (entry.clone(), adapter.clone());
        let converting = async move {
            let converted = adapter.read_remotely(&entry).await;
            (entry, converted)
        };
        let shared = converting.boxed().shared();
        if under_way.len() >= MAX_UNUSED {
            under_way.retain(|_, weak| weak.upgrade().is_some());
        }
        if let Some(weak) = shared.downgrade() {
            under_way.insert(address, weak);
        }
        shared
    }
}
