//! Values read from all caches when metrics are collected.

use std::collections::HashSet;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{IntCounterVec, IntGaugeVec};

use registry_meta::GroupResource;

use super::families::{Definition, Families};
use super::names;
use super::text::MetricsError;

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
    of_caches: Vec<Gauge<CacheNumbers>>,
    of_budget: Vec<Gauge<BudgetNumbers>>,
    evictions: IntCounterVec,
}

/// A definition, and what reads the value.
type Read<N> = (&'static Definition, fn(&N) -> u64);

/// A gauge, and what reads its value.
struct Gauge<N> {
    family: IntGaugeVec,
    value: fn(&N) -> u64,
}

/// The gauges of each cache.
const OF_CACHES: [Read<CacheNumbers>; 8] = [
    (&names::CACHE_REVISION, |numbers| numbers.revision % REVISION_MODULUS),
    (&names::CACHE_CAPACITY, |numbers| numbers.capacity_events as u64),
    (&names::CACHE_IS_FILLED, |numbers| u64::from(numbers.revision != 0)),
    (&names::CACHE_HOLDS_OBJECTS, |numbers| u64::from(numbers.holds_objects)),
    (&names::CACHE_OBJECT_BYTES, |numbers| numbers.object_bytes as u64),
    (&names::CACHE_HISTORY_BYTES, |numbers| numbers.history_bytes as u64),
    (&names::CACHE_HISTORY_EVENTS, |numbers| numbers.history_events as u64),
    (&names::CACHE_WATCHERS, |numbers| numbers.watchers as u64),
];

/// The gauges of the budget of all caches.
const OF_BUDGET: [Read<BudgetNumbers>; 3] = [
    (&names::CACHE_LIMIT, |numbers| numbers.limit_bytes as u64),
    (&names::CACHE_USED, |numbers| numbers.used_bytes as u64),
    (&names::CACHE_ENCODINGS, |numbers| numbers.encoding_bytes as u64),
];

/// The collector that the registry holds.
struct Reader(Arc<Gauges>);

// === impl Gauges ===

impl Gauges {
    pub(super) fn new(families: &mut Families) -> Result<Arc<Self>, MetricsError> {
        let gauges = Arc::new(Self {
            sources: Mutex::default(),
            budget: Mutex::default(),
            storage_objects: families.unregistered_gauge(&names::STORAGE_OBJECTS)?,
            resource_objects: families.unregistered_gauge(&names::RESOURCE_OBJECTS)?,
            of_caches: Gauge::all(families, &OF_CACHES)?,
            of_budget: Gauge::all(families, &OF_BUDGET)?,
            evictions: families.unregistered_counter(&names::CACHE_EVICTIONS)?,
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
        let of_caches = self.of_caches.iter().map(|gauge| &gauge.family);
        for family in of_caches.chain([&self.resource_objects]) {
            let _ = family.remove_label_values(labels);
        }
    }

    fn read(&self) {
        for (resource, numbers) in self.caches() {
            self.read_cache(resource, numbers);
        }
        let budget = self.budget.lock();
        if let Some(budget) = budget.as_ref().and_then(Weak::upgrade) {
            let numbers = budget.numbers();
            self.of_budget.iter().for_each(|gauge| gauge.set(&[], &numbers));
            let evictions = self.evictions.with_label_values::<&str>(&[]);
            evictions.inc_by(numbers.evictions.saturating_sub(evictions.get()));
        }
    }

    fn read_cache(&self, resource: GroupResource, numbers: CacheNumbers) {
        let labels = &[resource.group, resource.resource];
        if numbers.revision != 0 {
            self.set_objects(resource, Some(numbers.objects as u64));
        }
        self.of_caches.iter().for_each(|gauge| gauge.set(labels, &numbers));
    }

    fn all(&self) -> impl Iterator<Item = &dyn Collector> {
        let single: [&dyn Collector; 3] = [&self.storage_objects, &self.resource_objects, &self.evictions];
        let of_caches = self.of_caches.iter().map(|gauge| &gauge.family as &dyn Collector);
        let of_budget = self.of_budget.iter().map(|gauge| &gauge.family as &dyn Collector);
        single.into_iter().chain(of_caches).chain(of_budget)
    }
}

// === impl Gauge ===

impl<N> Gauge<N> {
    fn all(families: &mut Families, definitions: &[Read<N>]) -> Result<Vec<Self>, MetricsError> {
        let gauge = |(definition, value): &Read<N>| {
            Ok(Self { family: families.unregistered_gauge(definition)?, value: *value })
        };
        definitions.iter().map(gauge).collect()
    }

    fn set(&self, labels: &[&str], numbers: &N) {
        let value = i64::try_from((self.value)(numbers)).unwrap_or(i64::MAX);
        self.family.with_label_values(labels).set(value);
    }
}

impl Collector for Reader {
    fn desc(&self) -> Vec<&Desc> {
        self.0.all().flat_map(Collector::desc).collect()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.0.read();
        self.0.all().flat_map(Collector::collect).collect()
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
