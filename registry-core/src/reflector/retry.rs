//! The times of retries.

use std::time::Duration;

use crate::backoff::Backoff;

/// The times before retries.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(50), Duration::from_secs(5));

/// A watch that lasted this long was healthy: what follows it is a new failure.
const HEALTHY: Duration = Duration::from_secs(10);

/// Number of attempts to resume a watch before all objects are listed again.
const MAX_RESUMES: u32 = 5;

/// The failures in a row.
pub(super) struct Retry {
    failures: u32,
    backoff: Backoff,
}

// === impl Retry ===

impl Default for Retry {
    fn default() -> Self {
        Self { failures: 0, backoff: BACKOFF }
    }
}

impl Retry {
    /// Counts the end of a watch that lasted this long. Returns the time to wait.
    pub(super) fn after(&mut self, lasted: Duration) -> Duration {
        if lasted >= HEALTHY {
            self.failures = 0;
            self.backoff.reset();
        }
        self.failures = self.failures.saturating_add(1);
        self.backoff.next_pause()
    }

    /// Whether a watch may be resumed: a position that cannot be resumed often is given up.
    pub(super) const fn may_resume(&self) -> bool {
        !self.failures.is_multiple_of(MAX_RESUMES + 1)
    }

    /// Returns the number of failures in a row.
    pub(super) const fn failures(&self) -> u32 {
        self.failures
    }
}
