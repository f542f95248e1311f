//! Metrics of the layers below HTTP.
//!
//! Names, labels and buckets are those of Kubernetes where it has them; metrics specific to this engine begin with
//! `orlop_`. A server has one set of [`Families`] and passes it to the components that record metrics: there is no
//! global state, so that a process can run several servers. Label sets are resolved once, when a store is opened
//! ([`Bound`]): recording is then a few atomic additions. Values that a component already holds are read when metrics
//! are collected ([`CacheSource`]), instead of being counted twice.
//!
//! | part | contents |
//! |---|---|
//! | `names` | the definitions of all storage metrics |
//! | `families` | the registration, description and reading of metrics |
//! | `text` | the text format, with numbers as Go writes them |
//! | `cache` | the metrics of one resource's watch cache |
//! | `gauges` | the values read from all caches when metrics are collected |
//! | `transform` | the metrics of encryption at rest |
//! | `reloads` | the metrics of a configuration file that is read again when it changes |
//! | `engine` | the metrics of engine requests and commits |
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/storage/cacher/metrics`, `…/storage/etcd3/metrics`.

mod cache;
mod engine;
mod families;
mod gauges;
mod names;
mod reloads;
mod text;
mod transform;

use std::sync::{Arc, Weak};

use prometheus::IntGaugeVec;

use registry_meta::GroupResource;

pub use cache::CacheMetrics;
pub use engine::{CommitMetrics, EngineMetrics, EngineOperation};
pub use families::{Bound, Definition, Described, Families};
pub use gauges::{BudgetNumbers, BudgetSource, CacheNumbers, CacheSource};
pub use names::REQUEST_SECONDS;
pub use reloads::{ReloadMetrics, content_hash, now_seconds};
pub use text::MetricsError;
pub use transform::TransformMetrics;

use cache::CacheFamilies;
use engine::EngineFamilies;
use gauges::Gauges;

/// The metrics of one server's storage.
#[derive(Clone)]
pub struct StorageMetrics {
    cache: CacheFamilies,
    engine: EngineFamilies,
    commits: CommitMetrics,
    transform: TransformMetrics,
    size_bytes: IntGaugeVec,
    gauges: Arc<Gauges>,
}

// === impl StorageMetrics ===

impl StorageMetrics {
    /// Registers all metrics.
    ///
    /// # Errors
    /// Fails if a name is registered already: a server has one set.
    pub fn new(families: &mut Families) -> Result<Self, MetricsError> {
        Ok(Self {
            cache: CacheFamilies::new(families)?,
            engine: EngineFamilies::new(families)?,
            commits: CommitMetrics::new(families)?,
            transform: TransformMetrics::new(families)?,
            size_bytes: families.gauge(&names::STORAGE_SIZE)?,
            gauges: Gauges::new(families)?,
        })
    }

    /// Returns the metrics of a resource's watch cache.
    pub fn cache(&self, resource: GroupResource) -> CacheMetrics {
        self.cache.for_resource(resource)
    }

    /// Returns the metrics of engine requests for a resource.
    pub fn engine(&self, resource: GroupResource) -> EngineMetrics {
        self.engine.for_resource(resource)
    }

    /// Returns the metrics of the embedded engine's commits.
    pub fn commits(&self) -> CommitMetrics {
        self.commits.clone()
    }

    /// Returns the metrics of the transformation of values at rest.
    pub fn transform(&self) -> &TransformMetrics {
        &self.transform
    }

    /// Registers a resource's cache, which is read when metrics are collected.
    pub fn observe_cache(&self, resource: GroupResource, source: Weak<dyn CacheSource>) {
        self.gauges.observe_cache(resource, source);
    }

    /// Registers the caches' common budget, which is read when metrics are collected.
    pub fn observe_budget(&self, source: Weak<dyn BudgetSource>) {
        self.gauges.observe_budget(source);
    }

    /// Returns the present numbers of all caches.
    pub fn caches(&self) -> Vec<(GroupResource, CacheNumbers)> {
        self.gauges.caches()
    }

    /// Sets the number of objects of a resource without a cache; `None` if it cannot be determined.
    pub fn set_objects(&self, resource: GroupResource, objects: Option<u64>) {
        self.gauges.set_objects(resource, objects);
    }

    /// Sets the size of the engine's data on disk, in bytes.
    pub fn set_size_bytes(&self, storage_cluster_id: &str, bytes: u64) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.size_bytes.with_label_values(&[storage_cluster_id]).set(bytes);
    }
}
