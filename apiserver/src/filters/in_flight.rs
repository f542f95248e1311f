//! How many requests are worked on at once.
//!
//! Kubernetes concept: `WithMaxInFlightLimit`. Unlike there, a request that finds all places taken waits in a
//! bounded queue first.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use registry_core::api::StatusError;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::health::Endpoint;
use crate::request_info::{RequestInfo, Verb};

/// So many may wait for each one that is worked on.
const WAITING_PER_PLACE: usize = 8;
/// No longer than this does one wait.
const MAX_WAIT: Duration = Duration::from_secs(15);
/// When the refused may come back.
const RETRY_AFTER_SECONDS: u32 = 1;

/// Bounds on requests in flight: one for reads, one for writes.
pub(super) struct InFlight {
    reads: Option<Lane>,
    writes: Option<Lane>,
}

struct Lane {
    places: Semaphore,
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

    /// A place for a request, held while it is worked on; `None` for those that need none.
    ///
    /// # Errors
    /// 429: all places are taken, and so are all in the queue; or the wait was too long.
    pub(super) async fn admit(&self, info: &RequestInfo) -> Result<Option<SemaphorePermit<'_>>, StatusError> {
        if info.is_long_running() || Endpoint::of_path(&info.path).is_some() {
            return Ok(None);
        }
        let reads = matches!(info.verb, Verb::Get | Verb::List | Verb::Watch | Verb::Head | Verb::Options);
        match if reads { &self.reads } else { &self.writes } {
            Some(lane) => lane.enter().await.map(Some),
            None => Ok(None),
        }
    }
}

// === impl Lane ===

impl Lane {
    fn new(places: usize) -> Option<Self> {
        let places = places.min(Semaphore::MAX_PERMITS);
        (places > 0).then(|| Self {
            places: Semaphore::new(places),
            waiting: AtomicUsize::new(0),
            max_waiting: places.saturating_mul(WAITING_PER_PLACE),
        })
    }

    async fn enter(&self) -> Result<SemaphorePermit<'_>, StatusError> {
        if let Ok(place) = self.places.try_acquire() {
            return Ok(place);
        }
        let waiting = Waiting::one_more(&self.waiting, self.max_waiting).ok_or_else(refused)?;
        let place = tokio::time::timeout(MAX_WAIT, self.places.acquire()).await;
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
