//! When an informer tries again.

use std::time::Duration;

/// Shortest and longest time before a retry.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// A watch that lasted this long was healthy: what follows it is a new failure.
const HEALTHY: Duration = Duration::from_secs(10);

/// Number of attempts to resume a watch before all objects are listed again.
const MAX_RESUMES: u32 = 5;

/// Number of failures in a row from which they are reported.
const REPORTED: u32 = 3;

/// The failures in a row.
#[derive(Default)]
pub(super) struct Retry {
    failures: u32,
}

// === impl Retry ===

impl Retry {
    /// Counts the end of a watch that lasted this long. Returns the time to wait.
    pub(super) fn after(&mut self, lasted: Duration) -> Duration {
        if lasted >= HEALTHY {
            self.failures = 0;
        }
        let doubled = BACKOFF.0.saturating_mul(1_u32.checked_shl(self.failures.min(16)).unwrap_or(u32::MAX));
        self.failures = self.failures.saturating_add(1);
        jittered(doubled.min(BACKOFF.1))
    }

    /// Whether a watch may be resumed: a position that cannot be resumed often is given up.
    pub(super) fn may_resume(&self) -> bool {
        !self.failures.is_multiple_of(MAX_RESUMES + 1)
    }

    /// Whether the failures last, and are worth a warning.
    pub(super) fn is_persistent(&self) -> bool {
        self.failures >= REPORTED
    }
}

/// Shortens a pause by up to a third, so that informers that failed together do not all come back together.
fn jittered(pause: Duration) -> Duration {
    let thousandths = u32::try_from(uuid::Uuid::new_v4().as_u128() % 333).unwrap_or_default();
    pause.saturating_sub(pause / 1_000 * thousandths)
}
