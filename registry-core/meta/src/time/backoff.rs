//! Pauses between attempts that fail.
//!
//! Kubernetes concept: `k8s.io/apimachinery/pkg/util/wait.Backoff`.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

/// Pauses that double from the shortest to the longest. Each is shortened at random by up to a third, so that those
/// that failed together do not come back together.
#[derive(Clone, Debug)]
pub struct Backoff {
    shortest: Duration,
    longest: Duration,
    next: Duration,
}

// === impl Backoff ===

impl Backoff {
    /// Begins with the shortest pause.
    pub const fn new(shortest: Duration, longest: Duration) -> Self {
        Self { shortest, longest, next: shortest }
    }

    /// Returns the pause before the next attempt. The one after it is twice as long, up to the longest.
    pub fn next_pause(&mut self) -> Duration {
        let pause = self.next;
        self.next = pause.saturating_mul(2).min(self.longest);
        pause.saturating_sub(pause.mul_f64(random_fraction() / 3.0))
    }

    /// Begins with the shortest pause again, after a success.
    pub fn reset(&mut self) {
        self.next = self.shortest;
    }
}

/// Adds up to a tenth to a period, so that servers that started together do not all act together.
pub fn jittered_period(period: Duration) -> Duration {
    period.saturating_add(period.mul_f64(random_fraction() / 10.0))
}

/// Returns a random number: at least 0, and less than 1. It is no secret.
pub fn random_fraction() -> f64 {
    const STEPS: f64 = 4_294_967_296.0;
    // The keys of a `RandomState` differ each time.
    let [first, second, third, fourth, ..] = RandomState::new().hash_one(()).to_ne_bytes();
    f64::from(u32::from_ne_bytes([first, second, third, fourth])) / STEPS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_again() {
        let mut backoff = Backoff::new(Duration::from_millis(30), Duration::from_millis(100));
        for longest in [30, 60, 100, 100] {
            let pause = backoff.next_pause();
            let (least, most) = (Duration::from_millis(longest * 2 / 3), Duration::from_millis(longest));
            assert!(least <= pause && pause <= most, "{pause:?} is not between {least:?} and {most:?}");
        }
        backoff.reset();
        assert!(backoff.next_pause() <= Duration::from_millis(30));
    }

    #[test]
    fn those_that_fail_together_do_not_come_back_together() {
        let pauses =
            (0..100).map(|_| Backoff::new(Duration::from_secs(1), Duration::from_secs(1)).next_pause());
        let different: std::collections::HashSet<_> = pauses.collect();
        assert!(different.len() > 30, "{} of 100 pauses are different", different.len());
    }
}
