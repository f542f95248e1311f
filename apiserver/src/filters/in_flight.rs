//! Limits the number of requests in flight, and the memory of their bodies.
//!
//! Requests share the server as [flow control](flowcontrol) says. If that is disabled, at most a fixed number of reads
//! and of writes is in flight, and others are refused. Watches and streams, responses that are not read, and the memory
//! of bodies that have not completely arrived are divided by user ([`Shares`]), because seats do not bound them. Members
//! of `system:masters` have shares of their own, so that an administrator can act while others are held up.
//!
//! Kubernetes concept: `WithPriorityAndFairness` and `WithMaxInFlightLimit`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use flowcontrol::{Flow, FlowControl, RegisteredWatch, Seat, Wanted};
use http::StatusCode;
use http::header::{HeaderValue, RETRY_AFTER};
use registry_core::api::StatusError;
use registry_core::context::UserInfo;
use request_info::{RequestInfo, Verb};
use responses::{self, Response};

use crate::health::Endpoint;
use crate::metrics::InFlightNumbers;
use crate::options::LimitOptions;
use crate::shares::{Held, Holders, Shares, holder_of};

/// Value of `Retry-After` for a request that is refused by a fixed limit.
const RETRY_AFTER_SECONDS: u32 = 1;
/// Maximum number of watches and streams. They cost memory only, 10 KB each.
const MAX_LONG_RUNNING: usize = 262_144;
/// Maximum number of responses that are created or sent, for each seat. One user gets at most half of them, so that a
/// single user can use all seats.
const RESPONSES_PER_SEAT: usize = 2;
/// The seats for which responses are counted at least.
const MIN_SEATS: usize = 200;
/// Maximum size of all bodies that have not completely arrived, or whose requests wait for seats, in bytes.
const MAX_ARRIVING_BYTES: usize = 256 * 1024 * 1024;
/// Maximum time for which a watch keeps the seats of its initial events. It gives them back earlier if its client does not
/// read.
const MAX_INITIALIZATION: Duration = Duration::from_secs(10);

/// The text of a refusal.
const REFUSAL: &str = "Too many requests, please try again later.";

/// Bounds on requests in flight.
pub(super) struct InFlight {
    /// For members of `system:masters`.
    exempt: Class,
    shared: Class,
    /// `None` if priority and fairness is disabled.
    pub(super) control: Option<Arc<FlowControl>>,
    /// Maximum numbers of reads and of writes without flow control; 0 is no limit.
    limits: [usize; 2],
    reads: Arc<Numbers>,
    writes: Arc<Numbers>,
}

/// Numbers of requests of one kind.
#[derive(Default)]
struct Numbers {
    working: AtomicUsize,
    waiting: AtomicUsize,
}

/// A request that is counted. Dropping it ends that.
struct Counted {
    numbers: Arc<Numbers>,
    counter: fn(&Numbers) -> &AtomicUsize,
}

/// The resources that are divided between the users of one class.
struct Class {
    users: Holders<String, UserLoad>,
    long_running: Arc<Shares>,
    responses: Arc<Shares>,
    body_bytes: Arc<Shares>,
}

/// The shared resources that one user holds.
#[derive(Default)]
struct UserLoad {
    long_running: Held,
    responses: Held,
    body_bytes: Held,
}

/// One user's part of a class.
pub(super) struct UserShare<'a> {
    class: &'a Class,
    is_exempt: bool,
    load: Arc<UserLoad>,
}

/// A share of the places, or of the bytes of bodies, that one request of a user occupies. It is released when dropped.
pub(super) struct TakenShare {
    shares: Arc<Shares>,
    load: Arc<UserLoad>,
    held: fn(&UserLoad) -> &Held,
    amount: usize,
}

/// The place of a request in flight. Dropping it gives it back.
#[derive(Default)]
pub(super) struct Place {
    execution: Option<Execution>,
    /// Counts the response for its user until it is sent, or the watch or stream until it ends.
    _share: Option<TakenShare>,
    _watch: Option<RegisteredWatch>,
}

/// The seats of a request while it executes. It has none while its client does not read the response.
struct Execution {
    seat: Option<Seat>,
    _counted: Counted,
}

/// A request that asks for a place.
pub(super) struct Arriving<'a> {
    /// The user who makes it.
    pub(super) user: &'a UserInfo,
    /// Its flow, unless it is long-running or flow control is disabled.
    pub(super) flow: Option<&'a Flow>,
    /// Its resource and verb.
    pub(super) info: &'a RequestInfo,
    /// Its query.
    pub(super) query: &'a str,
    /// The time in which its response is due.
    pub(super) time_limit: Option<Duration>,
}

/// A request for which there is no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    retry_after_seconds: u32,
}

// === impl InFlight ===

impl InFlight {
    /// Returns the bounds of these options.
    pub(super) fn new(limits: &LimitOptions) -> Self {
        let configured = limits.max_requests_inflight.saturating_add(limits.max_mutating_requests_inflight);
        // Without any limit, responses have none either.
        let seats = if configured == 0 { usize::MAX } else { configured.max(MIN_SEATS) };
        Self {
            exempt: Class::new(seats),
            shared: Class::new(seats),
            control: None,
            limits: [limits.max_requests_inflight, limits.max_mutating_requests_inflight],
            reads: Arc::default(),
            writes: Arc::default(),
        }
    }

    /// Returns the numbers of reads and of writes.
    pub(super) fn numbers(&self) -> (InFlightNumbers, InFlightNumbers) {
        (self.reads.now(), self.writes.now())
    }

    /// Returns the shares of this user.
    pub(super) fn share_of(&self, user: &UserInfo) -> UserShare<'_> {
        let is_exempt = user.may_do_everything();
        let class = if is_exempt { &self.exempt } else { &self.shared };
        UserShare { class, is_exempt, load: class.users.hold(holder_of(&user.name)) }
    }

    /// Returns a place for a request, at once or when it is its turn.
    ///
    /// # Errors
    /// There is none.
    pub(super) async fn enter(
        &self,
        share: &UserShare<'_>,
        arriving: Arriving<'_>,
    ) -> Result<Place, Refused> {
        let Arriving { user, flow, info, query, time_limit } = arriving;
        let is_lasting = info.is_long_running();
        let control = self.control.as_ref().filter(|_| is_lasting);
        let watch = control.and_then(|control| control.register(info));
        let lasting = if is_lasting { Some(share.long_running()?) } else { None };
        let is_read = matches!(info.verb, Verb::Get | Verb::List | Verb::Watch | Verb::Head | Verb::Options);
        let numbers = if is_read { &self.reads } else { &self.writes };
        let execution = match (&self.control, flow) {
            (Some(control), Some(flow)) => {
                let wanted = Wanted { user, info, query, time_limit };
                let seat = control.enter(flow, wanted, || numbers.count_waiting()).await;
                let seat = seat.map_err(|refused| Refused::after(refused.retry_after_seconds))?;
                Some(Execution { seat: Some(seat), _counted: numbers.count_working() })
            }
            _ if is_lasting || Endpoint::from_path(&info.path).is_some() => None,
            _ => {
                let [reads, writes] = self.limits;
                let limit = if is_read { reads } else { writes };
                let counted = numbers.count_working();
                let is_full = limit > 0 && numbers.now().working > limit;
                if is_full && !share.is_exempt {
                    return Err(Refused::after(RETRY_AFTER_SECONDS));
                }
                Some(Execution { seat: None, _counted: counted })
            }
        };
        let share = if is_lasting { lasting } else { Some(share.response()?) };
        Ok(Place { execution, _share: share, _watch: watch })
    }
}

// === impl Numbers ===

impl Numbers {
    fn now(&self) -> InFlightNumbers {
        InFlightNumbers {
            working: self.working.load(Ordering::Relaxed),
            waiting: self.waiting.load(Ordering::Relaxed),
        }
    }

    fn count_working(self: &Arc<Self>) -> Counted {
        Counted::new(self, |numbers| &numbers.working)
    }

    fn count_waiting(self: &Arc<Self>) -> Counted {
        Counted::new(self, |numbers| &numbers.waiting)
    }
}

// === impl Counted ===

impl Counted {
    fn new(numbers: &Arc<Numbers>, counter: fn(&Numbers) -> &AtomicUsize) -> Self {
        counter(numbers).fetch_add(1, Ordering::Relaxed);
        Self { numbers: numbers.clone(), counter }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        (self.counter)(&self.numbers).fetch_sub(1, Ordering::Relaxed);
    }
}

// === impl Class ===

impl Class {
    fn new(seats: usize) -> Self {
        Self {
            users: Holders::default(),
            long_running: Arc::new(Shares::new(MAX_LONG_RUNNING)),
            responses: Arc::new(Shares::new(seats.saturating_mul(RESPONSES_PER_SEAT))),
            body_bytes: Arc::new(Shares::new(MAX_ARRIVING_BYTES)),
        }
    }
}

// === impl UserShare ===

impl UserShare<'_> {
    fn long_running(&self) -> Result<TakenShare, Refused> {
        let mut taken = self.none_of(&self.class.long_running, |load| &load.long_running);
        taken.add(1).map(|()| taken)
    }

    fn response(&self) -> Result<TakenShare, Refused> {
        let mut taken = self.none_of(&self.class.responses, |load| &load.responses);
        taken.add(1).map(|()| taken)
    }

    /// Begins a reservation of memory for a body, in bytes.
    pub(super) fn body(&self) -> TakenShare {
        self.none_of(&self.class.body_bytes, |load| &load.body_bytes)
    }

    fn none_of(&self, shares: &Arc<Shares>, held: fn(&UserLoad) -> &Held) -> TakenShare {
        TakenShare { shares: shares.clone(), load: self.load.clone(), held, amount: 0 }
    }
}

// === impl TakenShare ===

impl TakenShare {
    /// Takes more.
    ///
    /// # Errors
    /// Fails if the user's share is exhausted.
    pub(super) fn add(&mut self, amount: usize) -> Result<(), Refused> {
        if !self.shares.try_take((self.held)(&self.load), amount) {
            return Err(Refused::after(RETRY_AFTER_SECONDS));
        }
        self.amount += amount;
        Ok(())
    }
}

impl Drop for TakenShare {
    fn drop(&mut self) {
        self.shares.give_back((self.held)(&self.load), self.amount);
    }
}

// === impl Place ===

impl Place {
    /// Returns the number of seats; 0 for a request that flow control does not limit.
    pub(super) fn seats(&self) -> usize {
        let seat = self.execution.as_ref().and_then(|execution| execution.seat.as_ref());
        seat.map_or(0, Seat::seats)
    }

    /// Gives the seats back, as the client does not read the response, so that it holds up nobody else.
    pub(super) fn stalled(&mut self) {
        if let Some(execution) = &mut self.execution {
            execution.seat = None;
        }
    }

    /// Leaves the seats of a watch to its initial events: it gives them back when these have been written. A response that
    /// has no events gives them back at once.
    pub(super) fn initialize(&mut self, response: &mut Response) {
        let Some(execution) = self.execution.take() else { return };
        response.body_mut().keep_until_initialized(execution, MAX_INITIALIZATION);
    }
}

// === impl Refused ===

impl Refused {
    fn after(retry_after_seconds: u32) -> Self {
        Self { retry_after_seconds }
    }

    /// Returns the response, in Kubernetes' form: a plain text.
    pub(super) fn response(self) -> Response {
        let mut response = responses::text(StatusCode::TOO_MANY_REQUESTS, format!("{REFUSAL}\n"));
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(self.retry_after_seconds));
        response
    }
}

impl From<Refused> for StatusError {
    fn from(refused: Refused) -> Self {
        Self::too_many_requests(REFUSAL, refused.retry_after_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    #[test]
    fn bodies_of_one_user_leave_memory_for_others() {
        let in_flight = InFlight::new(&Options::default().limits);
        let user = |name: &str| UserInfo { name: name.to_owned(), ..UserInfo::default() };
        let mut bodies = Vec::new();
        loop {
            let mut body = in_flight.share_of(&user("hog")).body();
            if let Err(refusal) = body.add(3 * 1024 * 1024) {
                assert_eq!(StatusError::from(refusal).code, 429);
                break;
            }
            bodies.push(body);
        }
        assert_eq!(bodies.len(), (MAX_ARRIVING_BYTES / 2).div_ceil(3 * 1024 * 1024));
        let mut other = in_flight.share_of(&user("other")).body();
        other.add(3 * 1024 * 1024).unwrap();
        drop((bodies, other));
        assert_eq!(in_flight.shared.body_bytes.used(), 0);
    }
}
