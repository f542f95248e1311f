//! The cost of one workload.

use std::time::Duration;

use super::budget;
use super::process::ServerProcess;

/// The counts of a workload.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    /// Number of operations.
    pub(crate) operations: u64,
    /// Number of bytes that the clients received.
    pub(crate) received_bytes: u64,
    /// Elapsed time.
    pub(crate) elapsed: Duration,
    /// The server's CPU time, user and system.
    pub(crate) cpu_seconds: f64,
}

/// The cost of a workload at one size.
#[derive(Clone, Debug)]
pub(crate) struct Measurement {
    /// The workload's name.
    pub(crate) workload: &'static str,
    /// Number of objects or watchers.
    pub(crate) size: usize,
    counted: Counted,
    p50: Duration,
    p99: Duration,
    resident_mebibytes: f64,
}

/// The columns of [`Measurement::row`].
pub(crate) const COLUMNS: &str = "| workload | size | per second | p50 ms | p99 ms | server CPU µs per operation | budget µs | kube-apiserver µs | stands | resident MiB |\n|---|---|---|---|---|---|---|---|---|---|\n";

// === impl Measurement ===

impl Measurement {
    /// Creates a measurement from raw counts; sorts the latencies, and prints the measurement.
    pub(crate) fn new(
        workload: &'static str,
        size: usize,
        counted: &Counted,
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
            counted: *counted,
            p50: percentile(50),
            p99: percentile(99),
            resident_mebibytes: server.resident_mebibytes(),
        };
        println!("{}", measurement.row());
        measurement
    }

    /// Returns the server's CPU time per operation, in microseconds.
    pub(crate) fn cpu_micros(&self) -> f64 {
        self.counted.cpu_seconds * 1e6 / count(self.counted.operations.max(1))
    }

    /// Returns the number of operations per second.
    pub(crate) fn per_second(&self) -> f64 {
        count(self.counted.operations) / self.counted.elapsed.as_secs_f64()
    }

    /// Returns the number of operations.
    pub(crate) fn operations(&self) -> usize {
        usize::try_from(self.counted.operations).unwrap_or(usize::MAX)
    }

    /// Returns the bytes of a response.
    pub(crate) fn bytes_per_operation(&self) -> f64 {
        count(self.counted.received_bytes) / count(self.counted.operations.max(1))
    }

    /// Returns the 99th percentile of the latency, in milliseconds.
    pub(crate) fn p99_millis(&self) -> f64 {
        self.p99.as_secs_f64() * 1e3
    }

    /// Returns the number of processors that the server used.
    pub(crate) fn processors(&self) -> f64 {
        self.counted.cpu_seconds / self.counted.elapsed.as_secs_f64()
    }

    /// The measurement as a row of a Markdown table.
    pub(crate) fn row(&self) -> String {
        let stands = match budget::budget(self.workload, self.size) {
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
            self.per_second(),
            self.p50.as_secs_f64() * 1e3,
            self.p99_millis(),
            self.cpu_micros(),
            self.resident_mebibytes,
        )
    }
}

/// Converts a count to a floating-point number; exact up to 2^53 operations.
#[allow(clippy::cast_precision_loss, reason = "no run makes 2^53 operations")]
pub(crate) fn count(operations: u64) -> f64 {
    operations as f64
}
