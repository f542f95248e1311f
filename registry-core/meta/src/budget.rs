//! The limits of the work that one request causes.
//!
//! A small body can mean much work: defaults of list items, aliases, patterns, expressions and comparisons multiply it.
//! Every part that expands, compiles, evaluates, compares or prints on behalf of a request takes what it uses from the
//! request's [`Budget`], and ends when the budget is exhausted, when the deadline has passed, or when nobody waits for the
//! response any more.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::Instant;

use crate::{Reason, StatusError};

pub mod memory;

/// Maximum number of bytes of memory that a request may make beyond its body. An object that is stored has at most a few
/// MiB of JSON, whose tree takes several times as much memory.
const MAX_BYTES: u64 = 48 << 20;
/// Maximum number of steps of a request. A step is the work for about one small value, some 10 to 100 ns. Expressions reach
/// Kubernetes' limits of cost before.
const MAX_STEPS: u64 = 50_000_000;
/// Number of steps after which the clock is read, which costs about as much as one of them.
const STEPS_PER_CHECK: u64 = 1024;
/// Number of steps that expressions may take on the threads that serve connections: a few ms.
const MAX_STEPS_THERE: u64 = 100_000;
/// Minimum size of a large object, in bytes: decoding, changing, validating and encoding it takes more than 1 ms.
const LARGE_OBJECT_BYTES: usize = 64 * 1024;

/// The work that one request may still cause.
///
/// Only one thread at a time takes from a budget. The counters are atomic so that they can be shared, not so that they are
/// exact when two threads take at once.
#[derive(Debug)]
pub struct Budget {
    deadline: Option<Instant>,
    abandoned: Option<Abandoned>,
    place: Option<Place>,
    bytes: AtomicU64,
    steps: AtomicU64,
    exhausted: OnceLock<Exhausted>,
    /// Number of steps of expressions that may be repeated elsewhere.
    steps_there: AtomicU64,
    /// Whether an evaluation ended because it is to be repeated elsewhere.
    is_interrupted: AtomicBool,
}

/// The threads that work on a request: the threads that serve connections, or the threads for long work. Clones belong
/// to the same request.
#[derive(Clone, Debug, Default)]
pub struct Place(Arc<AtomicU8>);

/// The request is on the threads that serve connections, and is to leave them.
const LEAVES: u8 = 1;
/// The request is on the threads for long work, or stays on its present threads.
const LEFT: u8 = 2;

/// Whether nobody waits for the response of a request any more. Clones belong to the same request.
#[derive(Clone, Debug, Default)]
pub struct Abandoned(Arc<AtomicBool>);

/// Marks a request as abandoned when it is dropped.
#[derive(Debug)]
pub struct AbandonOnDrop(Abandoned);

/// The reason why a request may cause no further work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Exhausted {
    /// It makes more than it may.
    #[error("the request expands to more than {} MiB", MAX_BYTES >> 20)]
    Bytes,
    /// It needs too much processor time.
    #[error("the request needs too much processor time")]
    Steps,
    /// Its deadline has passed.
    #[error("the request did not complete within its time")]
    Deadline,
    /// Its client no longer waits.
    #[error("the client no longer waits for the response")]
    Abandoned,
}

// === impl Budget ===

impl Default for Budget {
    fn default() -> Self {
        Self {
            deadline: None,
            abandoned: None,
            place: None,
            bytes: AtomicU64::new(MAX_BYTES),
            steps: AtomicU64::new(MAX_STEPS),
            exhausted: OnceLock::new(),
            steps_there: AtomicU64::new(0),
            is_interrupted: AtomicBool::new(false),
        }
    }
}

impl Budget {
    /// Creates the budget of a request that has to be answered until `deadline`.
    pub fn until(deadline: Option<Instant>) -> Self {
        Self { deadline, ..Self::default() }
    }

    /// Creates a budget of this number of bytes, for what is not made on behalf of a single request.
    pub fn with_bytes(bytes: usize) -> Self {
        let bytes = AtomicU64::new(u64::try_from(bytes).unwrap_or(u64::MAX));
        Self { bytes, steps: AtomicU64::new(u64::MAX), ..Self::default() }
    }

    /// Creates a budget without limits, for the server's own work.
    pub fn unlimited() -> Self {
        Self { bytes: AtomicU64::new(u64::MAX), steps: AtomicU64::new(u64::MAX), ..Self::default() }
    }

    /// Returns the time until which the client waits for the response.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Ends the work once this says that the request is abandoned.
    pub fn end_with(&mut self, abandoned: Abandoned) {
        self.abandoned = Some(abandoned);
    }

    /// Whether this number of bytes is left.
    pub fn has_bytes(&self, bytes: usize) -> bool {
        u64::try_from(bytes).is_ok_and(|bytes| bytes <= self.bytes.load(Ordering::Relaxed))
    }

    /// Takes the memory of what is about to be made, in bytes.
    ///
    /// # Errors
    /// Fails if less is left.
    pub fn take_bytes(&self, bytes: usize) -> Result<(), Exhausted> {
        let left = self.bytes.load(Ordering::Relaxed);
        let taken = u64::try_from(bytes).unwrap_or(u64::MAX);
        let Some(rest) = left.checked_sub(taken) else { return Err(self.fail(Exhausted::Bytes)) };
        self.bytes.store(rest, Ordering::Relaxed);
        Ok(())
    }

    /// Takes steps, and from time to time checks the deadline and whether the client still waits.
    ///
    /// # Errors
    /// Fails if fewer are left, and if nobody waits for the outcome.
    #[inline]
    pub fn take_steps(&self, steps: u64) -> Result<(), Exhausted> {
        let left = self.steps.load(Ordering::Relaxed);
        let Some(rest) = left.checked_sub(steps) else { return Err(self.fail(Exhausted::Steps)) };
        self.steps.store(rest, Ordering::Relaxed);
        if left / STEPS_PER_CHECK == rest / STEPS_PER_CHECK { Ok(()) } else { self.check() }
    }

    /// Checks the deadline and whether the client still waits.
    ///
    /// # Errors
    /// Fails if nobody waits for the outcome.
    #[cold]
    pub fn check(&self) -> Result<(), Exhausted> {
        if self.abandoned.as_ref().is_some_and(Abandoned::is_abandoned) {
            return Err(self.fail(Exhausted::Abandoned));
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(self.fail(Exhausted::Deadline)),
            _ => Ok(()),
        }
    }

    /// Returns the first reason for which something failed, also where that failure was worded in another way.
    pub fn exhausted(&self) -> Option<Exhausted> {
        self.exhausted.get().copied()
    }

    #[cold]
    fn fail(&self, why: Exhausted) -> Exhausted {
        // Only the first one is kept.
        let _ = self.exhausted.set(why);
        why
    }

    /// Fails if a part of the work has ended early, so that what it returned means nothing.
    ///
    /// # Errors
    /// Returns the first reason.
    pub fn check_complete(&self) -> Result<(), Exhausted> {
        self.exhausted().map_or(Ok(()), Err)
    }

    /// Lets the request leave the threads that serve connections when its expressions take long, or its object is large.
    pub fn leave_by(&mut self, place: Place) {
        self.place = Some(place);
    }

    /// Takes steps of an expression that [`repeated_elsewhere`](Self::repeated_elsewhere) evaluates again. Returns
    /// `false` if the evaluation is to end, because the request is to leave the threads that serve connections.
    pub fn stays_for(&self, steps: u64) -> bool {
        let Some(place) = &self.place else { return true };
        if place.0.load(Ordering::Relaxed) == LEFT {
            return true;
        }
        let taken = self.steps_there.load(Ordering::Relaxed).saturating_add(steps);
        self.steps_there.store(taken, Ordering::Relaxed);
        if taken <= MAX_STEPS_THERE {
            return true;
        }
        place.0.store(LEAVES, Ordering::Relaxed);
        self.is_interrupted.store(true, Ordering::Relaxed);
        false
    }

    /// Lets the request change its threads before it works on an object of this size, in bytes, if that is large.
    pub async fn leave_for_large(&self, object_bytes: usize) {
        let Some(place) = self.place.as_ref().filter(|_| object_bytes >= LARGE_OBJECT_BYTES) else { return };
        if place.0.load(Ordering::Relaxed) != LEFT {
            place.0.store(LEAVES, Ordering::Relaxed);
            place.leave().await;
        }
    }

    /// Lets the request change its threads if expressions took long. Returns whether they have to be evaluated again,
    /// because they ended early.
    pub async fn repeated_elsewhere(&self) -> bool {
        let Some(place) = &self.place else { return false };
        if !self.is_interrupted.swap(false, Ordering::Relaxed) {
            return false;
        }
        // The request may have moved since, wherever it had to wait. Otherwise it is moved when it is pending now, or stays.
        if place.is_to_leave() {
            place.leave().await;
        }
        true
    }
}

// === impl Place ===

impl Place {
    /// Returns whether the request is to leave the threads that serve connections.
    pub fn is_to_leave(&self) -> bool {
        self.0.load(Ordering::Relaxed) == LEAVES
    }

    /// Is pending once, when whoever polls the request moves it to other threads. Otherwise it stays.
    async fn leave(&self) {
        yield_once().await;
        self.0.store(LEFT, Ordering::Relaxed);
    }

    /// Says that the request is on other threads than those that serve connections.
    pub fn set_left(&self) {
        self.0.store(LEFT, Ordering::Relaxed);
    }
}

// === impl Abandoned ===

impl Abandoned {
    /// Returns a guard that marks the request as abandoned when it is dropped.
    pub fn on_drop(&self) -> AbandonOnDrop {
        AbandonOnDrop(self.clone())
    }

    fn is_abandoned(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        self.0.0.store(true, Ordering::Relaxed);
    }
}

// === impl Exhausted ===

impl From<Exhausted> for StatusError {
    fn from(exhausted: Exhausted) -> Self {
        let reason = match exhausted {
            Exhausted::Bytes => Reason::RequestEntityTooLarge,
            Exhausted::Steps => Reason::Invalid,
            Exhausted::Deadline | Exhausted::Abandoned => Reason::Timeout,
        };
        Self::new(reason, exhausted.to_string())
    }
}

/// Is pending once, and is polled again at once.
async fn yield_once() {
    let mut is_second = false;
    std::future::poll_fn(|task| {
        if std::mem::replace(&mut is_second, true) {
            return Poll::Ready(());
        }
        task.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn bytes_and_steps_end_with_their_limits() {
        let budget = Budget::default();
        assert_eq!(budget.take_bytes(usize::try_from(MAX_BYTES).unwrap()), Ok(()));
        assert_eq!(budget.exhausted(), None);
        assert_eq!(budget.take_bytes(1), Err(Exhausted::Bytes));
        assert_eq!(budget.exhausted(), Some(Exhausted::Bytes));
        assert_eq!(budget.take_steps(MAX_STEPS), Ok(()));
        assert_eq!(budget.take_steps(1), Err(Exhausted::Steps));
        assert_eq!(Budget::unlimited().take_steps(MAX_STEPS * 2), Ok(()));
    }

    #[test]
    fn the_deadline_and_an_abandoned_request_end_the_work_within_some_steps() {
        let late = Budget::until(Some(Instant::now().checked_sub(Duration::from_secs(1)).unwrap()));
        assert_eq!(first_failure(&late), Some(Exhausted::Deadline));
        let abandoned = Abandoned::default();
        let mut left = Budget::until(Some(Instant::now() + Duration::from_mins(1)));
        left.end_with(abandoned.clone());
        let guard = abandoned.on_drop();
        assert_eq!(first_failure(&left), None);
        drop(guard);
        assert_eq!(first_failure(&left), Some(Exhausted::Abandoned));
    }

    /// Returns the failure of as many single steps as there are between two checks.
    fn first_failure(budget: &Budget) -> Option<Exhausted> {
        (0..=STEPS_PER_CHECK).find_map(|_| budget.take_steps(1).err())
    }

    #[test]
    fn the_first_reason_stays() {
        let budget = Budget::default();
        assert_eq!(budget.check_complete(), Ok(()));
        assert_eq!(budget.take_steps(u64::MAX), Err(Exhausted::Steps));
        assert_eq!(budget.take_bytes(usize::MAX), Err(Exhausted::Bytes));
        assert_eq!(budget.take_steps(1), Ok(()));
        assert_eq!(budget.check_complete(), Err(Exhausted::Steps));
    }

    #[tokio::test]
    async fn a_large_object_lets_its_request_leave_once() {
        let mut budget = Budget::default();
        budget.leave_for_large(LARGE_OBJECT_BYTES).await;
        let place = Place::default();
        budget.leave_by(place.clone());
        budget.leave_for_large(LARGE_OBJECT_BYTES - 1).await;
        let task = &mut std::task::Context::from_waker(std::task::Waker::noop());
        let mut leaving = std::pin::pin!(budget.leave_for_large(LARGE_OBJECT_BYTES));
        assert!(leaving.as_mut().poll(task).is_pending() && place.is_to_leave());
        assert!(leaving.as_mut().poll(task).is_ready());
        assert!(std::pin::pin!(budget.leave_for_large(LARGE_OBJECT_BYTES)).poll(task).is_ready());
    }

    #[tokio::test]
    async fn long_expressions_leave_once() {
        let mut budget = Budget::default();
        assert!(budget.stays_for(u64::MAX) && !budget.repeated_elsewhere().await, "there is nowhere to go");
        let place = Place::default();
        budget.leave_by(place.clone());
        assert!(budget.stays_for(MAX_STEPS_THERE) && !place.is_to_leave());
        assert!(!budget.stays_for(1) && place.is_to_leave());
        assert!(budget.repeated_elsewhere().await && !budget.repeated_elsewhere().await);
        assert!(budget.stays_for(u64::MAX));

        // A request that has moved before it asks, because it had to wait, repeats what was interrupted too.
        let mut budget = Budget::default();
        let place = Place::default();
        budget.leave_by(place.clone());
        assert!(!budget.stays_for(u64::MAX));
        place.set_left();
        assert!(budget.repeated_elsewhere().await && !budget.repeated_elsewhere().await);
    }

    #[test]
    fn each_reason_has_the_code_of_its_kind() {
        let code = |exhausted: Exhausted| StatusError::from(exhausted).code;
        assert_eq!(code(Exhausted::Bytes), 413);
        assert_eq!(code(Exhausted::Steps), 422);
        assert_eq!(code(Exhausted::Deadline), 504);
    }
}
