//! The notifier of a channel: wakes its watchers.
//!
//! A watcher registers once and stays registered for as long as the same task runs it: an event costs it a wake-up and
//! one look at a number, and no lock to wait again.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};

/// Wakes the watchers of a channel.
#[derive(Debug, Default)]
pub(super) struct Notifier {
    /// The number the channel's next event will have: who has read up to it has nothing to look for.
    end: AtomicU64,
    /// Whether somebody is about to ring.
    is_claimed: AtomicBool,
    listeners: Mutex<Listeners>,
}

#[derive(Debug, Default)]
struct Listeners {
    wakers: Vec<Option<Waker>>,
    /// The places in `wakers` that nobody has.
    free: Vec<usize>,
}

/// A watcher's place at a notifier.
#[derive(Debug)]
pub(super) struct Listener {
    notifier: Arc<Notifier>,
    /// Its place, and the task that is woken there.
    registered: Option<(usize, Waker)>,
}

// === impl Notifier ===

impl Notifier {
    /// Notes that the channel's next event will have this number. To be called before the events can be read.
    pub(super) fn set_end(&self, end: u64) {
        self.end.store(end, Ordering::Release);
    }

    /// Whether nobody else is about to ring: then the caller has to.
    pub(super) fn claim(&self) -> bool {
        !self.is_claimed.swap(true, Ordering::AcqRel)
    }

    /// Wakes everyone.
    pub(super) fn ring(&self) {
        self.is_claimed.store(false, Ordering::Release);
        for waker in self.listeners().wakers.iter().flatten() {
            waker.wake_by_ref();
        }
    }

    fn listeners(&self) -> MutexGuard<'_, Listeners> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Listener ===

impl Listener {
    /// A place at a notifier, taken when it is first waited at.
    pub(super) fn new(notifier: Arc<Notifier>) -> Self {
        Self { notifier, registered: None }
    }

    /// Has this task woken from now on; true when it was another one, or none, before.
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

    /// The number the channel's next event will have.
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
        // What a waker's end sets going must find the notifier unlocked.
        drop(waker);
    }
}
