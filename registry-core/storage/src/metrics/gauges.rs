//! Values read from all caches when metrics are collected.

use std::collections::HashSet;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{IntCounterVec, IntGaugeVec};

use registry_meta::GroupResource;

use super::families::{Families, MetricsError};
use super::names;

/// Revisions are exported modulo this, as Kubernetes does: a gauge is a float, exact below 2^53 only.
const REVISION_MODULUS: u64 = 1_000_000_000_000_000;

/// A source of a watch cache's metrics.
pub trait CacheSource: Send + Sync {
    /// Returns the current numbers.
    fn numbers(&self) -> CacheNumbers;
}

/// The state of a watch cache.
#[derive(Clone, Copy, Debug, Default)]
pub struct CacheNumbers {
    /// The revision the cache has reached; 0 before it is filled.
    pub revision: u64,
    /// Number of objects.
    pub objects: usize,
    /// Whether the cache holds them.
    pub holds_objects: bool,
    /// Size of the held objects, in bytes.
    pub object_bytes: usize,
    /// Number of events in the history.
    pub history_events: usize,
    /// Size of the history without the current objects, in bytes.
    pub history_bytes: usize,
    /// Maximum number of events in the history.
    pub capacity_events: usize,
    /// Number of watches that the cache serves.
    pub watchers: usize,
}

/// A source of the metrics of the budget that all caches share.
pub trait BudgetSource: Send + Sync {
    /// Returns the current numbers.
    fn numbers(&self) -> BudgetNumbers;
}

/// The limit and the use of the caches' budget.
#[derive(Clone, Copy, Debug, Default)]
pub struct BudgetNumbers {
    /// Limit, in bytes.
    pub limit_bytes: usize,
    /// Memory in use, in bytes.
    pub used_bytes: usize,
    /// The part of it used by encodings other than JSON, in bytes.
    pub encoding_bytes: usize,
    /// Number of times a cache released its objects since the start.
    pub evictions: u64,
}

/// The gauges, and the sources they are read from.
pub(super) struct Gauges {
    sources: Mutex<Vec<(GroupResource, Weak<dyn CacheSource>)>>,
    budget: Mutex<Option<Weak<dyn BudgetSource>>>,
    storage_objects: IntGaugeVec,
    resource_objects: IntGaugeVec,
    revision: IntGaugeVec,
    capacity: IntGaugeVec,
    is_filled: IntGaugeVec,
    holds_objects: IntGaugeVec,
    object_bytes: IntGaugeVec,
    history_bytes: IntGaugeVec,
    history_events: IntGaugeVec,
    watchers: IntGaugeVec,
    limit_bytes: IntGaugeVec,
    used_bytes: IntGaugeVec,
    encoding_bytes: IntGaugeVec,
    evictions: IntCounterVec,
}

/// The collector that the registry holds.
struct Reader(Arc<Gauges>);

// === impl Gauges ===

impl Gauges {
    pub(super) fn new(families: &mut Families) -> Result<Arc<Self>, MetricsError> {
        let evictions = families.unregistered_counter(&names::CACHE_EVICTIONS)?;
        let mut gauge = |definition| families.unregistered_gauge(definition);
        let gauges = Arc::new(Self {
            sources: Mutex::default(),
            budget: Mutex::default(),
            storage_objects: gauge(&names::STORAGE_OBJECTS)?,
            resource_objects: gauge(&names::RESOURCE_OBJECTS)?,
            revision: gauge(&names::CACHE_REVISION)?,
            capacity: gauge(&names::CACHE_CAPACITY)?,
            is_filled: gauge(&names::CACHE_IS_FILLED)?,
            holds_objects: gauge(&names::CACHE_HOLDS_OBJECTS)?,
            object_bytes: gauge(&names::CACHE_OBJECT_BYTES)?,
            history_bytes: gauge(&names::CACHE_HISTORY_BYTES)?,
            history_events: gauge(&names::CACHE_HISTORY_EVENTS)?,
            watchers: gauge(&names::CACHE_WATCHERS)?,
            limit_bytes: gauge(&names::CACHE_LIMIT)?,
            used_bytes: gauge(&names::CACHE_USED)?,
            encoding_bytes: gauge(&names::CACHE_ENCODINGS)?,
            evictions,
        });
        families.collect(Box::new(Reader(gauges.clone())))?;
        Ok(gauges)
    }

    pub(super) fn observe_cache(&self, resource: GroupResource, source: Weak<dyn CacheSource>) {
        self.sources.lock().push((resource, source));
    }

    pub(super) fn observe_budget(&self, source: Weak<dyn BudgetSource>) {
        *self.budget.lock() = Some(source);
    }

    pub(super) fn set_objects(&self, resource: GroupResource, objects: Option<u64>) {
        let objects = objects.map_or(-1, |objects| i64::try_from(objects).unwrap_or(i64::MAX));
        self.storage_objects.with_label_values(&[resource.to_string()]).set(objects);
        self.resource_objects.with_label_values(&[resource.group, resource.resource]).set(objects);
    }

    /// Returns the numbers of all caches.
    pub(super) fn caches(&self) -> Vec<(GroupResource, CacheNumbers)> {
        let mut numbers = Vec::new();
        let mut gone = Vec::new();
        // Kinds that are defined while the server runs come and go: only the caches that exist are kept.
        self.sources.lock().retain(|(resource, source)| {
            let source = source.upgrade();
            match &source {
                Some(source) => numbers.push((*resource, source.numbers())),
                None => gone.push(*resource),
            }
            source.is_some()
        });
        if !gone.is_empty() {
            let present: HashSet<GroupResource> = numbers.iter().map(|(resource, _)| *resource).collect();
            gone.into_iter().filter(|gone| !present.contains(gone)).for_each(|gone| self.forget(gone));
        }
        numbers
    }

    /// Removes the values of a resource whose cache is gone.
    fn forget(&self, resource: GroupResource) {
        let labels = &[resource.group, resource.resource];
        // There may be none: its cache was never read.
        let _ = self.storage_objects.remove_label_values(&[resource.to_string()]);
        for gauge in [
            &self.resource_objects,
            &self.revision,
            &self.capacity,
            &self.is_filled,
            &self.holds_objects,
            &self.object_bytes,
            &self.history_bytes,
            &self.history_events,
            &self.watchers,
        ] {
            let _ = gauge.remove_label_values(labels);
        }
    }

    fn read(&self) {
        for (resource, numbers) in self.caches() {
            self.read_cache(resource, numbers);
        }
        let budget = self.budget.lock();
        if let Some(budget) = budget.as_ref().and_then(Weak::upgrade) {
            let numbers = budget.numbers();
            set(&self.limit_bytes, &[], numbers.limit_bytes as u64);
            set(&self.used_bytes, &[], numbers.used_bytes as u64);
            set(&self.encoding_bytes, &[], numbers.encoding_bytes as u64);
            let evictions = self.evictions.with_label_values::<&str>(&[]);
            evictions.inc_by(numbers.evictions.saturating_sub(evictions.get()));
        }
    }

    fn read_cache(&self, resource: GroupResource, numbers: CacheNumbers) {
        let labels = &[resource.group, resource.resource];
        if numbers.revision != 0 {
            self.set_objects(resource, Some(numbers.objects as u64));
        }
        set(&self.revision, labels, numbers.revision % REVISION_MODULUS);
        set(&self.capacity, labels, numbers.capacity_events as u64);
        set(&self.is_filled, labels, u64::from(numbers.revision != 0));
        set(&self.holds_objects, labels, u64::from(numbers.holds_objects));
        set(&self.object_bytes, labels, numbers.object_bytes as u64);
        set(&self.history_bytes, labels, numbers.history_bytes as u64);
        set(&self.history_events, labels, numbers.history_events as u64);
        set(&self.watchers, labels, numbers.watchers as u64);
    }

    fn all(&self) -> [&dyn Collector; 14] {
        [
            &self.storage_objects,
            &self.resource_objects,
            &self.revision,
            &self.capacity,
            &self.is_filled,
            &self.holds_objects,
            &self.object_bytes,
            &self.history_bytes,
            &self.history_events,
            &self.watchers,
            &self.limit_bytes,
            &self.used_bytes,
            &self.encoding_bytes,
            &self.evictions,
        ]
    }
}

fn set(gauge: &IntGaugeVec, labels: &[&str], value: u64) {
    gauge.with_label_values(labels).set(i64::try_from(value).unwrap_or(i64::MAX));
}

impl Collector for Reader {
    fn desc(&self) -> Vec<&Desc> {
        self.0.all().into_iter().flat_map(|gauge| gauge.desc()).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.0.read();
        self.0.all().into_iter().flat_map(Collector::collect).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Cache(usize);

    impl CacheSource for Cache {
        fn numbers(&self) -> CacheNumbers {
            CacheNumbers { revision: 7, objects: self.0, ..CacheNumbers::default() }
        }
    }

    #[test]
    fn a_resource_whose_cache_is_gone_has_no_values() {
        let mut families = Families::default();
        let gauges = Gauges::new(&mut families).unwrap();
        let resource = |resource| GroupResource { group: "example.com", resource };
        let observe = |name, objects| {
            let cache: Arc<dyn CacheSource> = Arc::new(Cache(objects));
            gauges.observe_cache(resource(name), Arc::downgrade(&cache));
            cache
        };
        let page = || Families::encode(&families.gather()).unwrap();
        let objects = |name, objects| {
            format!("apiserver_resource_objects{{group=\"example.com\",resource=\"{name}\"}} {objects}\n")
        };
        let (first, _other) = (observe("widgets", 3), observe("gadgets", 4));
        assert!(page().contains(&objects("widgets", 3)), "{}", page());
        // The kind is defined anew before the cache of its former definition is gone.
        let again = observe("widgets", 5);
        drop(first);
        assert!(page().contains(&objects("widgets", 5)), "{}", page());
        drop(again);
        let page = page();
        assert!(!page.contains("widgets") && page.contains(&objects("gadgets", 4)), "{page}");
        assert_eq!(gauges.sources.lock().len(), 1);
    }
}
