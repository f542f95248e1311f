//! The metrics of storage that are read at a scrape.

use async_trait::async_trait;
use registry_core::metrics::StorageMetrics;

use crate::metrics::ReadStorageMetrics;

use super::{Engine, Uncached};

/// Reads the metrics of storage at a scrape.
pub struct StorageReader {
    pub(super) engines: Vec<Engine>,
    pub(super) uncached: Vec<Uncached>,
}

// === impl StorageReader ===

#[async_trait]
impl ReadStorageMetrics for StorageReader {
    #[cfg_attr(not(feature = "etcd3"), expect(unused_variables, reason = "there is one engine"))]
    async fn refresh(&self, metrics: &StorageMetrics) {
        for (index, engine) in self.engines.iter().enumerate() {
            let (cluster, size_bytes) = match engine {
                #[cfg(feature = "embedded")]
                Engine::Embedded(engine) => ("embedded".to_owned(), Some(engine.statistics().disk_bytes)),
                #[cfg(feature = "etcd3")]
                Engine::Etcd3(engine) => (format!("etcd-{index}"), engine.size_bytes().await),
            };
            if let Some(size_bytes) = size_bytes {
                metrics.set_size_bytes(&cluster, size_bytes);
            }
        }
        for uncached in &self.uncached {
            metrics.set_objects(uncached.resource, uncached.store.count(&uncached.prefix).await.ok());
        }
    }
}
