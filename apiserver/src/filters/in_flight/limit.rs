//! Places for one class of requests, and the queue for them.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::metrics::InFlightNumbers;
use crate::shares::Shares;

use super::{LimitLoad, UserLoad};

/// Maximum number of users whose shares are checked in one pass. The next free place continues from there.
const MAX_TURNS: usize = 16;

/// Places for one class of requests.
pub(super) struct InFlightLimit {
    /// Index of this limit's load among a user's loads.
    number: usize,
    places: Shares,
    queued: Shares,
    queue: Mutex<Queue>,
}

/// A place among the requests in flight. Dropping it gives it to the next waiting request.
pub(in crate::filters) struct Place(Option<(Arc<InFlightLimit>, Arc<UserLoad>)>);

/// The waiting requests, by user.
#[derive(Default)]
struct Queue {
    /// By the address of the user's load, which the entry keeps alive.
    turns: BTreeMap<usize, Turn>,
    /// The user who was served last.
    last: usize,
    tickets: u64,
}

/// The waiting requests of one user, the oldest first.
struct Turn {
    user: Arc<UserLoad>,
    waiting: BTreeMap<u64, oneshot::Sender<Place>>,
}

/// A queued request. Dropping it removes it from the queue.
struct Waiting<'a> {
    limit: &'a Arc<InFlightLimit>,
    user: &'a Arc<UserLoad>,
    ticket: u64,
}

// === impl InFlightLimit ===

impl InFlightLimit {
    pub(super) fn new(number: usize, places: usize, waiting_per_place: usize) -> Arc<Self> {
        let places = if places == 0 { usize::MAX } else { places };
        Arc::new(Self {
            number,
            places: Shares::new(places),
            queued: Shares::new(places.saturating_mul(waiting_per_place)),
            queue: Mutex::default(),
        })
    }

    pub(super) fn numbers(&self) -> InFlightNumbers {
        InFlightNumbers { working: self.places.used(), waiting: self.queued.used() }
    }

    /// Returns a place for a request of this user, at once or when it is its turn. Returns `None` if neither
    /// the places nor the queue have one for this user, or if the wait is too long.
    pub(super) async fn enter(self: &Arc<Self>, user: &Arc<UserLoad>, max_wait: Duration) -> Option<Place> {
        let load = self.load(user)?;
        // A user's requests are served in order: the newest does not overtake waiting ones.
        if load.queued.is_zero() && self.places.try_take(&load.places, 1) {
            return Some(Place(Some((self.clone(), user.clone()))));
        }
        if !self.queued.try_take(&load.queued, 1) {
            return None;
        }
        let (sender, receiver) = oneshot::channel();
        let _waiting = self.join(user, sender);
        tokio::time::timeout(max_wait, receiver).await.ok()?.ok()
    }

    fn load<'a>(&self, user: &'a UserLoad) -> Option<&'a LimitLoad> {
        user.limits.get(self.number)
    }

    /// Puts a request that is counted as queued into the queue.
    fn join<'a>(self: &'a Arc<Self>, user: &'a Arc<UserLoad>, sender: oneshot::Sender<Place>) -> Waiting<'a> {
        let mut queue = self.queue();
        queue.tickets += 1;
        let ticket = queue.tickets;
        let turn = queue
            .turns
            .entry(key_of(user))
            .or_insert_with(|| Turn { user: user.clone(), waiting: BTreeMap::new() });
        turn.waiting.insert(ticket, sender);
        // A place may have become free since, while the queue was empty.
        self.hand_out(&mut queue);
        drop(queue);
        Waiting { limit: self, user, ticket }
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Assigns free places to waiting requests, as far as the shares of their users allow it.
    fn hand_out(self: &Arc<Self>, queue: &mut Queue) {
        let mut refused = 0;
        while refused < MAX_TURNS.min(queue.turns.len()) {
            let Some(key) = queue.next_turn() else { return };
            let Some(turn) = queue.turns.get_mut(&key) else { return };
            let Some(load) = self.load(&turn.user) else { return };
            if !self.places.try_take(&load.places, 1) {
                refused += 1;
                continue;
            }
            refused = 0;
            let place = Place(Some((self.clone(), turn.user.clone())));
            let first = turn.waiting.pop_first();
            let unused = match first {
                Some((_, sender)) => sender.send(place).err(),
                None => Some(place),
            };
            if let Some((_, user)) = unused.and_then(|mut place| place.0.take()) {
                // The request was cancelled at this moment. Its place must not be dropped here: that would
                // lock again.
                self.give_back(&user);
            }
            if turn.waiting.is_empty() {
                queue.turns.remove(&key);
            }
        }
    }

    fn give_back(&self, user: &UserLoad) {
        if let Some(load) = self.load(user) {
            self.places.give_back(&load.places, 1);
        }
    }
}

// === impl Queue ===

impl Queue {
    /// Returns the user after the one who was served last.
    fn next_turn(&mut self) -> Option<usize> {
        let after = self.turns.range((Bound::Excluded(self.last), Bound::Unbounded)).next();
        let next = after.or_else(|| self.turns.first_key_value()).map(|(key, _)| *key)?;
        self.last = next;
        Some(next)
    }
}

fn key_of(user: &Arc<UserLoad>) -> usize {
    Arc::as_ptr(user).addr()
}

// === impl Waiting ===

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut queue = self.limit.queue();
        let key = key_of(self.user);
        if let Some(turn) = queue.turns.get_mut(&key) {
            turn.waiting.remove(&self.ticket);
            if turn.waiting.is_empty() {
                queue.turns.remove(&key);
            }
        }
        drop(queue);
        if let Some(load) = self.limit.load(self.user) {
            self.limit.queued.give_back(&load.queued, 1);
        }
    }
}

// === impl Place ===

impl Drop for Place {
    fn drop(&mut self) {
        let Some((limit, user)) = self.0.take() else { return };
        limit.give_back(&user);
        if limit.queued.used() > 0 {
            limit.hand_out(&mut limit.queue());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(15);

    fn user() -> Arc<UserLoad> {
        Arc::default()
    }

    async fn take_all(limit: &Arc<InFlightLimit>, user: &Arc<UserLoad>) -> Vec<Place> {
        let mut places = Vec::new();
        while let Some(place) = limit.enter(user, Duration::ZERO).await {
            places.push(place);
        }
        places
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_who_holds_on_to_its_places_leaves_some_to_others() {
        let limit = InFlightLimit::new(0, 8, 1);
        let hog = user();
        let other = user();
        let held = take_all(&limit, &hog).await;
        assert_eq!(held.len(), 4);
        assert_eq!(take_all(&limit, &other).await.len(), 2);
        assert_eq!(limit.numbers().working, 4);
        drop(held);
        assert_eq!((limit.numbers().working, limit.numbers().waiting), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn users_who_wait_take_turns() {
        let limit = InFlightLimit::new(1, 1, 16);
        let hog = user();
        let other = user();
        let first = limit.enter(&hog, PATIENCE).await.unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for (name, user) in [("hog", &hog), ("hog", &hog), ("hog", &hog), ("other", &other)] {
            let limit = limit.clone();
            let user = user.clone();
            let order = order.clone();
            tasks.push(tokio::spawn(async move {
                let _place = limit.enter(&user, PATIENCE).await.unwrap();
                order.lock().unwrap().push(name);
            }));
            tokio::task::yield_now().await;
        }
        assert_eq!(limit.numbers().waiting, 4);
        drop(first);
        for task in tasks {
            task.await.unwrap();
        }
        let position = order.lock().unwrap().iter().position(|name| *name == "other").unwrap();
        assert!(position <= 1, "the other user waits behind all of the hog's requests");
        assert_eq!((limit.numbers().working, limit.numbers().waiting), (0, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_that_gives_up_waiting_leaves_nothing_behind() {
        let limit = InFlightLimit::new(0, 1, 16);
        let user = user();
        let place = limit.enter(&user, PATIENCE).await.unwrap();
        for _ in 0..100 {
            assert!(limit.enter(&user, Duration::from_millis(1)).await.is_none());
        }
        assert!(limit.queue().turns.is_empty());
        drop(place);
        assert!(limit.enter(&user, PATIENCE).await.is_some());
    }
}
