//! The results: a table for people, a plot for the eye.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use super::budget;
use super::process::ServerProcess;

/// What one workload measured.
#[derive(Clone, Debug)]
pub(crate) struct Measurement {
    workload: &'static str,
    size: usize,
    operations: u64,
    elapsed: Duration,
    cpu_seconds: f64,
    p50: Duration,
    p99: Duration,
    resident_mebibytes: f64,
}

/// All measurements of one run.
pub(crate) struct Report {
    label: String,
    clients: usize,
    ready_after: Option<Duration>,
    idle_mebibytes: f64,
    measurements: Vec<Measurement>,
}

impl Measurement {
    /// From raw counts; latencies are sorted here.
    pub(crate) fn new(
        workload: &'static str,
        size: usize,
        operations: u64,
        elapsed: Duration,
        cpu_seconds: f64,
        mut latencies: Vec<Duration>,
        server: &ServerProcess,
    ) -> Self {
        latencies.sort_unstable();
        let percentile = |percent: usize| {
            let at = (latencies.len() * percent / 100).min(latencies.len().saturating_sub(1));
            latencies.get(at).copied().unwrap_or_default()
        };
        let measurement = Self {
            workload,
            size,
            operations,
            elapsed,
            cpu_seconds,
            p50: percentile(50),
            p99: percentile(99),
            resident_mebibytes: server.resident_mebibytes(),
        };
        println!("{}", measurement.row());
        measurement
    }

    fn cpu_micros(&self) -> f64 {
        self.cpu_seconds * 1e6 / count(self.operations.max(1))
    }

    fn row(&self) -> String {
        let stands = match budget::of(self.workload, self.size) {
            Some(budget) => {
                let verdict = if self.cpu_micros() <= budget.allowed_cpu_micros { "within" } else { "over" };
                format!("{:.0} | {:.0} | {verdict}", budget.allowed_cpu_micros, budget.reference_cpu_micros)
            }
            None => "– | – | –".to_owned(),
        };
        format!(
            "| {} | {} | {:.0} | {:.2} | {:.2} | {:.1} | {stands} | {:.0} |",
            self.workload,
            self.size,
            count(self.operations) / self.elapsed.as_secs_f64(),
            self.p50.as_secs_f64() * 1e3,
            self.p99.as_secs_f64() * 1e3,
            self.cpu_micros(),
            self.resident_mebibytes,
        )
    }
}

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

    /// Takes a measurement in.
    pub(crate) fn add(&mut self, measurement: Measurement) {
        self.measurements.push(measurement);
    }

    /// The report as Markdown.
    pub(crate) fn table(&self) -> String {
        let mut text = format!("# {}\n\n", self.label);
        let _ = writeln!(
            text,
            "Machine: {}. {} clients, TLS and HTTP/2, one process beside the server.",
            machine(),
            self.clients
        );
        if let Some(ready) = self.ready_after {
            let _ = writeln!(text, "Start to ready: {:.0} ms.", ready.as_secs_f64() * 1e3);
        }
        let _ = writeln!(text, "Resident when idle: {:.0} MiB.\n", self.idle_mebibytes);
        text.push_str("| workload | size | per second | p50 ms | p99 ms | server CPU µs per operation | budget µs | kube-apiserver µs | stands | resident MiB |\n");
        text.push_str("|---|---|---|---|---|---|---|---|---|---|\n");
        for measurement in &self.measurements {
            let _ = writeln!(text, "{}", measurement.row());
        }
        text.push_str("\nSize: objects per list, watchers per collection. An operation of `watch` is one event delivered to one watcher.\n");
        text
    }

    /// Writes `<label>.md` and `<label>.svg` into a directory.
    pub(crate) fn write(&self, directory: &Path) -> Result<(), String> {
        let failed = |error: std::io::Error| format!("cannot write to {}: {error}", directory.display());
        std::fs::create_dir_all(directory).map_err(failed)?;
        std::fs::write(directory.join(format!("{}.md", self.label)), self.table()).map_err(failed)?;
        std::fs::write(directory.join(format!("{}.svg", self.label)), self.plot()).map_err(failed)?;
        println!("written: {0}/{1}.md and {0}/{1}.svg", directory.display(), self.label);
        Ok(())
    }

    /// One bar per measurement on a logarithmic scale, with marks for the budget and the reference server.
    fn plot(&self) -> String {
        const ROW_HEIGHT: usize = 34;
        let height = 60 + ROW_HEIGHT * self.measurements.len();
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"860\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
             <rect width=\"860\" height=\"{height}\" fill=\"white\"/>\n\
             <text x=\"16\" y=\"24\" font-size=\"15\">{}: server CPU per operation, µs (log scale)</text>\n\
             <text x=\"560\" y=\"24\" fill=\"#2a7\">| budget</text><text x=\"640\" y=\"24\" fill=\"#b33\">| kube-apiserver</text>\n",
            self.label
        );
        for (index, measurement) in self.measurements.iter().enumerate() {
            let top = 44 + index * ROW_HEIGHT;
            let end = position(measurement.cpu_micros());
            let _ = writeln!(
                svg,
                "<text x=\"16\" y=\"{}\">{} {}</text><rect x=\"150\" y=\"{top}\" width=\"{:.1}\" height=\"18\" fill=\"#47a\"/><text x=\"{:.1}\" y=\"{}\">{:.1}</text>",
                top + 14,
                measurement.workload,
                measurement.size,
                end - 150.0,
                end + 6.0,
                top + 14,
                measurement.cpu_micros()
            );
            if let Some(budget) = budget::of(measurement.workload, measurement.size) {
                for (micros, colour) in
                    [(budget.allowed_cpu_micros, "#2a7"), (budget.reference_cpu_micros, "#b33")]
                {
                    let x = position(micros);
                    let _ = writeln!(
                        svg,
                        "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{}\" y2=\"{}\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                        top - 4,
                        top + 22
                    );
                }
            }
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// Where a number of microseconds is on the plot: 0.1 µs at the left, 100 ms at the right.
fn position(micros: f64) -> f64 {
    150.0 + 620.0 * ((micros.max(0.1).log10() + 1.0) / 6.0)
}

fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        text.lines().find_map(|line| line.strip_prefix("model name\t: ")).unwrap_or("unknown processor");
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    format!("{cores} cores of {model}")
}

/// A count as a number to divide by; exact up to 2^53 operations.
#[allow(clippy::cast_precision_loss, reason = "no run makes 2^53 operations")]
fn count(operations: u64) -> f64 {
    operations as f64
}
