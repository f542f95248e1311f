//! Schedules automatic compaction, and the reclaiming of disk space.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use registry_meta::clock::Clock;

use super::super::state::{Expiry, SharedEngine};
use super::super::{AutoCompaction, Revision};
use super::IDLE;

/// Minimum interval between attempts to reclaim space.
const RECLAIM_INTERVAL: Duration = Duration::from_secs(30);

/// The writer's scheduled work.
pub(super) struct Housekeeping {
    auto_compaction: Option<AutoCompaction>,
    history_revisions_max: u64,
    next_sample: Instant,
    /// The newest revision at past times, oldest first.
    samples: VecDeque<(Instant, Revision)>,
    last_reclaim: Instant,
    reclaim: Option<JoinHandle<()>>,
}

// === impl Housekeeping ===

impl Housekeeping {
    pub(super) fn new(auto_compaction: Option<AutoCompaction>, history_revisions_max: u64) -> Self {
        let now = Instant::now();
        Self {
            auto_compaction,
            history_revisions_max: history_revisions_max.max(1),
            next_sample: now,
            samples: VecDeque::new(),
            last_reclaim: now,
            reclaim: None,
        }
    }

    /// Returns the time until work is due.
    pub(super) fn wait(&self) -> Duration {
        self.auto_compaction.map_or(IDLE, |_| self.next_sample.saturating_duration_since(Instant::now()))
    }

    /// Returns the revision to compact to now; 0 for none.
    pub(super) fn compaction_due(&mut self, current: Revision, compacted: Revision) -> Revision {
        let by_age = self.compaction_by_age(current);
        // In one large step, not one revision at a time.
        let kept = self.history_revisions_max - self.history_revisions_max / 8;
        let is_long = current.saturating_sub(compacted) > self.history_revisions_max;
        by_age.max(if is_long { current.saturating_sub(kept) } else { 0 })
    }

    fn compaction_by_age(&mut self, current: Revision) -> Revision {
        let now = Instant::now();
        let Some(auto) = self.auto_compaction.filter(|_| self.next_sample <= now) else { return 0 };
        self.next_sample = now + auto.interval;
        self.samples.push_back((now, current));
        let is_old = |sample: &(Instant, Revision)| now.duration_since(sample.0) >= auto.retain;
        // The newest of the old samples applies.
        while self.samples.get(1).is_some_and(is_old) {
            self.samples.pop_front();
        }
        let old = self.samples.front().filter(|sample| is_old(sample)).map_or(0, |(_, revision)| *revision);
        old.min(current.saturating_sub(auto.retain_revisions))
    }

    /// Lets the log reclaim space, in a separate thread.
    pub(super) fn reclaim(&mut self, shared: &Arc<SharedEngine>, live_bytes: u64) {
        let is_running = self.reclaim.as_ref().is_some_and(|thread| !thread.is_finished());
        if is_running || self.last_reclaim.elapsed() < RECLAIM_INTERVAL {
            return;
        }
        self.last_reclaim = Instant::now();
        let shared = shared.clone();
        let thread = std::thread::Builder::new().name("embedded-reclaim".to_owned());
        self.reclaim = thread.spawn(move || shared.log.reclaim(live_bytes)).ok();
    }

    /// Waits until the reclaiming thread has ended.
    pub(super) fn wait_for_reclaim(&mut self) {
        if let Some(thread) = self.reclaim.take() {
            // A panic of the thread is already reported.
            let _ = thread.join();
        }
    }
}

// === impl Expiry ===

impl Expiry {
    /// Returns the remaining time; zero if it has passed.
    pub(super) fn remaining(&self, clock: &Clock) -> Duration {
        Duration::from_secs(self.at_seconds).saturating_sub(clock.since_epoch())
    }
}
