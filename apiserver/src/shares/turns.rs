//! Turns: a bounded queue of calls for each holder, so that nobody waits for the calls of others.

use std::borrow::Borrow;
use std::hash::Hash;
use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{Held, Holders, Shares};

/// The bounds of [`Turns`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct TurnBounds {
    /// Maximum number of turns that one holder has at once.
    pub(crate) at_once: usize,
    /// Maximum number of calls of all holders, made or waiting. A holder gets a further place only if its places,
    /// with that one, are not more than the free ones.
    pub(crate) queued: usize,
}

/// Turns of the holders of these keys. Each holder has a number of them at once; further ones wait, in order.
pub(crate) struct Turns<K> {
    bounds: TurnBounds,
    queue: Shares,
    lines: Holders<K, Line>,
}

/// The turns of one holder.
struct Line {
    queued: Held,
    turns: Arc<Semaphore>,
}

/// One turn. Dropping it gives it to the next one of its holder.
pub(crate) struct Turn<'t, K> {
    _turn: OwnedSemaphorePermit,
    _queued: Queued<'t, K>,
}

/// A place in the queue, until the turn is over.
struct Queued<'t, K> {
    of: &'t Turns<K>,
    line: Arc<Line>,
}

/// Error of a holder that has as many turns, and waits for as many, as its share of the queue allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many calls wait for their turn")]
pub(crate) struct QueueFull;

// === impl Turns ===

impl<K: Hash + Eq> Turns<K> {
    /// Creates turns with these bounds.
    pub(crate) fn new(bounds: TurnBounds) -> Self {
        Self { bounds, queue: Shares::new(bounds.queued), lines: Holders::default() }
    }

    /// Returns the bounds.
    pub(crate) fn bounds(&self) -> TurnBounds {
        self.bounds
    }

    /// Waits for a turn of this holder. The caller limits the time.
    ///
    /// # Errors
    /// Fails at once if the holder's share of the queue is exhausted.
    pub(crate) async fn take<Q>(&self, key: &Q) -> Result<Turn<'_, K>, QueueFull>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let line = self.lines.hold_or(key, || Line::new(self.bounds.at_once));
        if !self.queue.try_take(&line.queued, 1) {
            return Err(QueueFull);
        }
        let queued = Queued { of: self, line };
        // A semaphore that is never closed has a permit sooner or later.
        let turn = queued.line.turns.clone().acquire_owned().await.map_err(|_closed| QueueFull)?;
        Ok(Turn { _turn: turn, _queued: queued })
    }
}

// === impl Line ===

impl Line {
    fn new(at_once: usize) -> Self {
        let turns = Arc::new(Semaphore::new(at_once.min(Semaphore::MAX_PERMITS)));
        Self { queued: Held::default(), turns }
    }
}

// === impl Queued ===

impl<K> Drop for Queued<'_, K> {
    fn drop(&mut self) {
        self.of.queue.give_back(&self.line.queued, 1);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn a_holder_waits_for_its_own_turns_only() {
        let turns: Turns<String> = Turns::new(TurnBounds { at_once: 2, queued: 100 });
        let first = turns.take("hog").await.unwrap();
        let _second = turns.take("hog").await.unwrap();
        let mut third = Box::pin(turns.take("hog"));
        assert!(third.as_mut().now_or_never().is_none(), "it waits");
        let other = turns.take("other").now_or_never();
        assert!(other.is_some_and(|turn| turn.is_ok()), "another holder does not");
        drop(first);
        assert!(third.await.is_ok());
    }

    #[tokio::test]
    async fn a_queue_that_one_holder_fills_has_room_for_others() {
        let turns: Turns<String> = Turns::new(TurnBounds { at_once: 1, queued: 100 });
        let first = turns.take("hog").await.unwrap();
        let mut hogs = Vec::new();
        let refused = loop {
            let mut hog = Box::pin(turns.take("hog"));
            if let Some(Err(refused)) = hog.as_mut().now_or_never() {
                break refused;
            }
            hogs.push(hog);
        };
        assert_eq!((hogs.len(), refused), (49, QueueFull));
        assert!(turns.take("other").now_or_never().is_some_and(|turn| turn.is_ok()));
        // Those who wait no more leave their places.
        drop((first, hogs));
        assert_eq!(turns.queue.used(), 0);
        assert!(turns.take("hog").now_or_never().is_some_and(|turn| turn.is_ok()));
    }
}
