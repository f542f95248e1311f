//! The fair queues of one priority level: which request executes next.
//!
//! A level has a number of seats. A request that finds seats executes at once; others wait, each in one of the few queues
//! of its flow. When seats become free, the queue whose oldest request would end first in virtual time is served. Virtual
//! time advances as if all queues in use shared the seats equally, so that a flow with many requests delays its own ones. A
//! few seats are reserved for flows that have hardly any (see `reserve`).
//!
//! This is a plain value: every method takes the current time, as a duration since the start of the server, and nothing
//! waits. `level` adds the lock and the waiting. Each step takes O(log n) time in the number of queues in use.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use slab::Slab;
use tokio::sync::oneshot;

use super::sharding::Dealer;
use super::statistics::Statistics;
use super::work::{SeatSeconds, WorkEstimate, count};
use crate::metrics::FlowMetrics;

mod dispatch;
mod dump;
mod queue;
mod queue_choice;
mod reserve;
#[cfg(test)]
mod tests;

pub(super) use dump::{QueueDump, RequestDump};
use queue::Queue;
use reserve::{LEVEL_SEATS_PER_RESERVED_SEAT, Reserve, Taken};

/// The duration that a request is expected to have, until it ends.
const ESTIMATED_DURATION: Duration = Duration::from_millis(3);

/// The treatment of a request that finds no seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Response {
    /// Every request executes at once.
    Exempt,
    /// It is refused.
    Reject,
    /// It waits.
    Queue {
        /// Chooses the queues of a flow.
        dealer: Dealer,
        /// Maximum number of requests that wait in one queue.
        max_length: usize,
    },
}

/// A request that arrives.
pub(super) struct Request {
    /// Names the flow schema.
    pub(super) schema: Arc<str>,
    /// Counts the requests of the flow schema.
    pub(super) metrics: Arc<FlowMetrics>,
    /// The value that distinguishes the flow from others of the same schema: a user, a namespace, or nothing.
    pub(super) distinguisher: Box<str>,
    /// The hash of the flow.
    pub(super) hash: u64,
    /// The user and the attributes of the request, as columns of a dump.
    pub(super) details: Box<str>,
    /// The seats.
    pub(super) work: WorkEstimate,
}

/// The decision about an arriving request. An id is valid until [`QueueSet::leave`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    Executing(usize),
    Waiting(usize),
    Refused(Refusal),
}

/// Why a request does not execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    ConcurrencyLimit,
    QueueFull,
    TimeOut,
}

/// A request that waits or executes.
struct Entry {
    request: Request,
    /// The work that it is expected to be, final work included.
    total_work: SeatSeconds,
    arrived: Duration,
    arrival_progress: SeatSeconds,
    /// `None` if it does not belong to a queue.
    queue: Option<u32>,
    /// The place in the queue while it waits.
    ticket: u64,
    /// `None` while it waits.
    started: Option<Duration>,
    /// The seats; `None` while it waits.
    taken: Option<Taken>,
    /// Receives a message when the request begins to execute.
    waiting: Option<oneshot::Sender<()>>,
}

/// Seats that a request keeps after its end.
struct Lingering {
    taken: Taken,
    queue: Option<u32>,
    metrics: Arc<FlowMetrics>,
}

/// The requests of a priority level.
pub(super) struct QueueSet {
    response: Response,
    /// Number of seats; may be exceeded by exempt requests, and after it was lowered.
    limit: usize,
    entries: Slab<Entry>,
    /// The queues in use: with waiting or executing requests, or seats that are kept.
    queues: BTreeMap<u32, Queue>,
    /// The queues with waiting requests, by the virtual time at which the oldest one would end.
    order: BTreeSet<(SeatSeconds, u32)>,
    /// The queue that was served last: others go first when they are equal.
    last_served: u32,
    /// By the time at which they become free.
    lingering: BTreeMap<(Duration, u64), Lingering>,
    /// Virtual time: the seat-seconds that each queue in use has received since the start.
    progress: SeatSeconds,
    /// When virtual time was last advanced.
    now: Duration,
    /// Number of queues with waiting or executing requests.
    active_queues: usize,
    waiting: usize,
    executing: usize,
    seats_in_use: usize,
    seats_waiting: usize,
    reserve: Reserve,
    /// Number of requests that were given a queue.
    arrivals: u64,
    /// Orders waiting requests by arrival, and seats that become free at the same time.
    sequence: u64,
    /// The queues of the present flow; kept to reuse its allocation.
    hand: Vec<u32>,
    statistics: Statistics,
}

// === impl Refusal ===

impl Refusal {
    /// Returns the reason as metrics have it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::ConcurrencyLimit => "concurrency-limit",
            Self::QueueFull => "queue-full",
            Self::TimeOut => "time-out",
        }
    }
}

// === impl Entry ===

impl Entry {
    fn seats(&self) -> usize {
        self.request.work.max_seats()
    }
}

// === impl QueueSet ===

impl QueueSet {
    /// Returns an empty set.
    pub(super) fn new(now: Duration, response: Response, limit: usize) -> Self {
        Self {
            response,
            limit,
            entries: Slab::new(),
            queues: BTreeMap::new(),
            order: BTreeSet::new(),
            last_served: u32::MAX,
            lingering: BTreeMap::new(),
            progress: SeatSeconds::ZERO,
            now,
            active_queues: 0,
            waiting: 0,
            executing: 0,
            seats_in_use: 0,
            seats_waiting: 0,
            reserve: Reserve::default(),
            arrivals: 0,
            sequence: 0,
            hand: Vec::new(),
            statistics: Statistics::new(now),
        }
    }

    /// Changes the configuration. Requests that wait in queues that no longer exist are served from there.
    pub(super) fn configure(&mut self, now: Duration, response: Response, limit: usize, denominator: usize) {
        self.advance(now);
        self.response = response;
        self.limit = limit;
        let places = match response {
            Response::Queue { dealer, max_length } => dealer.queues().saturating_mul(max_length),
            Response::Exempt | Response::Reject => 1,
        };
        self.statistics.set_denominators(now, count(places), count(denominator));
        self.dispatch();
    }

    /// Begins a request.
    pub(super) fn arrive(&mut self, now: Duration, request: Request) -> Admission {
        self.advance(now);
        let seats = request.work.max_seats();
        let Response::Queue { dealer, max_length } = self.response else {
            if !self.has_room_for(seats) {
                return self.refuse(&request, Refusal::ConcurrencyLimit);
            }
            let id = self.insert(request, None);
            self.execute(id, false);
            return Admission::Executing(id);
        };
        let chosen = self.choose_queue(dealer, request.hash);
        let length = self.queues.get(&chosen).map_or(0, Queue::len);
        // It would be the only one in the queues.
        let is_next = self.waiting == 0 && self.limit > 0 && self.has_room_for(seats);
        let is_reserved = !is_next && self.has_reserve_for(&request);
        if length >= max_length && !is_next && !is_reserved {
            return self.refuse(&request, Refusal::QueueFull);
        }
        request.metrics.queue_length(length + 1);
        let id = self.insert(request, Some(chosen));
        if is_next || is_reserved {
            self.begin_queue(chosen);
            self.last_served = chosen;
            self.start_in(chosen, id, is_reserved);
            // Seats whose time has come may suffice for others.
            self.dispatch();
            return Admission::Executing(id);
        }
        self.enqueue(chosen, id);
        self.dispatch();
        let is_executing = self.entries.get(id).is_some_and(|entry| entry.started.is_some());
        if is_executing { Admission::Executing(id) } else { Admission::Waiting(id) }
    }

    /// Sets whom to tell when a waiting request begins to execute.
    pub(super) fn wake_by(&mut self, id: usize, sender: oneshot::Sender<()>) {
        if let Some(entry) = self.entries.get_mut(id) {
            entry.waiting = Some(sender);
        }
    }

    /// Ends a request that executes, or gives up one that waits. Returns for how long it executed.
    pub(super) fn leave(&mut self, now: Duration, id: usize) -> Option<Duration> {
        self.advance(now);
        let entry = self.entries.try_remove(id)?;
        let executed = entry.started.map(|started| now.saturating_sub(started));
        match (executed, entry.taken) {
            (Some(executed), Some(taken)) => self.finish(entry, taken, executed),
            _ => self.give_up(&entry),
        }
        self.dispatch();
        executed
    }

    /// Releases the seats whose time has come, and serves waiting requests. Returns when to call it again; `None` if
    /// nobody waits for such seats.
    pub(super) fn release(&mut self, now: Duration) -> Option<Duration> {
        self.advance(now);
        self.dispatch();
        self.next_release()
    }

    /// Returns when seats become free that requests wait for.
    pub(super) fn next_release(&self) -> Option<Duration> {
        if self.waiting == 0 {
            return None;
        }
        self.lingering.first_key_value().map(|((at, _), _)| *at)
    }

    /// Returns whether there are no requests.
    pub(super) fn is_idle(&self) -> bool {
        self.waiting == 0 && self.executing == 0
    }

    /// Returns the statistics until now.
    pub(super) fn statistics(&mut self, now: Duration) -> &mut Statistics {
        self.release(now);
        self.statistics.advance(now);
        self.statistics.progress = self.progress;
        self.statistics.next_start = self.bounds(|queue| queue.next_start);
        self.statistics.next_discounted_start = self.bounds(Queue::discounted_start);
        &mut self.statistics
    }

    /// Returns the smallest and the largest of a property of the queues with waiting requests.
    fn bounds(&self, property: impl Fn(&Queue) -> SeatSeconds) -> (SeatSeconds, SeatSeconds) {
        let queues = self.order.iter().filter_map(|(_, index)| self.queues.get(index)).map(property);
        let range = queues.fold(None, |range: Option<(SeatSeconds, SeatSeconds)>, value| {
            Some(range.map_or((value, value), |(min, max)| (min.min(value), max.max(value))))
        });
        range.unwrap_or_default()
    }

    /// Advances virtual time, and releases on the way the seats whose time has come.
    fn advance(&mut self, now: Duration) {
        while let Some(first) = self.lingering.first_entry()
            && first.key().0 <= now
        {
            let ((at, _), lingering) = first.remove_entry();
            self.synchronize(at);
            self.release_seats(lingering.taken, lingering.queue, &lingering.metrics);
        }
        self.synchronize(now);
    }

    fn synchronize(&mut self, now: Duration) {
        let passed = now.saturating_sub(self.now);
        self.now = self.now.max(now);
        if self.active_queues > 0 && !passed.is_zero() {
            let shared = (self.seats_in_use + self.seats_waiting).min(self.limit);
            self.progress += SeatSeconds::new(count(shared) / count(self.active_queues), passed);
        }
    }

    /// Returns whether the seats that are shared in turn suffice for a request with this many. One with more than there are
    /// has them alone.
    fn has_room_for(&self, seats: usize) -> bool {
        match self.response {
            Response::Exempt => true,
            _ if seats > self.shared_limit() => self.shared_in_use() == 0,
            _ => self.shared_in_use() + seats <= self.shared_limit(),
        }
    }

    /// Returns whether the reserve has seats for a request.
    fn has_reserve_for(&self, request: &Request) -> bool {
        self.reserve.has_room_for(request.hash, request.work.max_seats(), self.reserve_size())
    }

    fn reserve_size(&self) -> usize {
        match self.response {
            Response::Queue { .. } => self.limit / LEVEL_SEATS_PER_RESERVED_SEAT,
            Response::Exempt | Response::Reject => 0,
        }
    }

    fn shared_limit(&self) -> usize {
        self.limit - self.reserve_size()
    }

    fn shared_in_use(&self) -> usize {
        self.seats_in_use - self.reserve.in_use()
    }

    fn refuse(&mut self, request: &Request, why: Refusal) -> Admission {
        self.statistics.rejected += 1;
        request.metrics.rejected(why.as_str());
        Admission::Refused(why)
    }

    fn insert(&mut self, request: Request, queue: Option<u32>) -> usize {
        let initial = SeatSeconds::new(count(request.work.initial_seats), ESTIMATED_DURATION);
        self.sequence += 1;
        self.entries.insert(Entry {
            total_work: initial + request.work.final_work(),
            arrived: self.now,
            arrival_progress: self.progress,
            queue,
            ticket: self.sequence,
            started: None,
            taken: None,
            waiting: None,
            request,
        })
    }

    fn execute(&mut self, id: usize, is_reserved: bool) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        entry.started = Some(self.now);
        let seats = entry.seats();
        let taken = Taken { flow: entry.request.hash, seats, is_reserved };
        entry.taken = Some(taken);
        self.reserve.take(taken);
        entry.request.metrics.started(seats);
        self.executing += 1;
        self.seats_in_use += seats;
        self.statistics.dispatched += 1;
        self.observe();
    }

    fn finish(&mut self, entry: Entry, taken: Taken, executed: Duration) {
        self.executing -= 1;
        let Entry { request, queue, .. } = entry;
        request.metrics.finished();
        if let Some(index) = queue {
            if let Some(queue) = self.queues.get_mut(&index) {
                // The queue was charged for the expected duration.
                let initial = count(request.work.initial_seats);
                queue.next_start -= SeatSeconds::new(initial, ESTIMATED_DURATION);
                queue.next_start += SeatSeconds::new(initial, executed);
                queue.executing -= 1;
                self.active_queues -= usize::from(!queue.is_active());
            }
            self.reorder(index);
        }
        if request.work.additional_latency.is_zero() {
            self.release_seats(taken, queue, &request.metrics);
            return;
        }
        self.sequence += 1;
        let until = (self.now + request.work.additional_latency, self.sequence);
        self.lingering.insert(until, Lingering { taken, queue, metrics: request.metrics });
        self.observe();
    }

    fn release_seats(&mut self, taken: Taken, queue: Option<u32>, metrics: &FlowMetrics) {
        let seats = taken.seats;
        metrics.released(seats);
        self.seats_in_use -= seats;
        self.reserve.give_back(taken);
        if let Some(index) = queue {
            if let Some(queue) = self.queues.get_mut(&index) {
                queue.seats_in_use -= seats;
            }
            self.forget_unused(index);
        }
        self.observe();
    }

    fn give_up(&mut self, entry: &Entry) {
        let Some(index) = entry.queue else { return };
        let seats = entry.seats();
        entry.request.metrics.dequeued(seats);
        entry.request.metrics.rejected(Refusal::TimeOut.as_str());
        if let Some(queue) = self.queues.get_mut(&index) {
            queue.remove(entry.ticket, seats, entry.request.work.initial_seats, entry.total_work);
            self.active_queues -= usize::from(!queue.is_active());
        }
        self.waiting -= 1;
        self.seats_waiting -= seats;
        self.statistics.rejected += 1;
        self.statistics.cancelled += 1;
        self.reorder(index);
        self.forget_unused(index);
        self.observe();
    }

    fn forget_unused(&mut self, index: u32) {
        if self.queues.get(&index).is_some_and(Queue::is_unused) {
            self.queues.remove(&index);
        }
    }

    fn observe(&mut self) {
        let (waiting, executing) = (count(self.waiting), count(self.executing));
        let (in_use, wanted) = (count(self.seats_in_use), count(self.seats_in_use + self.seats_waiting));
        self.statistics.observe(self.now, waiting, executing, in_use, wanted);
    }
}
