//! Division of a capacity between holders, so that no holder can take all of it.
//!
//! A holder takes more only while it has no more than what is then left for all others. A single holder gets
//! half of the capacity, a second one half of the rest, and so on: a new holder always finds something,
//! without any part of the capacity being reserved for it.
//!
//! The rule is that of dynamic queue thresholds in packet switches (Choudhury and Hahne, 1998).
//!
//! | module | contents |
//! |---|---|
//! | `turns` | a bounded queue of calls for each holder |
//! | `keys` | the names under which users and addresses take their shares |

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

mod keys;
mod turns;

pub(crate) use keys::{holder_of, origin};
pub(crate) use turns::{QueueFull, Turn, TurnBounds, Turns};

/// Number of independently locked parts of a [`Holders`] table.
const SHARDS: usize = 32;
/// Number of entries in a part above which unused entries are dropped.
const MAX_UNUSED_PER_SHARD: usize = 64;

/// A capacity, and the amount that all holders have taken.
pub(crate) struct Shares {
    capacity: usize,
    used: AtomicUsize,
}

/// The amount that one holder has taken.
#[derive(Default)]
pub(crate) struct Held(AtomicUsize);

/// A capacity that is divided between the holders of these keys, one unit at a time.
pub(crate) struct SharedPlaces<K> {
    places: Shares,
    holders: Holders<K, Held>,
}

/// One unit of a [`SharedPlaces`]. Dropping it gives it back.
pub(crate) struct SharedPlace<K> {
    of: Arc<SharedPlaces<K>>,
    held: Arc<Held>,
}

/// Finds the state of a holder by its key. Entries exist at least as long as they are used.
pub(crate) struct Holders<K, H> {
    shards: [Mutex<Shard<K, H>>; SHARDS],
    hasher: RandomState,
}

struct Shard<K, H> {
    entries: HashMap<K, Arc<H>>,
    /// Number of entries at which unused ones are dropped next.
    sweep_at: usize,
}

// === impl Shares ===

impl Shares {
    pub(crate) fn new(capacity: usize) -> Self {
        // Bounded, so that sums of two amounts cannot overflow.
        Self { capacity: capacity.min(usize::MAX / 4), used: AtomicUsize::new(0) }
    }

    /// Returns the amount that all holders have taken.
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::SeqCst)
    }

    /// Takes an amount for a holder, if its share allows it.
    pub(crate) fn try_take(&self, held: &Held, amount: usize) -> bool {
        let before = held.0.fetch_add(amount, Ordering::SeqCst);
        let wanted = before.saturating_add(amount);
        let taken = self.used.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |used| {
            (wanted <= self.capacity.saturating_sub(used)).then_some(used + amount)
        });
        if taken.is_err() {
            held.0.fetch_sub(amount, Ordering::SeqCst);
        }
        taken.is_ok()
    }

    /// Gives back the amount that [`try_take`](Self::try_take) took.
    pub(crate) fn give_back(&self, held: &Held, amount: usize) {
        held.0.fetch_sub(amount, Ordering::SeqCst);
        self.used.fetch_sub(amount, Ordering::SeqCst);
    }
}

// === impl Held ===

#[cfg(test)]
impl Held {
    fn is_zero(&self) -> bool {
        self.0.load(Ordering::SeqCst) == 0
    }
}

// === impl SharedPlaces ===

impl<K: Hash + Eq> SharedPlaces<K> {
    pub(crate) fn new(capacity: usize) -> Arc<Self> {
        Arc::new(Self { places: Shares::new(capacity), holders: Holders::default() })
    }

    /// Returns the number of places in use.
    pub(crate) fn used(&self) -> usize {
        self.places.used()
    }

    /// Returns a place, if the share of this holder allows it.
    pub(crate) fn take<Q>(self: &Arc<Self>, key: &Q) -> Option<SharedPlace<K>>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let held = self.holders.hold(key);
        self.places.try_take(&held, 1).then(|| SharedPlace { of: self.clone(), held })
    }
}

impl<K> Drop for SharedPlace<K> {
    fn drop(&mut self) {
        self.of.places.give_back(&self.held, 1);
    }
}

// === impl Holders ===

impl<K, H> Default for Holders<K, H> {
    fn default() -> Self {
        let shard = |_| Mutex::new(Shard { entries: HashMap::new(), sweep_at: MAX_UNUSED_PER_SHARD });
        Self { shards: std::array::from_fn(shard), hasher: RandomState::new() }
    }
}

impl<K: Hash + Eq, H: Default> Holders<K, H> {
    /// Returns the state of a holder, which is new if it is not in use.
    pub(crate) fn hold<Q>(&self, key: &Q) -> Arc<H>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        self.hold_or(key, H::default)
    }
}

impl<K: Hash + Eq, H> Holders<K, H> {
    /// Returns the state of a holder, which is that of `new` if it is not in use.
    pub(crate) fn hold_or<Q>(&self, key: &Q, new: impl FnOnce() -> H) -> Arc<H>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        let number = usize::try_from(self.hasher.hash_one(key) % SHARDS as u64).unwrap_or(0);
        let Some(shard) = self.shards.get(number) else { return Arc::new(new()) };
        let mut shard = shard.lock();
        if let Some(known) = shard.entries.get(key) {
            return known.clone();
        }
        if shard.entries.len() >= shard.sweep_at {
            shard.entries.retain(|_, holder| Arc::strong_count(holder) > 1);
            shard.sweep_at = MAX_UNUSED_PER_SHARD.max(shard.entries.len() * 2);
        }
        let holder = Arc::new(new());
        shard.entries.insert(key.to_owned(), holder.clone());
        holder
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_never_takes_more_than_it_leaves() {
        let shares = Shares::new(100);
        let holders: Vec<Held> = (0..6).map(|_| Held::default()).collect();
        let take_all = |held: &Held| (0..1000).filter(|_| shares.try_take(held, 1)).count();
        let taken: Vec<usize> = holders.iter().map(take_all).collect();
        assert_eq!(taken, [50, 25, 13, 6, 3, 2]);
        assert_eq!(shares.used(), 99);
        for (held, taken) in holders.iter().zip(taken) {
            shares.give_back(held, taken);
            assert!(held.is_zero());
        }
        assert_eq!(shares.used(), 0);
        assert_eq!(take_all(&holders[5]), 50, "what was given back can be taken again");
    }

    #[test]
    fn a_single_place_goes_to_the_first() {
        let shares = Shares::new(1);
        let [first, second] = [Held::default(), Held::default()];
        assert!(shares.try_take(&first, 1));
        assert!(!shares.try_take(&second, 1) && second.is_zero());
        shares.give_back(&first, 1);
        assert!(shares.try_take(&second, 1));
    }

    #[test]
    fn holders_are_forgotten_when_nobody_uses_them() {
        let holders: Holders<String, Held> = Holders::default();
        let kept = holders.hold("kept");
        for number in 0..100_000 {
            holders.hold(format!("user-{number}").as_str());
        }
        let known: usize = holders.shards.iter().map(|shard| shard.lock().entries.len()).sum();
        assert!(known <= SHARDS * (MAX_UNUSED_PER_SHARD + 1), "{known}");
        assert!(Arc::ptr_eq(&kept, &holders.hold("kept")));
    }
}
