//! Lines on stderr about the progress of long work.

use std::io::Write as _;
use std::time::{Duration, Instant};

use registry_core::storage::transfer::Stage;

/// Minimum time between two lines.
const PERIOD: Duration = Duration::from_secs(2);

/// Prints lines about work that takes long.
pub(super) struct Progress {
    printed_at: Instant,
}

// === impl Progress ===

impl Progress {
    /// Begins with work that starts now.
    pub(super) fn new() -> Self {
        Self { printed_at: Instant::now() }
    }

    /// Prints how much of a stage is done, if the line before is old enough.
    pub(super) fn print_stage(&mut self, stage: Stage, done: u64) {
        if self.is_due() {
            self.print(&format!("{done} {}", stage_text(stage)));
        }
    }

    /// Prints a line, if the one before is old enough.
    #[cfg(feature = "etcd3")]
    pub(super) fn print_if_due(&mut self, line: &str) {
        if self.is_due() {
            self.print(line);
        }
    }

    fn is_due(&self) -> bool {
        self.printed_at.elapsed() >= PERIOD
    }

    /// Prints a line.
    pub(super) fn print(&mut self, line: &str) {
        self.printed_at = Instant::now();
        // Work goes on if stderr is closed.
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

/// Returns what is done in a stage.
fn stage_text(stage: Stage) -> &'static str {
    match stage {
        Stage::Reading => "keys are read",
        Stage::Raising => "revisions are skipped",
        Stage::Writing => "keys are written",
        Stage::ReadingBack => "keys are read back",
    }
}
