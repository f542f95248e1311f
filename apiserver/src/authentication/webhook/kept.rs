//! Answers that are kept for a time. The oldest one makes room for a new one.

use std::collections::{HashMap, VecDeque};

use tokio::time::Instant;

/// Hash of a token and audiences, so that no token can be read from memory.
pub(super) type Key = [u8; 32];

/// Answers by token, at most a number of them.
pub(super) struct Kept<V> {
    answers: HashMap<Key, Answer<V>>,
    /// The answers in the order in which they came, also those that were replaced since.
    order: VecDeque<(Key, Instant)>,
    capacity: usize,
}

/// An answer, and the time until which it holds.
struct Answer<V> {
    value: V,
    until: Instant,
}

// === impl Kept ===

impl<V> Kept<V> {
    /// Keeps at most this number of answers.
    pub(super) fn new(capacity: usize) -> Self {
        Self { answers: HashMap::new(), order: VecDeque::new(), capacity }
    }

    /// Returns the answer for a token, if it still holds.
    pub(super) fn get(&self, key: &Key) -> Option<&V> {
        let answer = self.answers.get(key)?;
        (Instant::now() < answer.until).then_some(&answer.value)
    }

    /// Returns whether there was an answer for a token, which may hold no more.
    pub(super) fn contains(&self, key: &Key) -> bool {
        self.answers.contains_key(key)
    }

    /// Keeps an answer. One that came before every other makes room for it.
    pub(super) fn insert(&mut self, key: Key, value: V, until: Instant) {
        self.answers.insert(key, Answer { value, until });
        self.order.push_back((key, until));
        if self.order.len() > self.capacity {
            self.forget_oldest();
        }
    }

    /// Forgets the answer for a token.
    pub(super) fn remove(&mut self, key: &Key) {
        self.answers.remove(key);
    }

    fn forget_oldest(&mut self) {
        let Some((key, until)) = self.order.pop_front() else { return };
        // Not an answer that replaced it.
        if self.answers.get(&key).is_some_and(|answer| answer.until == until) {
            self.answers.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn key(number: u8) -> Key {
        [number; 32]
    }

    #[tokio::test(start_paused = true)]
    async fn the_oldest_answer_makes_room_and_all_others_stay() {
        let mut kept = Kept::new(3);
        let ttl = Duration::from_secs(10);
        for number in 0..3 {
            kept.insert(key(number), number, Instant::now() + ttl);
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        kept.insert(key(0), 100, Instant::now() + ttl);
        assert_eq!([0, 1, 2].map(|number| kept.get(&key(number)).copied()), [Some(100), Some(1), Some(2)]);
        kept.insert(key(3), 3, Instant::now() + ttl);
        assert_eq!(kept.get(&key(1)), None, "the oldest one");
        assert_eq!([0, 2, 3].map(|number| kept.get(&key(number)).copied()), [Some(100), Some(2), Some(3)]);
        assert!(kept.answers.len() <= 3 && kept.order.len() <= 3);
        tokio::time::sleep(ttl).await;
        assert_eq!((kept.get(&key(3)), kept.contains(&key(3))), (None, true), "it holds no more");
        kept.remove(&key(3));
        assert!(!kept.contains(&key(3)));
    }
}
