//! Statistics of one priority level, for lending and for metrics.

use std::time::Duration;

use super::demand::{Integrator, Observed};
use super::work::SeatSeconds;
use crate::timed_ratio::TimedRatio;

/// Bounds of the requests' part of the limit, as Kubernetes has them.
const REQUEST_RATIOS: &[f64] = &[0.0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1.0];
/// Bounds of the seats' part of the limit.
const SEAT_RATIOS: &[f64] = &[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0];
/// Bounds of the demand in units of the limit.
const DEMAND_RATIOS: &[f64] = &[0.2, 0.4, 0.6, 0.8, 1.0, 1.2, 1.4, 1.7, 2.0, 2.8, 4.0, 6.0];

/// The observations of a priority level.
pub(super) struct Statistics {
    /// Number of requests that began to execute, since the start.
    pub(super) dispatched: u64,
    /// Number of requests that were refused, those that gave up waiting included.
    pub(super) rejected: u64,
    /// Number of requests that gave up waiting.
    pub(super) cancelled: u64,
    /// The present virtual time.
    pub(super) progress: SeatSeconds,
    /// The virtual time of the last dispatch.
    pub(super) dispatch_progress: SeatSeconds,
    /// The virtual start of the request that was dispatched last.
    pub(super) latest_start: SeatSeconds,
    /// The smallest and the largest virtual start of the oldest waiting requests of queues.
    pub(super) next_start: (SeatSeconds, SeatSeconds),
    /// The same, less the work under way.
    pub(super) next_discounted_start: (SeatSeconds, SeatSeconds),
    /// The part of the places in queues that was taken, over time.
    pub(super) waiting_requests: TimedRatio,
    /// The number of executing requests per seat, over time.
    pub(super) executing_requests: TimedRatio,
    /// The part of the seats that was taken, over time.
    pub(super) seats: TimedRatio,
    /// The number of wanted seats per seat, over time.
    pub(super) demand: TimedRatio,
    wanted: Integrator,
}

// === impl Statistics ===

impl Statistics {
    pub(super) fn new(now: Duration) -> Self {
        let mut wanted = Integrator::default();
        wanted.set(now, 0.0);
        wanted.take(now);
        Self {
            dispatched: 0,
            rejected: 0,
            cancelled: 0,
            progress: SeatSeconds::ZERO,
            dispatch_progress: SeatSeconds::ZERO,
            latest_start: SeatSeconds::ZERO,
            next_start: Default::default(),
            next_discounted_start: Default::default(),
            waiting_requests: TimedRatio::new(REQUEST_RATIOS, now),
            executing_requests: TimedRatio::new(REQUEST_RATIOS, now),
            seats: TimedRatio::new(SEAT_RATIOS, now),
            demand: TimedRatio::new(DEMAND_RATIOS, now),
            wanted,
        }
    }

    /// Sets the numbers from this time on.
    pub(super) fn observe(&mut self, now: Duration, waiting: f64, executing: f64, in_use: f64, wanted: f64) {
        self.waiting_requests.set(now, waiting);
        self.executing_requests.set(now, executing);
        self.seats.set(now, in_use);
        self.demand.set(now, wanted);
        self.wanted.set(now, wanted);
    }

    pub(super) fn dispatched_at(&mut self, progress: SeatSeconds, start: SeatSeconds) {
        self.dispatch_progress = progress;
        self.latest_start = start;
    }

    /// Sets the number of places in queues, and of seats.
    pub(super) fn set_denominators(&mut self, now: Duration, places: f64, seats: f64) {
        self.waiting_requests.set_denominator(now, places);
        self.executing_requests.set_denominator(now, seats);
        self.seats.set_denominator(now, seats);
        self.demand.set_denominator(now, seats);
    }

    /// Includes the time until now.
    pub(super) fn advance(&mut self, now: Duration) {
        let ratios =
            [&mut self.waiting_requests, &mut self.executing_requests, &mut self.seats, &mut self.demand];
        for ratio in ratios {
            ratio.advance(now);
        }
    }

    /// Returns the demand for seats since the last call.
    pub(super) fn take_demand(&mut self, now: Duration) -> Observed {
        self.wanted.take(now)
    }
}
