//! Shares one lease among keys with a similar time to live: granting a lease is a write of its own.
//!
//! Kubernetes concept: the etcd3 store's lease manager.

use std::time::{Duration, Instant};

use super::connection::{Connection, Safety};
use super::errors::Failure;
use parking_lot::Mutex;

/// Maximum time for which a lease is reused, in seconds; also limited to 5 % of the time to live.
const MAX_REUSE_SECONDS: u64 = 60;
const REUSE_PERCENT: u64 = 5;
/// Maximum number of keys per lease: they all expire in one transaction.
const MAX_KEYS: usize = 1_000;

/// The lease granted last.
#[derive(Default)]
pub(super) struct LeasePool {
    newest: Mutex<Option<Lease>>,
}

struct Lease {
    id: i64,
    expires_at: Instant,
    keys: usize,
}

// === impl LeasePool ===

impl LeasePool {
    /// Returns a lease that outlives `ttl` by a small margin.
    pub(super) async fn lease(&self, connection: &Connection, ttl: Duration) -> Result<i64, Failure> {
        let slack = slack(ttl);
        let now = Instant::now();
        if let Some(id) = self.reuse(now, ttl, slack) {
            return Ok(id);
        }
        let life = ttl + slack;
        let seconds = i64::try_from(life.as_secs()).unwrap_or(i64::MAX);
        let granted = connection
            .call(Safety::Read, || {
                // A lease whose grant was not received expires by itself: a retry is safe.
                let mut lease = connection.lease();
                async move { lease.grant(seconds, None).await }
            })
            .await?;
        let id = granted.id();
        *self.lock() = Some(Lease { id, expires_at: now + life, keys: 1 });
        Ok(id)
    }

    /// Stops reusing this lease.
    pub(super) fn forget(&self, id: i64) {
        let mut newest = self.lock();
        if newest.as_ref().is_some_and(|lease| lease.id == id) {
            *newest = None;
        }
    }

    fn reuse(&self, now: Instant, ttl: Duration, slack: Duration) -> Option<i64> {
        let mut newest = self.lock();
        let lease = newest.as_mut()?;
        let left = lease.expires_at.checked_duration_since(now)?;
        let fits = left >= ttl && left <= ttl + slack && lease.keys < MAX_KEYS;
        fits.then(|| {
            lease.keys += 1;
            lease.id
        })
    }

    fn lock(&self) -> parking_lot::MutexGuard<'_, Option<Lease>> {
        self.newest.lock()
    }
}

/// Returns how much longer than requested a key may live, so that its lease can be shared.
fn slack(ttl: Duration) -> Duration {
    Duration::from_secs((ttl.as_secs() * REUSE_PERCENT / 100).min(MAX_REUSE_SECONDS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(now: Instant, seconds_left: u64, keys: usize) -> LeasePool {
        let expires_at = now + Duration::from_secs(seconds_left);
        LeasePool { newest: Mutex::new(Some(Lease { id: 7, expires_at, keys })) }
    }

    #[test]
    fn a_lease_is_shared_while_it_fits() {
        let now = Instant::now();
        let hour = Duration::from_hours(1);
        let slack = slack(hour);
        assert_eq!(slack, Duration::from_mins(1));
        assert_eq!(pool(now, 3_660, 1).reuse(now, hour, slack), Some(7));
        assert_eq!(pool(now, 3_600, 1).reuse(now, hour, slack), Some(7));
        assert_eq!(pool(now, 3_599, 1).reuse(now, hour, slack), None, "would expire too early");
        assert_eq!(pool(now, 3_661, 1).reuse(now, hour, slack), None, "would live too long");
        assert_eq!(pool(now, 3_660, MAX_KEYS).reuse(now, hour, slack), None, "has too many keys");
        let forgotten = pool(now, 3_660, 1);
        forgotten.forget(7);
        assert_eq!(forgotten.reuse(now, hour, slack), None);
    }

    #[test]
    fn the_slack_is_five_percent_and_at_most_a_minute() {
        assert_eq!(super::slack(Duration::from_secs(100)), Duration::from_secs(5));
        assert_eq!(super::slack(Duration::from_secs(1)), Duration::ZERO);
        assert_eq!(super::slack(Duration::from_secs(1_000_000)), Duration::from_mins(1));
    }
}
