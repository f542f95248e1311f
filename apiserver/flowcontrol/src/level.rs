//! A priority level: its queues behind a lock, and the requests that wait for its seats.
//!
//! The lock is held for the few steps of one arrival or end. A request that has seats, or waits for them, holds a
//! [`Seat`]; dropping it gives back what it holds, so that a request whose client leaves frees its place at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::configuration::LevelConfiguration;
use super::dropped::DroppedRequests;
use super::queue_set::{Admission, QueueSet, Refusal, Request, Response};
use crate::metrics::FlowMetrics;

/// A time that does not come.
const NEVER: u64 = u64::MAX;

/// Durations since the start of the server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock(Instant);

/// A priority level.
pub(super) struct Level {
    name: Arc<str>,
    clock: Clock,
    requests: Mutex<QueueSet>,
    /// Maximum number of seats of one request; 0 if only the general limits apply.
    max_seats: AtomicUsize,
    /// Whether flows are distinguished: there are several queues.
    has_flows: AtomicBool,
    is_exempt: bool,
    /// When the task that releases seats does so next, in nanoseconds since the start; [`NEVER`] if there is no such task.
    release_due: AtomicU64,
    /// Wakes that task before.
    earlier: Notify,
    dropped: DroppedRequests,
}

/// The seats that a request holds of its level, or its place in a queue.
pub struct Seat {
    level: Arc<Level>,
    metrics: Arc<FlowMetrics>,
    id: usize,
    seats: usize,
    is_watch: bool,
}

// === impl Clock ===

impl Clock {
    pub(super) fn start() -> Self {
        Self(Instant::now())
    }

    pub(super) fn now(self) -> Duration {
        self.0.elapsed()
    }
}

// === impl Level ===

impl Level {
    /// Returns a level with this configuration, and as many seats at first.
    pub(super) fn new(name: &str, configuration: &LevelConfiguration, clock: Clock) -> Arc<Self> {
        let response = configuration.response;
        Arc::new(Self {
            name: name.into(),
            clock,
            requests: Mutex::new(QueueSet::new(clock.now(), response, 0)),
            max_seats: AtomicUsize::new(0),
            has_flows: AtomicBool::new(false),
            is_exempt: response == Response::Exempt,
            release_due: AtomicU64::new(NEVER),
            earlier: Notify::new(),
            dropped: DroppedRequests::default(),
        })
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn has_flows(&self) -> bool {
        self.has_flows.load(Ordering::Relaxed)
    }

    pub(super) fn max_seats(&self) -> usize {
        self.max_seats.load(Ordering::Relaxed)
    }

    /// Puts a configuration in force, with this number of seats, of which one request gets at most `max_seats`.
    pub(super) fn configure(&self, response: Response, limit: usize, denominator: usize, max_seats: usize) {
        let has_flows = matches!(response, Response::Queue { dealer, .. } if dealer.queues() > 1);
        self.has_flows.store(has_flows, Ordering::Relaxed);
        self.max_seats.store(max_seats, Ordering::Relaxed);
        self.requests().configure(self.clock.now(), response, limit, denominator);
    }

    /// Counts a refused request. Returns after how many seconds its client should try again.
    pub(super) fn retry_after_seconds(&self) -> u32 {
        self.dropped.record(self.clock.now().as_secs())
    }

    /// Returns the queues.
    pub(super) fn requests(&self) -> MutexGuard<'_, QueueSet> {
        self.requests.lock()
    }

    /// Returns the seats of a request, at once or when it is its turn.
    ///
    /// # Errors
    /// There are no seats, and no place in its queue, or the wait was too long.
    pub(super) async fn enter<Waiting>(
        self: &Arc<Self>,
        request: Request,
        is_watch: bool,
        max_wait: Duration,
        on_wait: impl FnOnce() -> Waiting,
    ) -> Result<Seat, Refusal> {
        let metrics = request.metrics.clone();
        let arrived = self.clock.now();
        let (seat, receiver) = match self.begin(arrived, request, is_watch) {
            Ok((seat, Some(receiver))) => (seat, receiver),
            begun => {
                self.waited(&metrics, begun.is_ok(), arrived);
                return begun.map(|(seat, _)| seat);
            }
        };
        let _waiting = on_wait();
        let woken = tokio::time::timeout(max_wait, receiver).await;
        // As in Kubernetes, a request that was admitted to a queue counts as admitted even if it waited in vain.
        self.waited(&metrics, true, arrived);
        match woken {
            Ok(Ok(())) => Ok(seat),
            _ => Err(Refusal::TimeOut),
        }
    }

    /// Begins a request. With a receiver, it has to wait for its message.
    fn begin(
        self: &Arc<Self>,
        arrived: Duration,
        request: Request,
        is_watch: bool,
    ) -> Result<(Seat, Option<oneshot::Receiver<()>>), Refusal> {
        let metrics = request.metrics.clone();
        let seats = request.work.initial_seats;
        let seat = |id| Seat { level: self.clone(), metrics, id, seats, is_watch };
        let mut requests = self.requests();
        match requests.arrive(arrived, request) {
            Admission::Executing(id) => Ok((seat(id), None)),
            Admission::Refused(why) => Err(why),
            Admission::Waiting(id) => {
                let (sender, receiver) = oneshot::channel();
                requests.wake_by(id, sender);
                let next_release = requests.next_release();
                drop(requests);
                self.release_at(next_release);
                Ok((seat(id), Some(receiver)))
            }
        }
    }

    fn waited(&self, metrics: &FlowMetrics, is_admitted: bool, arrived: Duration) {
        if !self.is_exempt {
            metrics.waited(is_admitted, self.clock.now().saturating_sub(arrived));
        }
    }

    /// Makes sure that waiting requests get the seats that become free at this time. One task of the level does so.
    fn release_at(self: &Arc<Self>, next: Option<Duration>) {
        let Some(mut next) = next else { return };
        let Ok(runtime) = Handle::try_current() else { return };
        match self.release_due.fetch_min(nanoseconds(next), Ordering::AcqRel) {
            NEVER => {}
            due if due > nanoseconds(next) => return self.earlier.notify_one(),
            _ => return,
        }
        let level = self.clone();
        runtime.spawn(async move {
            loop {
                tokio::select! {
                    () = tokio::time::sleep(next.saturating_sub(level.clock.now())) => {}
                    () = level.earlier.notified() => {}
                }
                let mut requests = level.requests();
                let later = requests.release(level.clock.now());
                // Set while the queues are locked: whoever begins to wait afterwards wakes this task, or starts another.
                level.release_due.store(later.map_or(NEVER, nanoseconds), Ordering::Release);
                let Some(later) = later else { return };
                next = later;
            }
        });
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(NEVER)
}

// === impl Seat ===

impl Seat {
    /// Returns the number of seats during execution.
    pub fn seats(&self) -> usize {
        self.seats
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut requests = self.level.requests();
        let executed = requests.leave(self.level.clock.now(), self.id);
        let next_release = requests.next_release();
        drop(requests);
        if let Some(executed) = executed {
            self.metrics.executed(self.is_watch, executed);
        }
        self.level.release_at(next_release);
    }
}

#[cfg(test)]
mod tests {
    use registry_core::metrics::Families;

    use super::super::sharding::Dealer;
    use super::super::work::WorkEstimate;
    use super::*;
    use crate::metrics::FlowControlMetrics;

    #[tokio::test(start_paused = true)]
    async fn seats_that_become_free_before_others_are_not_kept_until_those_are_free() {
        let response = Response::Queue { dealer: Dealer::new(1, 1).unwrap(), max_length: 9 };
        let configuration = LevelConfiguration {
            uid: None,
            response,
            shares: 1,
            lendable_percent: 0,
            borrowing_percent: None,
        };
        let level = Level::new("level", &configuration, Clock::start());
        level.configure(response, 2, 2, 2);
        let metrics = FlowControlMetrics::new(&mut Families::default()).unwrap();
        let metrics = Arc::new(metrics.flow("level", "schema"));
        let enter = |millis_kept: u64| {
            let additional_latency = Duration::from_millis(millis_kept);
            let request = Request {
                schema: "schema".into(),
                metrics: metrics.clone(),
                distinguisher: "".into(),
                hash: 0,
                details: "".into(),
                work: WorkEstimate { initial_seats: 1, final_seats: 1, additional_latency },
            };
            let level = level.clone();
            async move { level.enter(request, false, Duration::from_mins(1), || ()).await }
        };
        drop(enter(5_000).await.unwrap());
        let short = enter(10).await.unwrap();
        let waiting = tokio::spawn(enter(0));
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!waiting.is_finished());
        drop(short);
        let served = tokio::time::timeout(Duration::from_secs(1), waiting).await;
        assert!(served.expect("it waits for the other seat").unwrap().is_ok());
    }
}
