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
        self.print_if_due(&format!("{done} {}", stage_text(stage)));
    }

    /// Prints a line, if the one before is old enough.
    pub(super) fn print_if_due(&mut self, line: &str) {
        if self.printed_at.elapsed() >= PERIOD {
            self.print(line);
        }
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

/// Says how many keys of the source do not have the prefix.
fn left_out(source: &Source) -> String {
    match source.other_keys() {
        0 => String::new(),
        keys => format!("{keys} keys that do not begin with {} are left out\n", source.prefix()),
    }
}

/// Says that servers need another flag to find the keys.
fn other_prefix(source: &Source, options: &Options) -> String {
    if source.prefix() == with_slash(None, options) {
        return String::new();
    }
    format!("servers find the keys with --etcd-prefix={}\n", source.prefix().trim_end_matches('/'))
}
