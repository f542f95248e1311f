//! Estimates the number of seats that a request needs.
//!
//! A list needs seats for the memory of the objects that it reads; a write keeps seats after its end while watchers are
//! informed; everything else needs one.
//!
//! Kubernetes concept: `WorkEstimator` in `k8s.io/apiserver/pkg/util/flowcontrol/request`.

use std::time::Duration;

use request_info::{RequestInfo, ResourceRequest, Verb, query_pairs};

use super::objects::{ObjectCounts, ObjectStatistics};
use super::watches::WatchTracker;
use super::work::{SeatSeconds, WorkEstimate, count};
use crate::metrics::FlowMetrics;

/// The least number of seats.
const MIN_SEATS: usize = 1;
/// Maximum number of seats of a list.
const MAX_LIST_SEATS: usize = 100;
/// Maximum number of seats of a write.
const MAX_WRITE_SEATS: usize = 10;
/// Memory of a list for which it needs a seat.
const BYTES_PER_SEAT: u64 = 100_000;
/// Memory that a list from the cache needs at most, as its objects are sent one after the other.
const MAX_CACHED_LIST_BYTES: u64 = 1_000_000;
/// The assumed size of objects whose size is not known.
const MAX_OBJECT_BYTES: u64 = 1_500_000;
/// Watches that need a seat while they are informed.
const WATCHES_PER_SEAT: usize = 10;
/// Time that it takes to inform watches of a write.
const EVENT_DURATION: Duration = Duration::from_millis(5);

/// The parameters of a list that determine its cost.
#[derive(Debug, Default)]
struct ListQuery {
    limit: u64,
    has_continue: bool,
    has_selector: bool,
    version: Version,
    version_match: String,
    sends_initial_events: bool,
}

/// The resource version that a list asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Version {
    #[default]
    Latest,
    Any,
    Given,
}

/// The state of the server that the cost of requests depends on: the objects that lists read, and the watches that writes inform.
pub(super) struct Estimator<'a> {
    pub(super) objects: &'a ObjectCounts,
    pub(super) watches: &'a WatchTracker,
    pub(super) metrics: &'a FlowMetrics,
}

// === impl Estimator ===

impl Estimator<'_> {
    /// Returns the seats of a request. `max_seats` is the limit of its level; 0 if it has none.
    pub(super) fn estimate(&self, info: &RequestInfo, query: &str, max_seats: usize) -> WorkEstimate {
        let capped = |most: usize| if max_seats == 0 { most } else { max_seats.min(most) };
        match (&info.resource, info.verb) {
            (Some(resource), Verb::List | Verb::Watch) => {
                let statistics = || self.objects.statistics(&resource.group, &resource.resource);
                WorkEstimate::seats(list(info.verb, resource, query, capped(MAX_LIST_SEATS), statistics))
            }
            (Some(resource), Verb::Create | Verb::Update | Verb::Patch | Verb::Delete) => {
                if resource.resource == "serviceaccounts" && resource.subresource == "token" {
                    return WorkEstimate::seats(MIN_SEATS);
                }
                let informed = self.watches.interested(resource);
                self.metrics.watch_count(informed);
                write(informed, capped(MAX_WRITE_SEATS))
            }
            _ => WorkEstimate::seats(MIN_SEATS),
        }
    }
}

/// Returns the seats of a list, or of the initial events of a watch.
fn list(
    verb: Verb,
    resource: &ResourceRequest,
    query: &str,
    max_seats: usize,
    statistics: impl FnOnce() -> Option<ObjectStatistics>,
) -> usize {
    let Some(query) = ListQuery::parse(query) else { return max_seats };
    let is_watch = verb == Verb::Watch;
    if is_watch && !query.sends_initial_events && query.version == Version::Given {
        return MIN_SEATS;
    }
    let Some(mut statistics) = statistics() else { return MIN_SEATS };
    if statistics.average_bytes == 0 && statistics.objects != 0 {
        statistics.average_bytes = MAX_OBJECT_BYTES;
    }
    let limited = if query.limit > 0 { query.limit.min(statistics.objects) } else { statistics.objects };
    let is_cached = is_watch || query.is_served_from_cache();
    let loaded = if !resource.name.is_empty() {
        1
    } else if !is_cached && query.has_selector {
        limited.max(statistics.objects / 2)
    } else {
        limited
    };
    let bytes = loaded.saturating_mul(statistics.average_bytes);
    let bytes = if is_cached { bytes.min(MAX_CACHED_LIST_BYTES) } else { bytes };
    let seats = usize::try_from(bytes.div_ceil(BYTES_PER_SEAT)).unwrap_or(usize::MAX);
    seats.max(MIN_SEATS).min(max_seats.max(MIN_SEATS))
}

/// Returns the seats of a write that informs this many watches.
fn write(informed: usize, max_seats: usize) -> WorkEstimate {
    if informed < WATCHES_PER_SEAT {
        return WorkEstimate::seats(MIN_SEATS);
    }
    let wanted = informed.div_ceil(WATCHES_PER_SEAT);
    let work = SeatSeconds::new(count(wanted), EVENT_DURATION);
    // Fewer seats for longer: a wide request holds up all others until there are enough seats for it.
    let final_seats = wanted.min(max_seats);
    WorkEstimate { initial_seats: MIN_SEATS, final_seats, additional_latency: work.per_seat(final_seats) }
}

// === impl ListQuery ===

impl ListQuery {
    /// Returns the parameters, or `None` if the handler will refuse them.
    fn parse(query: &str) -> Option<Self> {
        let mut parsed = Self::default();
        for (name, value) in query_pairs(query).filter(|(_, value)| !value.is_empty()) {
            match &*name {
                "limit" => parsed.limit = u64::try_from(value.parse::<i64>().ok()?).unwrap_or(0),
                "continue" => parsed.has_continue = true,
                "fieldSelector" | "labelSelector" => parsed.has_selector = true,
                "resourceVersion" => {
                    parsed.version = if value == "0" { Version::Any } else { Version::Given }
                }
                "resourceVersionMatch" => parsed.version_match = value.into_owned(),
                "sendInitialEvents" => parsed.sends_initial_events = value != "0" && value != "false",
                _ => {}
            }
        }
        Some(parsed)
    }

    /// Returns whether the cache can respond, as Kubernetes assumes for the estimate.
    fn is_served_from_cache(&self) -> bool {
        match self.version_match.as_str() {
            "NotOlderThan" => true,
            "" => !self.has_continue && (self.limit == 0 || self.version != Version::Given),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seats(verb: Verb, name: &str, query: &str, objects: u64, average_bytes: u64) -> usize {
        let resource = ResourceRequest { name: name.to_owned(), ..ResourceRequest::default() };
        let statistics = || Some(ObjectStatistics { objects, average_bytes });
        list(verb, &resource, query, MAX_LIST_SEATS, statistics)
    }

    #[test]
    fn a_list_needs_seats_for_the_memory_that_it_takes() {
        const EXACT: &str = "resourceVersion=5&resourceVersionMatch=Exact";
        for (query, objects, bytes, expected) in [
            ("", 799, 10_000, 10),
            ("", 799, 1_000, 8),
            ("", 0, 0, 1),
            ("", 799, 0, 10),
            ("limit=29", 799, 10_000, 3),
            ("resourceVersion=0&limit=499", 799, 1_000, 5),
            (EXACT, 799, 10_000, 80),
            (EXACT, 799, 1_500_000, 100),
            ("limit=29&continue=x", 799, 10_000, 3),
            ("limit=49&continue=x&labelSelector=a", 799, 10_000, 40),
            ("limit=699&continue=x&labelSelector=a", 799, 10_000, 70),
            ("limit=x", 799, 10_000, 100),
            ("limit=29&resourceVersion=7", 799, 100_000, 29),
        ] {
            assert_eq!(seats(Verb::List, "", query, objects, bytes), expected, "{query} of {objects}");
        }
        assert_eq!(seats(Verb::List, "one", "resourceVersion=0&limit=500", 799, 200_000), 2);
        let resource = ResourceRequest::default();
        assert_eq!(list(Verb::List, &resource, "", MAX_LIST_SEATS, || None), 1, "it is served elsewhere");
        let large = Some(ObjectStatistics { objects: 799, average_bytes: 10_000 });
        assert_eq!(list(Verb::List, &resource, "", 4, || large), 4, "the level limits it");
    }

    #[test]
    fn a_watch_needs_seats_only_for_initial_events() {
        for (query, expected) in [
            ("watch=true", 8),
            ("watch=true&resourceVersion=0", 8),
            ("watch=true&resourceVersion=1", 1),
            ("watch=true&sendInitialEvents=false&resourceVersion=1", 1),
            ("watch=true&sendInitialEvents=true&resourceVersion=1", 8),
        ] {
            assert_eq!(seats(Verb::Watch, "", query, 799, 1_000), expected, "{query}");
        }
    }

    #[test]
    fn a_write_keeps_seats_while_watches_are_informed() {
        assert_eq!(write(0, 10), WorkEstimate::seats(1));
        assert_eq!(write(9, 10), WorkEstimate::seats(1));
        for (informed, max_seats, final_seats, milliseconds) in
            [(29, 10, 3, 5), (199, 10, 10, 10), (100, 5, 5, 10), (1000, 10, 10, 50)]
        {
            let additional_latency = Duration::from_millis(milliseconds);
            let expected = WorkEstimate { initial_seats: 1, final_seats, additional_latency };
            assert_eq!(write(informed, max_seats), expected, "{informed} watches");
        }
    }
}
