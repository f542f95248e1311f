//! Ends watches: all when the server stops, those of one resource when it is no longer served.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};
use tokio_util::task::TaskTracker;
use tokio_util::task::task_tracker::TaskTrackerToken;

/// Number of watches that end in a second at the shutdown, at least.
const MIN_ENDS_PER_SECOND: f64 = 200.0;

/// Whether watches have to end. Each watch checks it for each event: flags avoid the lock of cancellation
/// tokens.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ending {
    stopping: Arc<Stopping>,
    /// Whether the resource is no longer served; `None` for resources that are served as long as the server
    /// runs.
    is_removed: Option<Arc<AtomicBool>>,
    cancelled: CancellationToken,
}

/// The end of all watches at the shutdown.
#[derive(Debug, Default)]
struct Stopping {
    has_begun: AtomicBool,
    pace: OnceLock<Pace>,
    /// Time over which the end of watches may be spread.
    grace_period: Duration,
    running: TaskTracker,
}

/// The times at which watches end, one after the other.
#[derive(Debug)]
struct Pace {
    begun: Instant,
    interval: Duration,
    next: AtomicU32,
}

// === impl Ending ===

impl Ending {
    /// Returns the state that follows this token. From then on, the watches that `running` counts end one after the other,
    /// within the grace period. Must be called within a Tokio runtime.
    pub(crate) fn after(stopping: CancellationToken, grace_period: Duration, running: TaskTracker) -> Self {
        let state = Stopping { grace_period, running, ..Stopping::default() };
        let ending = Self { stopping: Arc::new(state), ..Self::default() };
        let own = ending.clone();
        tokio::spawn(async move {
            stopping.cancelled().await;
            own.stopping.begin();
            own.cancelled.cancel();
        });
        ending
    }

    /// Returns the state of a resource that may be removed while the server runs: see [`end`](Self::end).
    pub(super) fn removable(&self) -> Self {
        Self {
            stopping: self.stopping.clone(),
            is_removed: Some(Arc::default()),
            cancelled: self.cancelled.child_token(),
        }
    }

    /// Ends the watches of a resource that is removed. Has no effect for the server's own state.
    pub(super) fn end(&self) {
        let Some(is_removed) = &self.is_removed else { return };
        is_removed.store(true, Ordering::Release);
        self.cancelled.cancel();
    }

    /// Counts a watch until the token is dropped.
    pub(super) fn running(&self) -> TaskTrackerToken {
        self.stopping.running.token()
    }

    /// Returns whether watches have to end, at once or soon.
    pub(super) fn is_ending(&self) -> bool {
        self.is_removed() || self.stopping.has_begun.load(Ordering::Acquire)
    }

    /// Returns when one watch has to end, if they have to end; `None` is at once.
    pub(super) fn end_of_one(&self) -> Option<Instant> {
        if self.is_removed() { None } else { self.stopping.pace.get()?.next() }
    }

    /// Waits until watches have to end.
    pub(super) fn wait(&self) -> WaitForCancellationFutureOwned {
        self.cancelled.clone().cancelled_owned()
    }

    /// Returns whether the resource is no longer served.
    pub(super) fn is_removed(&self) -> bool {
        self.is_removed.as_ref().is_some_and(|flag| flag.load(Ordering::Acquire))
    }
}

// === impl Stopping ===

impl Stopping {
    fn begin(&self) {
        // Set before the waiting tasks are woken.
        let _ = self.pace.set(Pace::new(self.running.len(), self.grace_period));
        self.has_begun.store(true, Ordering::Release);
    }
}

// === impl Pace ===

impl Pace {
    /// Returns the pace at which this many watches end: as slowly as the grace period allows, but not slowlier than
    /// [`MIN_ENDS_PER_SECOND`].
    fn new(watches: usize, grace_period: Duration) -> Self {
        let slowest = Duration::from_secs_f64(1.0 / MIN_ENDS_PER_SECOND);
        let watches = u32::try_from(watches).unwrap_or(u32::MAX).max(1);
        let interval = (grace_period / watches).min(slowest);
        Self { begun: Instant::now(), interval, next: AtomicU32::new(1) }
    }

    fn next(&self) -> Option<Instant> {
        if self.interval.is_zero() {
            return None;
        }
        self.begun.checked_add(self.interval * self.next.fetch_add(1, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn many_watches_end_within_the_grace_period_and_few_at_once() {
        let last = |watches: usize, seconds| {
            let pace = Pace::new(watches, Duration::from_secs(seconds));
            let ends: Vec<_> = (0..watches).map_while(|_| pace.next()).collect();
            assert!(ends.windows(2).all(|pair| pair[0] < pair[1]));
            ends.last().map(|end| (*end - pace.begun).as_millis())
        };
        assert_eq!(last(10, 60), Some(50), "200 in a second");
        assert_eq!(last(20_000, 10), Some(10_000), "2,000 in a second");
        assert_eq!(last(100, 0), None);
    }
}
