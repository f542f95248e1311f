//! The times that keys have left: leases of the source, and new ones of the destination.

use std::collections::HashMap;

use etcd_client::PutOptions;
use registry_meta::clock::Clock;

use super::super::Etcd3;
use super::super::connection::Safety;
use super::EtcdMoveError;

/// Keys whose times end within as many seconds share a lease.
const SHARED_SECONDS: u64 = 10;
/// Least time that a key gets: its lease must not end before the key is written.
const LEAST_SECONDS: u64 = 30;
/// Number of leases of a source from which on those that have ended are forgotten.
const KNOWN_LEASES: usize = 10_000;
/// Maximum number of keys per lease: they all expire in one transaction.
const MAX_KEYS: usize = 1_000;

/// The times at which the leases of a source end.
#[derive(Default)]
pub(super) struct RemainingTimes {
    /// Seconds since 1970, by lease.
    known: HashMap<i64, u64>,
}

/// The leases of a destination.
#[derive(Default)]
pub(super) struct GrantedLeases {
    /// The lease and the number of its keys, by the end of its time in units of [`SHARED_SECONDS`] since 1970.
    newest: HashMap<u64, (i64, usize)>,
}

// === impl RemainingTimes ===

impl RemainingTimes {
    /// Returns the time at which a lease ends, in seconds since 1970; now, if it has ended.
    pub(super) async fn expiry_seconds(&mut self, etcd: &Etcd3, lease: i64) -> Result<u64, EtcdMoveError> {
        if let Some(known) = self.known.get(&lease) {
            return Ok(*known);
        }
        let answer = etcd
            .connection
            .call(Safety::Read, || {
                let mut leases = etcd.connection.lease();
                async move { leases.time_to_live(lease, None).await }
            })
            .await?;
        // A lease that has ended has -1 seconds left.
        let left = u64::try_from(answer.ttl()).unwrap_or(0);
        let end = now_seconds().saturating_add(left);
        if self.known.len() >= KNOWN_LEASES {
            let now = now_seconds();
            self.known.retain(|_, end| *end > now);
        }
        self.known.insert(lease, end);
        Ok(end)
    }
}

// === impl GrantedLeases ===

impl GrantedLeases {
    /// Returns the options of a put of a key whose time ends then, or up to ten seconds later, but in half a minute at least.
    pub(super) async fn until(
        &mut self,
        etcd: &Etcd3,
        end_seconds: u64,
    ) -> Result<PutOptions, EtcdMoveError> {
        let now = now_seconds();
        let group = end_seconds.max(now + LEAST_SECONDS).div_ceil(SHARED_SECONDS);
        if let Some((lease, keys)) = self.newest.get_mut(&group).filter(|(_, keys)| *keys < MAX_KEYS) {
            *keys += 1;
            return Ok(PutOptions::new().with_lease(*lease));
        }
        let left = group.saturating_mul(SHARED_SECONDS).saturating_sub(now).max(1);
        let seconds = i64::try_from(left).unwrap_or(i64::MAX);
        let granted = etcd
            .connection
            .call(Safety::Read, || {
                // A lease whose grant was not received expires by itself: a retry is safe.
                let mut leases = etcd.connection.lease();
                async move { leases.grant(seconds, None).await }
            })
            .await?;
        self.newest.retain(|group, _| group.saturating_mul(SHARED_SECONDS) > now);
        self.newest.insert(group, (granted.id(), 1));
        Ok(PutOptions::new().with_lease(granted.id()))
    }
}

fn now_seconds() -> u64 {
    Clock::default().since_epoch().as_secs()
}
