//! What is counted and measured below HTTP.
//!
//! Names, labels and buckets are Kubernetes' where it has them; what only this engine has begins with `orlop_`. A
//! server has one set of [`Families`] and hands what counts to whoever counts: there is no global state, so that a
//! process can have many servers. Label sets are resolved once, when a store is opened ([`Bound`]): to count is then
//! an atomic addition or a few. What can be read where it is kept is read when somebody asks ([`CacheSource`]),
//! instead of being counted twice.
//!
//! | part | what it does |
//! |---|---|
//! | `names` | every metric of storage by name: one place to look |
//! | `families` | registers, describes and writes out metrics |
//! | `cache` | what one resource's watch cache counts |
//! | `gauges` | what is read from all caches when somebody asks |
//! | `engine` | what is asked of the engine, and what its commits take |
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/storage/cacher/metrics`, `…/storage/etcd3/metrics`.

mod cache;
mod engine;
mod families;
mod gauges;
mod names;

use std::sync::{Arc, Weak};

use prometheus::IntGaugeVec;

use crate::api::GroupResource;

pub use cache::CacheMetrics;
pub use engine::{CommitMetrics, EngineMetrics, EngineOperation};
pub use families::{Bound, Definition, Described, Families, MetricsError};
pub use gauges::{BudgetNumbers, BudgetSource, CacheNumbers, CacheSource};
pub use names::REQUEST_SECONDS;

use cache::CacheFamilies;
use engine::EngineFamilies;
use gauges::Gauges;

/// The metrics of one server's storage.
#[derive(Clone)]
pub struct StorageMetrics {
    cache: CacheFamilies,
    engine: EngineFamilies,
    commits: CommitMetrics,
    size_bytes: IntGaugeVec,
    gauges: Arc<Gauges>,
}

// === impl StorageMetrics ===

impl StorageMetrics {
    /// Registers all of them.
    ///
    /// # Errors
    /// A name is taken already: a server has them once.
    pub fn new(families: &mut Families) -> Result<Self, MetricsError> {
        Ok(Self {
            cache: CacheFamilies::new(families)?,
            engine: EngineFamilies::new(families)?,
            commits: CommitMetrics::new(families)?,
            size_bytes: families.gauge(&names::STORAGE_SIZE)?,
            gauges: Gauges::new(families)?,
        })
    }

    /// What the watch cache of a resource counts.
    pub fn cache(&self, resource: GroupResource) -> CacheMetrics {
        self.cache.of(resource)
    }

    /// What is asked of the engine for a resource.
    pub fn engine(&self, resource: GroupResource) -> EngineMetrics {
        self.engine.of(resource)
    }

    /// What the embedded engine's commits take.
    pub fn commits(&self) -> CommitMetrics {
        self.commits.clone()
    }

    /// Reads a resource's cache whenever somebody asks for metrics.
    pub fn observe_cache(&self, resource: GroupResource, source: Weak<dyn CacheSource>) {
        self.gauges.observe_cache(resource, source);
    }

    /// Reads the caches' common budget whenever somebody asks for metrics.
    pub fn observe_budget(&self, source: Weak<dyn BudgetSource>) {
        self.gauges.observe_budget(source);
    }

    /// Notes how many objects a resource without a cache has; `None` when that cannot be found out.
    pub fn set_objects(&self, resource: GroupResource, objects: Option<u64>) {
        self.gauges.set_objects(resource, objects);
    }

    /// Notes how large the engine's data is on its disk.
    pub fn set_size_bytes(&self, storage_cluster_id: &str, bytes: u64) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.size_bytes.with_label_values(&[storage_cluster_id]).set(bytes);
    }
}
