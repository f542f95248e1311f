//! Limits the number of requests in flight, and assigns free places to waiting ones.
//!
//! Places are divided by user ([`Shares`]): one user gets at most half of them, so that others always find
//! some. A request that finds no place waits in a bounded queue, in which users take turns. Members of
//! `system:masters` have places of their own, so that an administrator can act while others are held up.
//!
//! Kubernetes concept: `WithMaxInFlightLimit`, with the fairness between users that API Priority and Fairness
//! has there. Flow control by priority level does not exist yet.

use std::sync::Arc;
use std::time::Duration;

use registry_core::api::StatusError;
use registry_core::context::UserInfo;

use crate::authorization::MASTERS;
use crate::health::Endpoint;
use crate::metrics::InFlightNumbers;
use crate::request_info::{RequestInfo, Verb};
use crate::shares::{Held, Holders, Shares};

mod limit;

use limit::InFlightLimit;
pub(super) use limit::Place;

/// Maximum number of requests that wait for each place.
const WAITING_PER_PLACE: usize = 16;
/// Maximum time that a request waits.
const MAX_WAIT: Duration = Duration::from_secs(15);
/// Value of `Retry-After` for a refused request.
const RETRY_AFTER_SECONDS: u32 = 1;
/// Maximum number of watches and streams. They cost memory only, 10 KB each.
const MAX_LONG_RUNNING: usize = 262_144;
/// Maximum size of all bodies that have not completely arrived, or whose requests wait for a place, in bytes.
const MAX_BODY_BYTES: usize = 256 * 1024 * 1024;

const SERVICE_ACCOUNT: &str = "system:serviceaccount:";
const SYSTEM_NAMESPACE: &str = "kube-system";

/// Bounds on requests in flight.
pub(super) struct InFlight {
    /// For members of `system:masters`.
    exempt: Class,
    shared: Class,
}

/// Places that are divided between the users of one class.
struct Class {
    users: Holders<String, UserLoad>,
    reads: Arc<InFlightLimit>,
    writes: Arc<InFlightLimit>,
    long_running: Arc<InFlightLimit>,
    body_bytes: Arc<Shares>,
}

/// The shared resources that one user holds.
#[derive(Default)]
struct UserLoad {
    limits: [LimitLoad; 3],
    body_bytes: Held,
}

/// One user's part of a limit.
#[derive(Default)]
struct LimitLoad {
    places: Held,
    queued: Held,
}

/// One user's part of a class.
pub(super) struct UserShare<'a> {
    class: &'a Class,
    load: Arc<UserLoad>,
}

/// Memory that is reserved for a body while it arrives.
pub(super) struct BodyReservation {
    shares: Arc<Shares>,
    load: Arc<UserLoad>,
    bytes: usize,
}

// === impl InFlight ===

impl InFlight {
    /// Returns bounds of this many concurrent reads and writes; 0 is no limit.
    pub(super) fn new(reads: usize, writes: usize) -> Self {
        Self { exempt: Class::new(reads, writes), shared: Class::new(reads, writes) }
    }

    /// Returns the numbers of reads and of writes.
    pub(super) fn numbers(&self) -> (InFlightNumbers, InFlightNumbers) {
        let sum = |one: InFlightNumbers, other: InFlightNumbers| InFlightNumbers {
            working: one.working + other.working,
            waiting: one.waiting + other.waiting,
        };
        let reads = sum(self.exempt.reads.numbers(), self.shared.reads.numbers());
        (reads, sum(self.exempt.writes.numbers(), self.shared.writes.numbers()))
    }

    /// Returns the shares of this user.
    pub(super) fn share_of(&self, user: &UserInfo) -> UserShare<'_> {
        let is_exempt = user.groups.iter().any(|group| group == MASTERS);
        let class = if is_exempt { &self.exempt } else { &self.shared };
        UserShare { class, load: class.users.of(holder_of(&user.name)) }
    }
}

/// Returns the name under which a user takes places. All service accounts of a namespace share one, because a
/// user who can create service accounts could otherwise multiply their share; those of `kube-system` are
/// controllers, and each is a separate user.
fn holder_of(user: &str) -> &str {
    let account = user.strip_prefix(SERVICE_ACCOUNT).and_then(|account| account.split_once(':'));
    match account {
        Some((namespace, name)) if namespace != SYSTEM_NAMESPACE => {
            user.get(..user.len() - name.len()).unwrap_or(user)
        }
        _ => user,
    }
}

// === impl Class ===

impl Class {
    fn new(reads: usize, writes: usize) -> Self {
        Self {
            users: Holders::default(),
            reads: InFlightLimit::new(0, reads, WAITING_PER_PLACE),
            writes: InFlightLimit::new(1, writes, WAITING_PER_PLACE),
            long_running: InFlightLimit::new(2, MAX_LONG_RUNNING, 0),
            body_bytes: Arc::new(Shares::new(MAX_BODY_BYTES)),
        }
    }
}

// === impl UserShare ===

impl UserShare<'_> {
    /// Returns a place for a request; `None` for those that need none.
    ///
    /// # Errors
    /// 429: the user's shares of the places and of the queue are exhausted, or the wait was too long.
    pub(super) async fn enter(&self, info: &RequestInfo) -> Result<Option<Place>, StatusError> {
        if Endpoint::of_path(&info.path).is_some() {
            return Ok(None);
        }
        let limit = if info.is_long_running() {
            &self.class.long_running
        } else if matches!(info.verb, Verb::Get | Verb::List | Verb::Watch | Verb::Head | Verb::Options) {
            &self.class.reads
        } else {
            &self.class.writes
        };
        limit.enter(&self.load, MAX_WAIT).await.map(Some).ok_or_else(refused)
    }

    /// Begins a reservation of memory for a body.
    pub(super) fn body(&self) -> BodyReservation {
        BodyReservation { shares: self.class.body_bytes.clone(), load: self.load.clone(), bytes: 0 }
    }
}

// === impl BodyReservation ===

impl BodyReservation {
    /// Adds to the reservation.
    ///
    /// # Errors
    /// 429: the user's share is exhausted.
    pub(super) fn add(&mut self, bytes: usize) -> Result<(), StatusError> {
        if !self.shares.try_take(&self.load.body_bytes, bytes) {
            return Err(refused());
        }
        self.bytes += bytes;
        Ok(())
    }
}

impl Drop for BodyReservation {
    fn drop(&mut self) {
        self.shares.give_back(&self.load.body_bytes, self.bytes);
    }
}

fn refused() -> StatusError {
    StatusError::too_many_requests("Too many requests, please try again later.", RETRY_AFTER_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn service_accounts_of_a_namespace_are_one_holder() {
        for (user, holder) in [
            ("alice", "alice"),
            ("system:serviceaccount:team:one", "system:serviceaccount:team:"),
            ("system:serviceaccount:team:two", "system:serviceaccount:team:"),
            (
                "system:serviceaccount:kube-system:job-controller",
                "system:serviceaccount:kube-system:job-controller",
            ),
            ("system:node:n1", "system:node:n1"),
        ] {
            assert_eq!(holder_of(user), holder);
        }
    }

    #[test]
    fn bodies_of_one_user_leave_memory_for_others() {
        let in_flight = InFlight::new(1, 1);
        let user = |name: &str| UserInfo { name: name.to_owned(), ..UserInfo::default() };
        let mut bodies = Vec::new();
        loop {
            let mut body = in_flight.share_of(&user("hog")).body();
            if let Err(refusal) = body.add(3 * 1024 * 1024) {
                assert_eq!(refusal.code, 429);
                break;
            }
            bodies.push(body);
        }
        assert_eq!(bodies.len(), (MAX_BODY_BYTES / 2).div_ceil(3 * 1024 * 1024));
        let mut other = in_flight.share_of(&user("other")).body();
        other.add(3 * 1024 * 1024).unwrap();
        drop((bodies, other));
        assert_eq!(in_flight.shared.body_bytes.used(), 0);
    }
}
