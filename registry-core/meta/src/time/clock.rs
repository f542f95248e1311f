//! The time of day, which tests can advance.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use jiff::{SignedDuration, Timestamp};

/// Maximum pause before the time is read again, if it can be advanced.
const MAX_PAUSE: Duration = Duration::from_millis(20);

/// The time of day: the machine's, or one that a test has advanced. Clones advance together.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// Milliseconds ahead of the machine; `None` if the time cannot be advanced.
    ahead: Option<Arc<AtomicU64>>,
    /// The time from which it goes on steadily; `None` if it follows the machine's.
    steady: Option<Steady>,
}

/// The machine's time since 1970 at an instant.
#[derive(Clone, Copy, Debug)]
struct Steady {
    since_epoch: Duration,
    at: Instant,
}

// === impl Clock ===

impl Clock {
    /// Returns a clock for tests, which begins with the machine's time.
    pub fn adjustable() -> Self {
        Self { ahead: Some(Arc::default()), steady: None }
    }

    /// Returns a clock that has the machine's time at present and goes on steadily from there, whatever the machine's clock is set to
    /// later. It advances together with this one.
    #[must_use]
    pub fn steady(&self) -> Self {
        Self {
            ahead: self.ahead.clone(),
            steady: Some(Steady { since_epoch: self.machine(), at: Instant::now() }),
        }
    }

    /// Advances the time, in whole milliseconds. The machine's clock stays as it is.
    pub fn advance(&self, duration: Duration) {
        if let Some(ahead) = &self.ahead {
            let milliseconds = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
            // The new time is the same for all readers; what depends on it needs no other order.
            let _ = ahead.fetch_update(Ordering::AcqRel, Ordering::Acquire, |before| {
                Some(before.saturating_add(milliseconds))
            });
        }
    }

    /// Returns the time since 1970.
    pub fn since_epoch(&self) -> Duration {
        self.machine().saturating_add(self.ahead())
    }

    /// Returns the time.
    pub fn now(&self) -> Timestamp {
        let since_epoch = SignedDuration::try_from(self.since_epoch()).unwrap_or(SignedDuration::MAX);
        Timestamp::from_duration(since_epoch).unwrap_or(Timestamp::MAX)
    }

    /// Returns for how long to sleep until this much time has passed: at most a moment if the time can be advanced.
    pub fn pause(&self, left: Duration) -> Duration {
        if self.ahead.is_some() { left.min(MAX_PAUSE) } else { left }
    }

    /// Returns the time since 1970 without what a test has advanced.
    fn machine(&self) -> Duration {
        match self.steady {
            Some(Steady { since_epoch, at }) => since_epoch.saturating_add(at.elapsed()),
            None => SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default(),
        }
    }

    fn ahead(&self) -> Duration {
        self.ahead
            .as_ref()
            .map_or(Duration::ZERO, |ahead| Duration::from_millis(ahead.load(Ordering::Acquire)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_advance_together_and_pauses_are_short() {
        let hour = Duration::from_hours(1);
        let clock = Clock::adjustable();
        let other = clock.clone();
        clock.advance(hour);
        assert!(other.since_epoch() + MAX_PAUSE >= Clock::default().since_epoch() + hour);
        assert!(other.now().duration_since(Timestamp::now()) > jiff::SignedDuration::from_mins(59));
        assert_eq!((other.pause(hour), Clock::default().pause(hour)), (MAX_PAUSE, hour));
        clock.advance(Duration::MAX);
        assert_eq!(other.now(), Timestamp::MAX);
    }

    #[test]
    fn a_steady_clock_goes_on_from_its_beginning() {
        let day = Duration::from_hours(24);
        let machine = Clock::default().since_epoch();
        // As if the machine's clock had been set a day back since it began.
        let at = Instant::now().checked_sub(Duration::from_secs(5)).unwrap();
        let clock = Clock { ahead: None, steady: Some(Steady { since_epoch: machine + day, at }) };
        let time = clock.since_epoch();
        assert!(time >= machine + day + Duration::from_secs(5) && clock.since_epoch() >= time);

        let adjustable = Clock::adjustable();
        let steady = adjustable.steady();
        adjustable.advance(day);
        assert!(steady.since_epoch() >= machine + day, "it advances with the clock that it was made of");
    }

    #[test]
    fn the_clock_of_the_machine_is_not_advanced() {
        let clock = Clock::default();
        clock.advance(Duration::from_hours(1));
        assert!(clock.now().duration_since(Timestamp::now()) < jiff::SignedDuration::from_mins(1));
    }
}
