//! How many requests are worked on at once.
//!
//! Kubernetes concept: `WithMaxInFlightLimit`. Unlike there, a request that finds all places taken waits in a
//! bounded queue first.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use registry_core::api::StatusError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::health::Endpoint;
use crate::metrics::InFlightNumbers;
use crate::request_info::{RequestInfo, Verb};

/// So many may wait for each one that is worked on.
const WAITING_PER_PLACE: usize = 8;
/// No longer than this does one wait.
const MAX_WAIT: Duration = Duration::from_secs(15);
/// When the refused may come back.
const RETRY_AFTER_SECONDS: u32 = 1;

/// Bounds on requests in flight: one for reads, one for writes.
pub(super) struct InFlight {
    reads: Lane,
    writes: Lane,
}

/// A place among the requests that are worked on, held until the answer is sent.
pub(super) type Place = OwnedSemaphorePermit;

struct Lane {
    places: Arc<Semaphore>,
    count: usize,
    waiting: AtomicUsize,
    max_waiting: usize,
}

/// Counts one who waits, for as long as it does.
struct Waiting<'a>(&'a AtomicUsize);

// === impl InFlight ===

impl InFlight {
    /// At most so many at once; 0 is no limit.
    pub(super) fn new(reads: usize, writes: usize) -> Self {
        Self { reads: Lane::new(reads), writes: Lane::new(writes) }
    }

    /// How many reads, and how many writes, there are.
    pub(super) fn numbers(&self) -> (InFlightNumbers, InFlightNumbers) {
        (self.reads.numbers(), self.writes.numbers())
    }

    /// A place for a request; `None` for those that need none.
    ///
    /// # Errors
    /// 429: all places are taken, and so are all in the queue; or the wait was too long.
    pub(super) async fn admit(&self, info: &RequestInfo) -> Result<Option<Place>, StatusError> {
        if info.is_long_running() || Endpoint::of_path(&info.path).is_some() {
            return Ok(None);
        }
        let reads = matches!(info.verb, Verb::Get | Verb::List | Verb::Watch | Verb::Head | Verb::Options);
        if reads { &self.reads } else { &self.writes }.enter().await.map(Some)
    }
}

// === impl Lane ===

impl Lane {
    fn new(places: usize) -> Self {
        let count = if places == 0 { Semaphore::MAX_PERMITS } else { places.min(Semaphore::MAX_PERMITS) };
        Self {
            places: Arc::new(Semaphore::new(count)),
            count,
            waiting: AtomicUsize::new(0),
            max_waiting: count.saturating_mul(WAITING_PER_PLACE),
        }
    }

    fn numbers(&self) -> InFlightNumbers {
        InFlightNumbers {
            working: self.count.saturating_sub(self.places.available_permits()),
            waiting: self.waiting.load(Ordering::Relaxed),
        }
    }

    async fn enter(&self) -> Result<Place, StatusError> {
        if let Ok(place) = self.places.clone().try_acquire_owned() {
            return Ok(place);
        }
        let waiting = Waiting::one_more(&self.waiting, self.max_waiting).ok_or_else(refused)?;
        let place = tokio::time::timeout(MAX_WAIT, self.places.clone().acquire_owned()).await;
        drop(waiting);
        match place {
            Ok(Ok(place)) => Ok(place),
            _ => Err(refused()),
        }
    }
}

// === impl Waiting ===

impl<'a> Waiting<'a> {
    fn one_more(count: &'a AtomicUsize, max: usize) -> Option<Self> {
        let before = count.fetch_add(1, Ordering::Relaxed);
        let waiting = Self(count);
        (before < max).then_some(waiting)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

fn refused() -> StatusError {
    StatusError::too_many_requests("Too many requests, please try again later.", RETRY_AFTER_SECONDS)
}
