//! After how many seconds a refused client should try again: the longer, the more requests are refused.
//!
//! Kubernetes concept: `DroppedRequestsTracker`. Like TCP, the time doubles while many requests are refused, and shrinks
//! by a second at a time otherwise.

use std::collections::VecDeque;

use parking_lot::Mutex;

/// Maximum number of seconds.
const MAX_SECONDS: u32 = 32;

/// The refused requests of a priority level.
pub(super) struct DroppedRequests(Mutex<History>);

struct History {
    /// Seconds with the number of requests that were refused in them, the oldest first; bounded by their age.
    seconds: VecDeque<(u64, u64)>,
    current: (u64, u64),
    retry_after: u32,
    /// When the time was last doubled.
    doubled_at: Option<u64>,
}

// === impl DroppedRequests ===

impl Default for DroppedRequests {
    fn default() -> Self {
        let history = History { seconds: VecDeque::new(), current: (0, 0), retry_after: 1, doubled_at: None };
        Self(Mutex::new(history))
    }
}

impl DroppedRequests {
    /// Counts a refused request at this second. Returns after how many seconds its client should try again.
    pub(super) fn record(&self, second: u64) -> u32 {
        let mut history = self.0.lock();
        if history.current.0 == second {
            history.current.1 += 1;
        } else {
            history.begin(second);
        }
        history.retry_after
    }
}

// === impl History ===

impl History {
    fn begin(&mut self, second: u64) {
        let finished = std::mem::replace(&mut self.current, (second, 1));
        self.seconds.push_back(finished);
        let max_age = u64::from((2 * self.retry_after).min(MAX_SECONDS));
        while self.seconds.front().is_some_and(|(then, _)| finished.0.saturating_sub(*then) > max_age) {
            self.seconds.pop_front();
        }
        self.update(second);
    }

    fn update(&mut self, second: u64) {
        let period = u64::from(self.retry_after);
        let recent = self.seconds.iter().filter(|(then, _)| second.saturating_sub(*then) <= period);
        let dropped: u64 = recent.map(|(_, requests)| requests).sum();
        let may_double = self.doubled_at.is_none_or(|then| second.saturating_sub(then) >= period);
        if may_double && dropped >= 3 * period {
            self.retry_after = (self.retry_after * 2).min(MAX_SECONDS);
            self.doubled_at = Some(second);
        } else if dropped < period && self.retry_after > 1 {
            self.retry_after -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_grows_with_refused_requests_and_shrinks_without() {
        let dropped = DroppedRequests::default();
        let mut seen = Vec::new();
        for second in 100..120 {
            let answers: Vec<u32> = (0..200).map(|_| dropped.record(second)).collect();
            seen.push(answers[199]);
        }
        assert_eq!(seen[..8], [1, 2, 2, 4, 4, 4, 4, 8], "it doubles once per period");
        let single: Vec<u32> = (200..206).map(|second| dropped.record(second * 2)).collect();
        assert!(single.windows(2).all(|pair| pair[1] < pair[0]), "{single:?}");
    }

    #[test]
    fn the_time_is_bounded() {
        let dropped = DroppedRequests::default();
        for second in 0..500 {
            for _ in 0..1000 {
                assert!(dropped.record(second) <= MAX_SECONDS);
            }
        }
        assert_eq!(dropped.record(500), MAX_SECONDS);
        assert!(dropped.0.lock().seconds.len() <= 35);
    }
}
