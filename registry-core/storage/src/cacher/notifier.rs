//! The notifier of a channel: wakes its watchers.
//!
//! A watcher registers once and stays registered while the same task polls it: an event costs a wake-up and an atomic
//! load, and waiting again takes no lock.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Waker};

use parking_lot::{Mutex, MutexGuard};

/// Wakes the watchers of a channel.
#[derive(Debug, Default)]
pub(super) struct Notifier {
    /// The number that the channel's next event will have: a watcher that has read up to it has nothing to read.
    end: AtomicU64,
    /// Whether a caller is about to wake the watchers.
    is_claimed: AtomicBool,
    listeners: Mutex<Listeners>,
}

#[derive(Debug, Default)]
struct Listeners {
    wakers: Vec<Option<Waker>>,
    /// The unused indexes of `wakers`.
    free: Vec<usize>,
}

/// A watcher's registration at a notifier.
#[derive(Debug)]
pub(super) struct Listener {
    notifier: Arc<Notifier>,
    /// Its index, and the task that is woken.
    registered: Option<(usize, Waker)>,
}

// === impl Notifier ===

impl Notifier {
    /// Sets the number that the channel's next event will have. Must be called before the events can be read.
    pub(super) fn set_end(&self, end: u64) {
        self.end.store(end, Ordering::Release);
    }

    /// Whether the caller must wake the watchers, because no other caller is about to.
    pub(super) fn claim(&self) -> bool {
        !self.is_claimed.swap(true, Ordering::AcqRel)
    }

    /// Wakes all watchers.
    pub(super) fn ring(&self) {
        self.is_claimed.store(false, Ordering::Release);
        for waker in self.listeners().wakers.iter().flatten() {
            waker.wake_by_ref();
        }
    }

    fn listeners(&self) -> MutexGuard<'_, Listeners> {
        self.listeners.lock()
    }
}

// === impl Listener ===

impl Listener {
    /// Creates a listener, which registers when it first waits.
    pub(super) fn new(notifier: Arc<Notifier>) -> Self {
        Self { notifier, registered: None }
    }

    /// Registers this task to be woken; true if another task, or none, was registered before.
    pub(super) fn listen(&mut self, context: &Context<'_>) -> bool {
        let waker = context.waker();
        match &mut self.registered {
            Some((_, own)) if own.will_wake(waker) => return false,
            Some((place, own)) => {
                own.clone_from(waker);
                if let Some(known) = self.notifier.listeners().wakers.get_mut(*place) {
                    *known = Some(waker.clone());
                }
            }
            None => {
                let mut listeners = self.notifier.listeners();
                let place = listeners.free.pop().unwrap_or(listeners.wakers.len());
                match listeners.wakers.get_mut(place) {
                    Some(free) => *free = Some(waker.clone()),
                    None => listeners.wakers.push(Some(waker.clone())),
                }
                drop(listeners);
                self.registered = Some((place, waker.clone()));
            }
        }
        true
    }

    /// Returns the number that the channel's next event will have.
    pub(super) fn end(&self) -> u64 {
        self.notifier.end.load(Ordering::Acquire)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let Some((place, _)) = self.registered.take() else { return };
        let mut listeners = self.notifier.listeners();
        let waker = listeners.wakers.get_mut(place).and_then(Option::take);
        listeners.free.push(place);
        drop(listeners);
        // Dropping a waker may run code that needs the notifier unlocked.
        drop(waker);
    }
}
