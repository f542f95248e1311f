//! Division of processor time between flows.
//!
//! The runtime polls ready tasks in the order in which they became ready. If one user has a hundred responses to build and
//! another has one, the latter waits for a hundred polls. [`Turns`] limits how many scheduled tasks are ready *for the
//! runtime* at a time, and decides which of the others is next:
//!
//! ```text
//! wake ─┬─ there is capacity: the runtime polls the task
//!       └─ none left: FairQueue, by flow ─ a poll ends ─ the runtime looks for input ─ the first of the queue is polled
//! ```
//!
//! - A task is scheduled when it is wrapped in [`Scheduled`], which passes its own waker to the future inside. A task that is
//!   woken therefore asks for a turn before the runtime sees it.
//! - The capacity is a time, [`TURN`] for each thread of the runtime, and a task takes as much of it as its last poll took.
//!   Many short polls or few long ones fit into it, so that the runtime's own queue is always short.
//! - Waiting tasks of a flow wait in order of arrival, and flows in order of virtual time, which their polls advance
//!   ([`FairQueue`](queue)). A flow that uses less than its share is first, whatever the others have in the queue. Tasks
//!   without limits ([`FIRST`]) precede all flows, except that every eighth turn is given to a flow.
//! - Under contention the next turn is given after the runtime has looked for input, so that a request that has arrived
//!   during a poll is considered. Long polls divide themselves: [`is_over`] reports that a poll has used its time.
//! - Without contention a turn is two atomic additions, and two reads of the clock. Locks are taken under contention only,
//!   for the steps of one insertion or removal, never while a future is polled.
//! - Dropping a [`Scheduled`] returns its turn, also after a panic. A thread that is about to block returns it first
//!   ([`give_up`]).

use std::cell::{Cell, RefCell};
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Wake, Waker};
use std::time::{Duration, Instant};

mod queue;
mod task;
#[cfg(test)]
mod tests;

pub use task::{Scheduled, Task};

use queue::FairQueue;

/// The flow of tasks that precede all others: those of the server, and of users without limits.
pub const FIRST: u64 = 0;

/// The time that a poll may take while others wait.
pub const TURN: Duration = Duration::from_micros(50);

/// The capacity of one thread, in microseconds. A poll takes at most this much, so that as many long polls as there are threads
/// fit.
const THREAD_CAPACITY: u32 = 64;
/// The smallest part of the capacity that a poll takes.
const SMALLEST: u32 = 4;
/// Processor time of a thread after which the runtime looks for input before the next turn, in microseconds.
const BETWEEN_INPUT: u32 = 32;

/// The part of [`Turns::state`] that is the capacity in use; the rest is the number of waiting tasks.
const USED: u64 = (1 << ONE_WAITING_BITS) - 1;
const ONE_WAITING_BITS: u32 = 32;
const ONE_WAITING: u64 = 1 << ONE_WAITING_BITS;

/// The turns of the tasks of one runtime.
pub struct Turns {
    /// The capacity in use, and the number of waiting tasks: together, so that no task begins to wait unnoticed.
    state: AtomicU64,
    capacity: u64,
    /// The capacity that was returned while tasks waited, until the next turns are given.
    returned: AtomicU32,
    queue: Mutex<FairQueue<Arc<dyn Waiting>>>,
    /// Number of tasks that have waited for a turn.
    waits: AtomicUsize,
    hasher: RandomState,
}

/// The flow that a task belongs to, which becomes known while it runs.
#[derive(Debug, Default)]
pub struct FlowKey(AtomicU64);

/// A task that waits for a turn.
trait Waiting: Send + Sync {
    /// Gives the task a turn that takes this much of the capacity. Returns `false` if it has ended.
    fn grant(&self, price: u32) -> bool;
}

thread_local! {
    /// The turn that this thread's present poll has.
    static PRESENT: Present = const { Present::new() };
}

/// The turn of a poll.
struct Present {
    began: Cell<Option<Instant>>,
    /// What [`give_up`] returns; 0 if the present poll has no turn.
    price: Cell<u32>,
    turns: RefCell<Option<Arc<Turns>>>,
    /// Processor time since the runtime last looked for input, in microseconds.
    since_input: Cell<u32>,
}

/// Returns whether the present poll has used its time and should end, after arranging to be continued. `false` outside of
/// scheduled tasks.
pub fn is_over() -> bool {
    PRESENT.with(|present| present.began.get().is_some_and(|began| began.elapsed() >= TURN))
}

/// Returns the turn of the present poll, whose thread is about to block, so that others can run meanwhile.
pub fn give_up() {
    PRESENT.with(|present| {
        let price = present.price.replace(0);
        if let Some(turns) = present.turns.borrow().as_ref().filter(|_| price > 0) {
            turns.give_back(price, true);
        }
    });
}

// === impl FlowKey ===

impl FlowKey {
    /// Returns the key of this flow.
    pub fn new(flow: u64) -> Self {
        Self(AtomicU64::new(flow))
    }

    /// Moves the task to another flow, from its next turn on.
    pub fn set(&self, flow: u64) {
        self.0.store(flow, Ordering::Relaxed);
    }

    /// Returns the flow.
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl AsRef<FlowKey> for FlowKey {
    fn as_ref(&self) -> &FlowKey {
        self
    }
}

// === impl Turns ===

impl Turns {
    /// Returns the turns of a runtime with this number of threads.
    #[must_use]
    pub fn new(threads: usize) -> Arc<Self> {
        Arc::new(Self {
            state: AtomicU64::new(0),
            capacity: u64::from(THREAD_CAPACITY) * threads.max(1) as u64,
            returned: AtomicU32::new(0),
            queue: Mutex::default(),
            waits: AtomicUsize::new(0),
            hasher: RandomState::new(),
        })
    }

    /// Returns the key of the flow with these characteristics. Keys are unpredictable.
    pub fn flow_of(&self, characteristics: impl Hash) -> u64 {
        self.hasher.hash_one(characteristics).max(FIRST + 1)
    }

    /// Returns the number of tasks that wait at present, and of those that have waited since the start.
    pub fn waiting(&self) -> (u64, usize) {
        (self.state.load(Ordering::Relaxed) / ONE_WAITING, self.waits.load(Ordering::Relaxed))
    }

    fn is_contended(&self) -> bool {
        self.state.load(Ordering::Acquire) >= ONE_WAITING
    }

    /// Returns whether a task that takes this part of the capacity need not wait.
    fn is_free(&self, state: u64, price: u32) -> bool {
        state < ONE_WAITING && self.has_capacity(state, price)
    }

    fn has_capacity(&self, used: u64, price: u32) -> bool {
        used == 0 || used + u64::from(price) <= self.capacity
    }

    /// Takes a part of the capacity, unless others wait for it.
    fn try_take(&self, price: u32) -> bool {
        let taken = |state: u64| self.is_free(state, price).then(|| state + u64::from(price));
        self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, taken).is_ok()
    }

    /// Takes a part of the capacity, or queues the task until it is its turn. Returns whether it has the turn.
    fn take_or_wait(&self, task: impl FnOnce() -> Arc<dyn Waiting>, flow: u64, price: u32) -> bool {
        if self.try_take(price) {
            return true;
        }
        let mut queue = self.queue();
        // Counted while the queue is locked: whoever gives the next turn finds the task in it.
        let mut has_turn = false;
        let counted = |state: u64| {
            has_turn = self.is_free(state, price);
            Some(state + if has_turn { u64::from(price) } else { ONE_WAITING })
        };
        let _ = self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, counted);
        if has_turn {
            return true;
        }
        queue.push(flow, task(), price);
        self.waits.fetch_add(1, Ordering::Relaxed);
        false
    }

    /// Returns a part of the capacity. If tasks wait, they get it: at once, or after the runtime has looked for input.
    fn give_back(self: &Arc<Self>, price: u32, at_once: bool) {
        if price == 0 {
            return;
        }
        let returned = |state: u64| (state < ONE_WAITING).then(|| state - u64::from(price));
        if self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, returned).is_ok() {
            return;
        }
        self.returned.fetch_add(price, Ordering::AcqRel);
        if at_once {
            self.give_turns();
        } else {
            after_input(&Waker::from(self.clone()));
        }
    }

    /// Gives turns to waiting tasks as long as there is capacity.
    fn give_turns(&self) {
        let returned = self.returned.swap(0, Ordering::AcqRel);
        self.state.fetch_sub(u64::from(returned), Ordering::AcqRel);
        while let Some((task, price)) = self.next() {
            if !task.grant(price) {
                self.state.fetch_sub(u64::from(price), Ordering::AcqRel);
            }
        }
    }

    /// Returns the task whose turn it is, with the part of the capacity that was taken for it.
    fn next(&self) -> Option<(Arc<dyn Waiting>, u32)> {
        let mut queue = self.queue();
        let price = queue.next_price()?;
        let taken = |state: u64| {
            self.has_capacity(state & USED, price).then(|| state - ONE_WAITING + u64::from(price))
        };
        self.state.fetch_update(Ordering::AcqRel, Ordering::Acquire, taken).ok()?;
        queue.pop()
    }

    /// Charges a flow for the time that a poll took longer than it was expected to. Without contention nothing is charged.
    fn charge(&self, flow: u64, microseconds: u32) {
        if self.is_contended() {
            self.queue().charge(flow, microseconds);
        }
    }

    fn queue(&self) -> MutexGuard<'_, FairQueue<Arc<dyn Waiting>>> {
        // Nothing that is called while it is locked leaves it half changed.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for Turns {
    fn wake(self: Arc<Self>) {
        self.give_turns();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.give_turns();
    }
}

// === impl Present ===

impl Present {
    const fn new() -> Self {
        Self {
            began: Cell::new(None),
            price: Cell::new(0),
            turns: RefCell::new(None),
            since_input: Cell::new(0),
        }
    }

    /// Begins a poll.
    fn begin(&self, turns: &Arc<Turns>, price: u32) -> Instant {
        let began = Instant::now();
        self.began.set(Some(began));
        self.price.set(price);
        let is_same = self.turns.borrow().as_ref().is_some_and(|present| Arc::ptr_eq(present, turns));
        if !is_same {
            self.turns.replace(Some(turns.clone()));
        }
        began
    }

    /// Ends it. Returns what is still to be given back.
    fn end(&self) -> u32 {
        self.began.set(None);
        self.price.replace(0)
    }

    /// Counts the processor time of a poll. Returns whether the runtime should look for input now.
    fn is_input_due(&self, microseconds: u32) -> bool {
        let since_input = self.since_input.get().saturating_add(microseconds);
        let is_due = since_input >= BETWEEN_INPUT;
        self.since_input.set(if is_due { 0 } else { since_input });
        is_due
    }
}

/// Wakes after this thread of the runtime has polled what is ready and looked for input, as
/// [`yield_now`](tokio::task::yield_now) does for its own task; at once outside of a runtime.
fn after_input(waker: &Waker) {
    let mut yielding = std::pin::pin!(tokio::task::yield_now());
    let _ = yielding.as_mut().poll(&mut Context::from_waker(waker));
}
