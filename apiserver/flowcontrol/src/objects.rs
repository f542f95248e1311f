//! Number and size of the objects of each resource, from which the cost of a list is estimated.
//!
//! Kubernetes concept: `StorageObjectCountTracker`.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use registry_core::metrics::StorageMetrics;

use super::level::Clock;

/// Age at which the numbers are read again by the next list.
const MAX_AGE: Duration = Duration::from_secs(1);

/// The numbers, as they were at most [`MAX_AGE`] before a list.
pub(super) struct ObjectCounts {
    source: StorageMetrics,
    clock: Clock,
    /// When they are read again, in milliseconds; 0 at first.
    due_millis: AtomicU64,
    /// By resource, then by group.
    counts: ArcSwap<Counts>,
}

/// Number of the objects of a resource, and their average size in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ObjectStatistics {
    pub(super) objects: u64,
    pub(super) average_bytes: u64,
}

type Counts = HashMap<&'static str, Vec<(&'static str, ObjectStatistics)>>;

// === impl ObjectCounts ===

impl ObjectCounts {
    pub(super) fn new(source: StorageMetrics, clock: Clock) -> Self {
        Self { source, clock, due_millis: AtomicU64::new(0), counts: ArcSwap::default() }
    }

    /// Returns the numbers of a resource; `None` if it is not stored here.
    pub(super) fn statistics(&self, group: &str, resource: &str) -> Option<ObjectStatistics> {
        self.refresh();
        let counts = self.counts.load();
        let groups = counts.get(resource)?;
        groups.iter().find(|(own, _)| *own == group).map(|(_, statistics)| *statistics)
    }

    fn refresh(&self) {
        let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        let now = self.clock.now();
        let due = self.due_millis.load(Ordering::Relaxed);
        let next = millis(now + MAX_AGE);
        // One of several lists reads them.
        let is_mine = millis(now) >= due
            && self.due_millis.compare_exchange(due, next, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        if !is_mine {
            return;
        }
        let mut counts = Counts::new();
        for (resource, numbers) in self.source.caches() {
            let objects = numbers.objects as u64;
            let average_bytes = (numbers.object_bytes as u64).checked_div(objects).unwrap_or(0);
            let statistics = ObjectStatistics { objects, average_bytes };
            counts.entry(resource.resource).or_default().push((resource.group, statistics));
        }
        self.counts.store(Arc::new(counts));
    }
}
