//! The state of the queues, for the debugging pages.

use std::time::Duration;

use super::super::work::{SeatSeconds, WorkEstimate};
use super::{Entry, Queue, QueueSet, Response};

/// Maximum number of unused queues that are shown.
const MAX_SHOWN_QUEUES: u32 = 10_000;

/// The state of a priority level.
pub(crate) struct SetDump {
    pub(crate) is_idle: bool,
    pub(crate) waiting: usize,
    pub(crate) executing: usize,
    pub(crate) dispatched: u64,
    pub(crate) rejected: u64,
    pub(crate) cancelled: u64,
    pub(crate) queues: Vec<QueueDump>,
}

/// The state of a queue.
#[derive(Default)]
pub(crate) struct QueueDump {
    pub(crate) index: u32,
    pub(crate) waiting: usize,
    pub(crate) executing: usize,
    pub(crate) seats_in_use: usize,
    pub(crate) next_start: SeatSeconds,
    pub(crate) initial_seats: usize,
    pub(crate) max_seats: usize,
    pub(crate) work: SeatSeconds,
}

/// A request.
pub(crate) struct RequestDump {
    pub(crate) schema: String,
    /// `None` if it does not belong to a queue.
    pub(crate) queue: Option<u32>,
    /// Its position among the waiting ones; `None` while it executes.
    pub(crate) position: Option<usize>,
    pub(crate) distinguisher: String,
    pub(crate) arrived: Duration,
    pub(crate) started: Option<Duration>,
    pub(crate) work: WorkEstimate,
    pub(crate) details: String,
}

// === impl QueueSet ===

impl QueueSet {
    /// Returns the state without the single requests.
    pub(crate) fn dump(&mut self, now: Duration) -> SetDump {
        self.release(now);
        let wanted = match self.response {
            Response::Queue { dealer, .. } => u32::try_from(dealer.queues()).unwrap_or(u32::MAX),
            Response::Exempt | Response::Reject => 0,
        };
        let mut queues: Vec<QueueDump> = (0..wanted.min(MAX_SHOWN_QUEUES))
            .filter(|index| !self.queues.contains_key(index))
            .map(|index| QueueDump { index, ..QueueDump::default() })
            .collect();
        queues.extend(self.queues.iter().map(|(index, queue)| dump_of(*index, queue)));
        queues.sort_by_key(|queue| queue.index);
        SetDump {
            is_idle: self.is_idle(),
            waiting: self.waiting,
            executing: self.executing,
            dispatched: self.statistics.dispatched,
            rejected: self.statistics.rejected,
            cancelled: self.statistics.cancelled,
            queues,
        }
    }

    /// Returns the requests: those of each queue, the waiting ones first, then those without a queue.
    pub(crate) fn dump_requests(&mut self, now: Duration) -> Vec<RequestDump> {
        self.release(now);
        let mut requests = Vec::with_capacity(self.entries.len());
        for queue in self.queues.values() {
            let waiting = queue.ids().enumerate();
            requests.extend(
                waiting.filter_map(|(position, id)| Some(self.entries.get(id)?.dump(Some(position)))),
            );
        }
        let executing = self.entries.iter().filter(|(_, entry)| entry.started.is_some());
        requests.extend(executing.map(|(_, entry)| entry.dump(None)));
        // Stable: waiting requests stay before executing ones, and in order.
        requests.sort_by_key(|request| request.queue.map_or(u64::MAX, u64::from));
        requests
    }
}

fn dump_of(index: u32, queue: &Queue) -> QueueDump {
    QueueDump {
        index,
        waiting: queue.len(),
        executing: queue.executing,
        seats_in_use: queue.seats_in_use,
        next_start: queue.next_start,
        initial_seats: queue.initial_seats,
        max_seats: queue.max_seats,
        work: queue.waiting_work(),
    }
}

// === impl Entry ===

impl Entry {
    fn dump(&self, position: Option<usize>) -> RequestDump {
        RequestDump {
            schema: self.request.schema.to_string(),
            queue: self.queue,
            position,
            distinguisher: self.request.distinguisher.to_string(),
            arrived: self.arrived,
            started: self.started,
            work: self.request.work,
            details: self.request.details.to_string(),
        }
    }
}
