//! The results of a single run: a table and a plot.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use super::machine;
use super::measurement::{COLUMNS, Measurement};
use super::plot;
use super::process::ServerProcess;
use crate::Failure;

/// All measurements of one run.
pub(crate) struct Report {
    label: String,
    clients: usize,
    ready_after: Option<Duration>,
    idle_mebibytes: f64,
    measurements: Vec<Measurement>,
}

// === impl Report ===

impl Report {
    /// An empty report on a server.
    pub(crate) fn new(label: &str, clients: usize, server: &ServerProcess) -> Self {
        Self {
            label: label.to_owned(),
            clients,
            ready_after: server.ready_after(),
            idle_mebibytes: server.resident_mebibytes(),
            measurements: Vec::new(),
        }
    }

    /// Adds a measurement.
    pub(crate) fn add(&mut self, measurement: Measurement) {
        self.measurements.push(measurement);
    }

    /// The report as Markdown.
    pub(crate) fn table(&self) -> String {
        let mut text = format!("# {}\n\n", self.label);
        let _ = writeln!(
            text,
            "Machine: {}. {} clients, TLS and HTTP/2, one process beside the server.",
            machine::describe(),
            self.clients
        );
        if let Some(ready) = self.ready_after {
            let _ = writeln!(text, "Start to ready: {:.0} ms.", ready.as_secs_f64() * 1e3);
        }
        let _ = writeln!(text, "Resident when idle: {:.0} MiB.\n", self.idle_mebibytes);
        text.push_str(COLUMNS);
        for measurement in &self.measurements {
            let _ = writeln!(text, "{}", measurement.row());
        }
        text.push_str("\nSize: objects per list, watchers per collection. An operation of `watch` is one event delivered to one watcher.\n");
        text
    }

    /// Writes `<label>.md` and `<label>.svg` into a directory.
    pub(crate) fn write(&self, directory: &Path) -> Result<(), Failure> {
        let failed = |error: std::io::Error| format!("cannot write to {}: {error}", directory.display());
        std::fs::create_dir_all(directory).map_err(failed)?;
        std::fs::write(directory.join(format!("{}.md", self.label)), self.table()).map_err(failed)?;
        let bars = plot::bars(&self.label, &self.measurements);
        std::fs::write(directory.join(format!("{}.svg", self.label)), bars).map_err(failed)?;
        println!("written: {0}/{1}.md and {0}/{1}.svg", directory.display(), self.label);
        Ok(())
    }
}
