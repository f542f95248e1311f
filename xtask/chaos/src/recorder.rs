//! The recording of a round's history, and what is counted beside it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use parking_lot::Mutex;

use crate::history::History;
use crate::kinds::Kind;

/// A collection that clients write to.
pub(crate) struct Target {
    pub(crate) kind: Kind,
    pub(crate) namespace: String,
    /// The name of the scope in the history.
    pub(crate) scope: String,
    /// The names of the objects.
    pub(crate) names: Vec<String>,
    /// A revision at which it was empty.
    pub(crate) from: u64,
    /// The revision that its witness reached: the reflector without which the history is not complete.
    pub(crate) witnessed: AtomicU64,
    /// Whether a part of the writes are ones that servers have to refuse.
    pub(crate) has_denials: bool,
}

/// Records the history of a round.
pub(crate) struct Recorder {
    started: Instant,
    writes: AtomicU64,
    history: Mutex<History>,
    /// The number of requests without a usable answer, by the reason.
    failed: Mutex<BTreeMap<String, u64>>,
}

/// Returns the revision that all witnesses have reached, whose history before nobody needs for the checks.
pub(crate) fn witnessed(targets: &[Target]) -> u64 {
    targets.iter().map(|target| target.witnessed.load(Ordering::Relaxed)).min().unwrap_or_default()
}

// === impl Target ===

impl Target {
    pub(crate) fn new(kind: Kind, namespace: &str, names: usize) -> Self {
        let scope = format!("{}/{namespace}", kind.plural());
        let names = (0..names).map(|index| format!("object-{index}")).collect();
        let namespace = namespace.to_owned();
        let (witnessed, has_denials) = (AtomicU64::new(0), false);
        Self { kind, namespace, scope, names, from: 0, witnessed, has_denials }
    }

    /// Makes a part of the writes such that servers have to refuse them.
    pub(crate) fn with_denials(self) -> Self {
        Self { has_denials: true, ..self }
    }

    /// Returns the path of the collection.
    pub(crate) fn collection(&self) -> String {
        self.kind.collection(&self.namespace)
    }
}

// === impl Recorder ===

impl Recorder {
    pub(crate) fn new() -> Self {
        Self {
            started: Instant::now(),
            writes: AtomicU64::new(1),
            history: Mutex::default(),
            failed: Mutex::default(),
        }
    }

    /// Returns the time in nanoseconds since the recorder was made.
    pub(crate) fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// Returns the number of the next write.
    pub(crate) fn next_write(&self) -> u64 {
        self.writes.fetch_add(1, Ordering::Relaxed)
    }

    /// Adds to the history.
    pub(crate) fn record(&self, add: impl FnOnce(&mut History)) {
        add(&mut self.history.lock());
    }

    /// Counts a request without a usable answer.
    pub(crate) fn fail(&self, reason: &str) {
        *self.failed.lock().entry(reason.to_owned()).or_default() += 1;
    }

    /// Returns the history, and the failed requests by their reason.
    pub(crate) fn take(&self) -> (History, BTreeMap<String, u64>) {
        (std::mem::take(&mut self.history.lock()), std::mem::take(&mut self.failed.lock()))
    }
}
