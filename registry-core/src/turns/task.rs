//! A task that takes turns.

use std::pin::Pin;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use super::{FlowKey, PRESENT, Present, SMALLEST, THREAD_CAPACITY, Turns, Waiting, after_input};

/// Neither woken nor polled.
const IDLE: u8 = 0;
/// Woken, and waiting for a turn.
const QUEUED: u8 = 1;
/// Has a turn, and is about to be polled.
const GRANTED: u8 = 2;
/// Has a turn, and is polled.
const RUNNING: u8 = 3;
/// The same, and was woken meanwhile.
const WOKEN: u8 = 4;
/// Ended.
const ENDED: u8 = 5;

/// The expected time of the first poll of a task, in microseconds.
const FIRST_PRICE: u32 = 16;

/// The state of a scheduled task, and what its owner keeps with it: one allocation serves both.
pub struct Task<T> {
    turns: Arc<Turns>,
    state: AtomicU8,
    /// The part of the capacity that the next turn takes: about the time of the last one, in microseconds.
    price: AtomicU32,
    /// The part of the capacity that the present turn has taken.
    held: AtomicU32,
    /// Wakes the task in the runtime.
    waker: Mutex<Option<Waker>>,
    /// What the owner keeps.
    pub own: T,
}

/// A future that is polled when it is its turn. It has to be a task of its own.
pub struct Scheduled<F, T: AsRef<FlowKey> + Send + Sync + 'static> {
    future: F,
    task: Arc<Task<T>>,
    waker: Waker,
}

/// A poll. If it is dropped before its end, by a panic, the task keeps the turn until it is dropped itself.
struct Polling<'a> {
    held: &'a AtomicU32,
    is_unfinished: bool,
}

// === impl Task ===

impl<T> Task<T> {
    /// Returns a task that takes these turns.
    pub fn new(turns: &Arc<Turns>, own: T) -> Arc<Self> {
        Arc::new(Self {
            turns: turns.clone(),
            state: AtomicU8::new(IDLE),
            price: AtomicU32::new(FIRST_PRICE),
            held: AtomicU32::new(0),
            waker: Mutex::new(None),
            own,
        })
    }

    /// Wakes the task in the runtime.
    fn wake_in_runtime(&self) {
        let waker = self.waker().clone();
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn waker(&self) -> MutexGuard<'_, Option<Waker>> {
        self.waker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn becomes(&self, from: u8, to: u8) -> bool {
        self.state.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Returns the turn of a task that is not polled.
    fn give_back(&self) {
        self.turns.give_back(self.held.swap(0, Ordering::AcqRel), true);
    }
}

impl<T: AsRef<FlowKey> + Send + Sync + 'static> Task<T> {
    /// Takes a turn, or begins to wait for one. The task is `QUEUED`, and is `then` with the turn. Returns whether it is.
    fn ask(self: &Arc<Self>, then: u8) -> bool {
        let price = self.price.load(Ordering::Relaxed);
        if !self.turns.take_or_wait(|| self.clone(), self.own.as_ref().get(), price) {
            return false;
        }
        self.held.store(price, Ordering::Release);
        let is_alive = self.becomes(QUEUED, then);
        if !is_alive {
            self.give_back();
        }
        is_alive
    }

    /// Begins a poll. Returns whether it is the task's turn.
    fn begin(self: &Arc<Self>, waker: &Waker) -> bool {
        let mut known = self.waker();
        if !known.as_ref().is_some_and(|known| known.will_wake(waker)) {
            *known = Some(waker.clone());
        }
        drop(known);
        self.becomes(GRANTED, RUNNING) || (self.becomes(IDLE, QUEUED) && self.ask(RUNNING))
    }

    /// Ends a poll that had this turn and left the future pending.
    fn pause(self: &Arc<Self>, held: u32, is_input_due: bool) {
        if !self.becomes(RUNNING, IDLE) && self.becomes(WOKEN, QUEUED) {
            // Woken during the poll: it asks for another turn.
            if self.turns.is_contended() {
                // First, so that it is among those of which the next one is chosen.
                self.ask_again(false);
            } else {
                self.turns.give_back(held, true);
                return self.ask_again(is_input_due);
            }
        }
        self.turns.give_back(held, !is_input_due);
    }

    fn ask_again(self: &Arc<Self>, is_input_due: bool) {
        if !self.ask(GRANTED) {
            return;
        }
        if !is_input_due {
            return self.wake_in_runtime();
        }
        let waker = self.waker().clone();
        if let Some(waker) = waker {
            after_input(&waker);
        }
    }
}

impl<T: AsRef<FlowKey> + Send + Sync + 'static> Wake for Task<T> {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        loop {
            match self.state.load(Ordering::Acquire) {
                IDLE if self.becomes(IDLE, QUEUED) => {
                    if self.ask(GRANTED) {
                        self.wake_in_runtime();
                    }
                    return;
                }
                RUNNING if self.becomes(RUNNING, WOKEN) => return,
                // Has changed meanwhile.
                IDLE | RUNNING => {}
                _ => return,
            }
        }
    }
}

impl<T: Send + Sync> Waiting for Task<T> {
    fn grant(&self, price: u32) -> bool {
        self.held.store(price, Ordering::Release);
        let is_alive = self.becomes(QUEUED, GRANTED);
        if is_alive {
            self.wake_in_runtime();
        }
        is_alive
    }
}

// === impl Scheduled ===

impl<F: Future + Unpin, T: AsRef<FlowKey> + Send + Sync + 'static> Scheduled<F, T> {
    /// Returns the future, as this task.
    pub fn new(task: Arc<Task<T>>, future: F) -> Self {
        let waker = Waker::from(task.clone());
        Self { future, task, waker }
    }
}

#[cfg(test)]
impl<F, T: AsRef<FlowKey> + Send + Sync + 'static> Scheduled<F, T> {
    pub(super) fn wake(&self) {
        self.waker.wake_by_ref();
    }

    pub(super) fn has_turn(&self) -> bool {
        self.task.state.load(Ordering::Relaxed) == GRANTED
    }
}

impl<F: Future + Unpin, T: AsRef<FlowKey> + Send + Sync + 'static> Future for Scheduled<F, T> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        if !self.task.begin(context.waker()) {
            return Poll::Pending;
        }
        let Self { future, task, waker } = &mut *self;
        let price = task.held.swap(0, Ordering::AcqRel);
        let began = PRESENT.with(|present| present.begin(&task.turns, price));
        let polling = Polling { held: &task.held, is_unfinished: true };
        let polled = Pin::new(future).poll(&mut Context::from_waker(waker));
        let held = polling.finish();
        let took = u32::try_from(began.elapsed().as_micros()).unwrap_or(u32::MAX);
        // A poll that is longer than it was expected to be is charged now; otherwise it has been, with its price.
        if took > price {
            task.turns.charge(task.own.as_ref().get(), took - price);
        }
        task.price.store(took.clamp(SMALLEST, THREAD_CAPACITY), Ordering::Relaxed);
        let is_input_due = PRESENT.with(|present| present.is_input_due(took));
        if polled.is_pending() {
            task.pause(held, is_input_due);
        } else {
            task.state.store(ENDED, Ordering::Release);
            task.turns.give_back(held, !is_input_due);
        }
        polled
    }
}

impl<F, T: AsRef<FlowKey> + Send + Sync + 'static> Drop for Scheduled<F, T> {
    fn drop(&mut self) {
        // A waiting task stays in the queue, where its turn is passed on.
        let former = self.task.state.swap(ENDED, Ordering::AcqRel);
        if matches!(former, GRANTED | RUNNING | WOKEN) {
            self.task.give_back();
        }
        // Wakers of this task may outlive it; the runtime's task does not need to.
        let waker = self.task.waker().take();
        drop(waker);
    }
}

// === impl Polling ===

impl Polling<'_> {
    /// Ends the poll, and returns what is to be given back of its turn.
    fn finish(mut self) -> u32 {
        self.is_unfinished = false;
        PRESENT.with(Present::end)
    }
}

impl Drop for Polling<'_> {
    fn drop(&mut self) {
        if self.is_unfinished {
            self.held.store(PRESENT.with(Present::end), Ordering::Release);
        }
    }
}
