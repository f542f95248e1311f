//! The results of a run of the suite.

use super::backend::Backend;
use crate::measurement::{Measurement, count};
use crate::plot::Line;
use crate::process::BINARY;

/// All results.
#[derive(Debug, Default)]
pub(super) struct Figures {
    /// Single numbers, most of them with a budget.
    pub(super) facts: Vec<Fact>,
    /// The costs of the workloads.
    pub(super) measurements: Vec<(Backend, Measurement)>,
    /// Stages that failed.
    pub(super) failures: Vec<String>,
}

/// One number.
#[derive(Clone, Debug)]
pub(super) struct Fact {
    /// The measured property.
    pub(super) name: String,
    /// The store, if relevant.
    pub(super) backend: Option<Backend>,
    /// The number.
    pub(super) value: f64,
    /// Its unit.
    pub(super) unit: &'static str,
    /// The limit.
    pub(super) limit: Limit,
}

/// The limit of a number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Limit {
    /// No limit.
    None,
    /// At most this.
    Most(f64),
    /// At least this.
    Least(f64),
}

// === impl Figures ===

impl Figures {
    /// Adds a number, and prints it.
    pub(super) fn fact(
        &mut self,
        backend: Option<Backend>,
        name: impl Into<String>,
        value: f64,
        unit: &'static str,
        limit: Limit,
    ) {
        let fact = Fact { name: name.into(), backend, value, unit, limit };
        println!("{}", fact.row());
        self.facts.push(fact);
    }

    /// Adds the size of the server's binary.
    pub(super) fn binary_size(&mut self) {
        let bytes = std::fs::metadata(BINARY).map_or(0, |metadata| metadata.len());
        let mebibytes = bytes.div_ceil(1024 * 1024);
        self.fact(None, "release binary", count(mebibytes), "MiB", Limit::Most(30.0));
    }

    /// Returns the cost of a workload by size, over one store.
    pub(super) fn line(&self, backend: Backend, workload: &str, name: &str) -> Option<Line> {
        let own = self.measurements.iter().filter(|(of, row)| *of == backend && row.workload == workload);
        let points: Vec<_> = own.map(|(_, row)| (count(row.size as u64), row.cpu_micros())).collect();
        (!points.is_empty()).then(|| Line { name: format!("{name}, {}", backend.name()), points })
    }
}

// === impl Fact ===

impl Fact {
    /// The number as a row of a Markdown table.
    pub(super) fn row(&self) -> String {
        let number = |value: f64| if value < 10.0 { format!("{value:.2}") } else { format!("{value:.0}") };
        let (limit, is_within) = match self.limit {
            Limit::None => ("–".to_owned(), None),
            Limit::Most(most) => (format!("≤ {}", number(most)), Some(self.value <= most)),
            Limit::Least(least) => (format!("≥ {}", number(least)), Some(self.value >= least)),
        };
        let stands = is_within.map_or("–", |is_within| if is_within { "within" } else { "**over**" });
        let stands = if matches!(self.limit, Limit::Least(_)) && is_within == Some(false) {
            "**under**"
        } else {
            stands
        };
        let backend = self.backend.map_or("–", Backend::name);
        format!("| {} | {backend} | {} {} | {limit} | {stands} |", self.name, number(self.value), self.unit)
    }
}
