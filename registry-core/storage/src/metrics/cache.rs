//! Metrics of one resource's watch cache.

use std::sync::Arc;
use std::time::Duration;

use prometheus::{HistogramVec, IntCounterVec};

use registry_meta::GroupResource;

use super::families::{Bound, Families};
use super::names;
use super::text::MetricsError;

/// Metrics of one resource's watch cache. The default records nothing.
#[derive(Clone, Default)]
pub struct CacheMetrics(Option<Arc<Counters>>);

/// The families of all caches.
#[derive(Clone)]
pub(super) struct CacheFamilies {
    lists: IntCounterVec,
    list_fetched: IntCounterVec,
    list_returned: IntCounterVec,
    init_events: IntCounterVec,
    events_received: IntCounterVec,
    events_dispatched: IntCounterVec,
    terminated_watchers: IntCounterVec,
    initializations: IntCounterVec,
    consistent_reads: IntCounterVec,
    read_wait: HistogramVec,
}

/// The metrics of one cache.
struct Counters {
    lists: Bound<IntCounterVec, 3>,
    list_fetched: Bound<IntCounterVec, 3>,
    list_returned: Bound<IntCounterVec, 2>,
    init_events: Bound<IntCounterVec, 2>,
    events_received: Bound<IntCounterVec, 2>,
    events_dispatched: Bound<IntCounterVec, 2>,
    terminated_watchers: Bound<IntCounterVec, 2>,
    initializations: Bound<IntCounterVec, 2>,
    consistent_reads: Bound<IntCounterVec, 4>,
    inconsistent_reads: Bound<IntCounterVec, 4>,
    read_wait: Bound<HistogramVec, 2>,
}

// === impl CacheFamilies ===

impl CacheFamilies {
    pub(super) fn new(families: &mut Families) -> Result<Self, MetricsError> {
        Ok(Self {
            lists: families.counter(&names::CACHE_LISTS)?,
            list_fetched: families.counter(&names::CACHE_LIST_FETCHED)?,
            list_returned: families.counter(&names::CACHE_LIST_RETURNED)?,
            init_events: families.counter(&names::INIT_EVENTS)?,
            events_received: families.counter(&names::EVENTS_RECEIVED)?,
            events_dispatched: families.counter(&names::EVENTS_DISPATCHED)?,
            terminated_watchers: families.counter(&names::TERMINATED_WATCHERS)?,
            initializations: families.counter(&names::INITIALIZATIONS)?,
            consistent_reads: families.counter(&names::CONSISTENT_READS)?,
            read_wait: families.histogram(&names::READ_WAIT)?,
        })
    }

    pub(super) fn for_resource(&self, resource: GroupResource) -> CacheMetrics {
        let GroupResource { group, resource } = resource;
        let counter = |family| Bound::new(family, [group, resource]);
        CacheMetrics(Some(Arc::new(Counters {
            lists: Bound::new(&self.lists, [group, resource, ""]),
            list_fetched: Bound::new(&self.list_fetched, [group, resource, ""]),
            list_returned: counter(&self.list_returned),
            init_events: counter(&self.init_events),
            events_received: counter(&self.events_received),
            events_dispatched: counter(&self.events_dispatched),
            terminated_watchers: counter(&self.terminated_watchers),
            initializations: counter(&self.initializations),
            consistent_reads: Bound::new(&self.consistent_reads, [group, resource, "true", "false"]),
            inconsistent_reads: Bound::new(&self.consistent_reads, [group, resource, "false", "true"]),
            read_wait: Bound::new(&self.read_wait, [group, resource]),
        })))
    }
}

// === impl CacheMetrics ===

impl CacheMetrics {
    /// Records a list: the number of objects examined, and the number returned.
    pub fn listed(&self, fetched: usize, returned: usize) {
        let Some(counters) = &self.0 else { return };
        counters.lists.get().inc();
        counters.list_fetched.get().inc_by(fetched as u64);
        counters.list_returned.get().inc_by(returned as u64);
    }

    /// Records the start of a watch, with the number of its initial objects.
    pub fn initialized_watch(&self, events: usize) {
        let Some(counters) = &self.0 else { return };
        counters.init_events.get().inc_by(events as u64);
    }

    /// Records events received from the store.
    pub fn received(&self, events: usize) {
        let Some(counters) = &self.0 else { return };
        counters.events_received.get().inc_by(events as u64);
    }

    /// Records events sent to watchers.
    pub fn dispatched(&self, events: usize) {
        let Some(counters) = &self.0 else { return };
        counters.events_dispatched.get().inc_by(events as u64);
    }

    /// Records a watcher that fell behind the kept history.
    pub fn terminated_watcher(&self) {
        let Some(counters) = &self.0 else { return };
        counters.terminated_watchers.get().inc();
    }

    /// Records that the cache was filled.
    pub fn filled(&self) {
        let Some(counters) = &self.0 else { return };
        counters.initializations.get().inc();
    }

    /// Records a consistent read: answered from the cache, or by the store because the cache was too late.
    pub fn read_consistently(&self, from_cache: bool) {
        let Some(counters) = &self.0 else { return };
        let reads = if from_cache { &counters.consistent_reads } else { &counters.inconsistent_reads };
        reads.get().inc();
    }

    /// Records the time a read waited for the cache.
    pub fn waited(&self, wait: Duration) {
        let Some(counters) = &self.0 else { return };
        counters.read_wait.get().observe(wait.as_secs_f64());
    }
}
