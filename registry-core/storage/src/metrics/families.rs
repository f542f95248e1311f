//! Registers, describes and encodes metrics.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use prometheus::core::{Collector, MetricVec, MetricVecBuilder};
use prometheus::proto::MetricFamily;
use prometheus::{GaugeVec, HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry};

use super::text::{self, MetricsError};

/// Definition of a metric.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    name: &'static str,
    help: &'static str,
    labels: &'static [&'static str],
    buckets: &'static [f64],
}

/// All metrics of a server, or of one of its endpoints.
#[derive(Default)]
pub struct Families {
    registry: Registry,
    described: Vec<Described>,
    server_id_hash: Arc<str>,
    reading: Mutex<()>,
}

/// Description of a registered metric, for the reference.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Described {
    /// Its name.
    pub name: String,
    /// `counter`, `gauge` or `histogram`.
    pub kind: &'static str,
    /// Its labels.
    pub labels: Vec<String>,
    /// Its help text.
    pub help: String,
}

/// A family of metrics, one per set of labels.
pub trait Family: Clone {
    /// The type of a single metric.
    type Metric: Clone;

    /// Returns the metric with these labels.
    fn metric(&self, labels: &[&'static str]) -> Self::Metric;
}

/// A metric with a fixed set of labels, looked up on first use.
pub struct Bound<F: Family, const LABELS: usize> {
    family: F,
    labels: [&'static str; LABELS],
    metric: OnceLock<F::Metric>,
}

// === impl Definition ===

impl Definition {
    /// Defines a metric with this name and these labels.
    pub const fn new(name: &'static str, help: &'static str, labels: &'static [&'static str]) -> Self {
        Self { name, help, labels, buckets: &[] }
    }

    /// Sets the upper bounds of a histogram's buckets.
    pub const fn with_buckets(self, buckets: &'static [f64]) -> Self {
        Self { buckets, ..self }
    }

    fn options(&self) -> Opts {
        Opts::new(self.name, self.help)
    }
}

// === impl Families ===

impl Families {
    /// Returns the families of a server with this hash of its identity, which is a label of some metrics.
    pub fn for_server(server_id_hash: &str) -> Self {
        Self { server_id_hash: server_id_hash.into(), ..Self::default() }
    }

    /// Returns the hash of the server's identity; empty if it has none.
    pub fn server_id_hash(&self) -> Arc<str> {
        self.server_id_hash.clone()
    }

    /// Registers a family of counters.
    pub fn counter(&mut self, definition: &Definition) -> Result<IntCounterVec, MetricsError> {
        let family = IntCounterVec::new(definition.options(), definition.labels)?;
        self.register("counter", Box::new(family.clone()))?;
        Ok(family)
    }

    /// Registers a family of gauges.
    pub fn gauge(&mut self, definition: &Definition) -> Result<IntGaugeVec, MetricsError> {
        let family = self.unregistered_gauge(definition)?;
        self.registry.register(Box::new(family.clone()))?;
        Ok(family)
    }

    /// Describes a family of gauges that a custom collector exports.
    pub fn unregistered_gauge(&mut self, definition: &Definition) -> Result<IntGaugeVec, MetricsError> {
        let family = IntGaugeVec::new(definition.options(), definition.labels)?;
        self.describe("gauge", &family);
        Ok(family)
    }

    /// Describes a family of gauges with fractions that a custom collector exports.
    pub fn unregistered_float_gauge(&mut self, definition: &Definition) -> Result<GaugeVec, MetricsError> {
        let family = GaugeVec::new(definition.options(), definition.labels)?;
        self.describe("gauge", &family);
        Ok(family)
    }

    /// Describes a family of histograms that a custom collector exports. The result only describes it.
    pub fn unregistered_histogram(&mut self, definition: &Definition) -> Result<HistogramVec, MetricsError> {
        let options = HistogramOpts::from(definition.options()).buckets(definition.buckets.to_vec());
        let family = HistogramVec::new(options, definition.labels)?;
        self.describe("histogram", &family);
        Ok(family)
    }

    /// Describes a family of counters that a custom collector exports.
    pub fn unregistered_counter(&mut self, definition: &Definition) -> Result<IntCounterVec, MetricsError> {
        let family = IntCounterVec::new(definition.options(), definition.labels)?;
        self.describe("counter", &family);
        Ok(family)
    }

    /// Registers a family of histograms.
    pub fn histogram(&mut self, definition: &Definition) -> Result<HistogramVec, MetricsError> {
        let options = HistogramOpts::from(definition.options()).buckets(definition.buckets.to_vec());
        let family = HistogramVec::new(options, definition.labels)?;
        self.register("histogram", Box::new(family.clone()))?;
        Ok(family)
    }

    /// Registers a collector of [gauges](Self::unregistered_gauge) and [counters](Self::unregistered_counter).
    pub fn collect(&mut self, collector: Box<dyn Collector>) -> Result<(), MetricsError> {
        self.registry.register(collector)
    }

    fn register(&mut self, kind: &'static str, collector: Box<dyn Collector>) -> Result<(), MetricsError> {
        self.describe(kind, &*collector);
        self.registry.register(collector)
    }

    fn describe(&mut self, kind: &'static str, collector: &dyn Collector) {
        self.described.extend(collector.desc().into_iter().map(|description| Described {
            name: description.fq_name.clone(),
            kind,
            labels: description.variable_labels.clone(),
            help: description.help.clone(),
        }));
    }

    /// Returns the descriptions of all metrics, sorted by name.
    pub fn described(&self) -> Vec<Described> {
        let mut described = self.described.clone();
        described.sort();
        described
    }

    /// Reads all values. Readers wait for each other: collectors set values before they return them.
    pub fn gather(&self) -> Vec<MetricFamily> {
        self.gather_after(|| {})
    }

    /// Reads all values, after a function has set those that are not counted as they happen.
    pub fn gather_after(&self, refresh: impl FnOnce()) -> Vec<MetricFamily> {
        let _reading = self.reading.lock();
        refresh();
        self.registry.gather()
    }

    /// Encodes values in Prometheus' text format.
    ///
    /// # Errors
    /// Fails if there is a metric of a type that no server has.
    pub fn encode(families: &[MetricFamily]) -> Result<String, MetricsError> {
        text::write(families)
    }
}

// === impl Bound ===

impl<B: MetricVecBuilder> Family for MetricVec<B> {
    type Metric = B::M;

    fn metric(&self, labels: &[&'static str]) -> B::M {
        self.with_label_values(labels)
    }
}

impl<F: Family, const LABELS: usize> Bound<F, LABELS> {
    /// Binds the metric of a family that has these labels.
    pub fn new(family: &F, labels: [&'static str; LABELS]) -> Self {
        Self { family: family.clone(), labels, metric: OnceLock::new() }
    }

    /// Returns the metric.
    #[inline]
    pub fn get(&self) -> &F::Metric {
        self.metric.get_or_init(|| self.family.metric(&self.labels))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use prometheus::core::Desc;

    use super::*;

    /// A collector that counts how many readers it has at once.
    struct Shared(IntGaugeVec, Arc<[AtomicUsize; 2]>);

    impl Collector for Shared {
        fn desc(&self) -> Vec<&Desc> {
            self.0.desc()
        }

        fn collect(&self) -> Vec<MetricFamily> {
            let [present, most] = &*self.1;
            most.fetch_max(present.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_millis(20));
            present.fetch_sub(1, Ordering::SeqCst);
            self.0.collect()
        }
    }

    #[test]
    fn readers_wait_for_each_other() {
        let mut families = Families::default();
        let gauge = families.unregistered_gauge(&Definition::new("g", "h", &[])).unwrap();
        let readers = Arc::<[AtomicUsize; 2]>::default();
        families.collect(Box::new(Shared(gauge, readers.clone()))).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| families.gather());
            }
        });
        assert_eq!(readers[1].load(Ordering::SeqCst), 1);
    }
}
