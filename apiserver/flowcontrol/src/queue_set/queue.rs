//! One queue of a priority level.

use std::collections::BTreeMap;

use super::super::work::{SeatSeconds, count};
use super::ESTIMATED_DURATION;

/// The requests of the flows that share a queue.
#[derive(Debug, Default)]
pub(super) struct Queue {
    /// The ids of the waiting requests, by ticket: the oldest first.
    waiting: BTreeMap<u64, usize>,
    /// Sums over the waiting requests.
    pub(super) initial_seats: usize,
    pub(super) max_seats: usize,
    work: SeatSeconds,
    /// Number of executing requests.
    pub(super) executing: usize,
    /// Seats of the executing requests, and those that are kept after the end of others.
    pub(super) seats_in_use: usize,
    /// The virtual time at which the oldest request starts.
    pub(super) next_start: SeatSeconds,
    /// The key of the queue in the order of service, while requests wait.
    pub(super) position: Option<SeatSeconds>,
}

// === impl Queue ===

impl Queue {
    /// Returns the number of waiting requests.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Returns the work of the waiting requests.
    pub(super) fn waiting_work(&self) -> SeatSeconds {
        self.work
    }

    /// Returns the ids of the waiting requests, the oldest first.
    pub(super) fn ids(&self) -> impl Iterator<Item = usize> {
        self.waiting.values().copied()
    }

    /// Returns the id of the oldest waiting request.
    pub(super) fn oldest(&self) -> Option<usize> {
        self.waiting.first_key_value().map(|(_, id)| *id)
    }

    /// Returns whether there are waiting or executing requests.
    pub(super) fn is_active(&self) -> bool {
        self.executing > 0 || !self.waiting.is_empty()
    }

    /// Returns whether the queue holds nothing.
    pub(super) fn is_unused(&self) -> bool {
        !self.is_active() && self.seats_in_use == 0
    }

    /// Returns the start of the oldest request, less the work that is under way.
    pub(super) fn discounted_start(&self) -> SeatSeconds {
        self.next_start - SeatSeconds::new(count(self.seats_in_use), ESTIMATED_DURATION)
    }

    /// Adds a request.
    pub(super) fn push(&mut self, ticket: u64, id: usize, seats: usize, initial: usize, work: SeatSeconds) {
        self.waiting.insert(ticket, id);
        self.max_seats += seats;
        self.initial_seats += initial;
        self.work += work;
    }

    /// Removes a request.
    pub(super) fn remove(&mut self, ticket: u64, seats: usize, initial: usize, work: SeatSeconds) {
        if self.waiting.remove(&ticket).is_some() {
            self.max_seats -= seats;
            self.initial_seats -= initial;
            self.work -= work;
        }
    }
}
