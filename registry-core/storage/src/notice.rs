//! Log lines about events that repeat, of which one in a while is enough.

use std::time::{Duration, Instant};

/// Minimum interval between two log lines about the same problem.
const INTERVAL: Duration = Duration::from_mins(1);

/// Logs a repeated event at once, and then once per minute.
#[derive(Debug, Default)]
pub struct Notice {
    last: Option<Instant>,
    unreported: u64,
}

// === impl Notice ===

impl Notice {
    /// Calls `log` with the number of events since the last call, unless the interval has not passed.
    pub fn log(&mut self, log: impl FnOnce(u64)) {
        self.unreported += 1;
        if self.last.is_none_or(|last| last.elapsed() >= INTERVAL) {
            log(std::mem::take(&mut self.unreported));
            self.last = Some(Instant::now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_event_is_logged_once_with_the_number_of_the_others() {
        let mut logged = Vec::new();
        let mut notice = Notice::default();
        for _ in 0..3 {
            notice.log(|times| logged.push(times));
        }
        notice.last = Instant::now().checked_sub(INTERVAL);
        notice.log(|times| logged.push(times));
        assert_eq!(logged, [1, 3]);
    }
}
