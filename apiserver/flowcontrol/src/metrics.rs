//! Metrics of priority levels and flow schemas.
//!
//! What happens to requests is counted by flow schema, with handles that are looked up once per configuration. The state
//! of the levels is read when metrics are collected.

use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use prometheus::core::{Collector, Desc};
use prometheus::proto::{Bucket, Histogram as HistogramProto, LabelPair, Metric, MetricFamily, MetricType};
use prometheus::{GaugeVec, Histogram, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec};
use registry_core::metrics::{Definition, Families, MetricsError};

use crate::metric_names as names;
use crate::timed_ratio::TimedRatio;
use crate::work::count;

/// The metrics of priority levels and flow schemas.
#[derive(Clone)]
pub struct FlowControlMetrics {
    requests: Arc<RequestFamilies>,
    levels: Arc<LevelFamilies>,
}

struct RequestFamilies {
    rejected: IntCounterVec,
    dispatched: IntCounterVec,
    inqueue_requests: IntGaugeVec,
    inqueue_seats: IntGaugeVec,
    queue_length: HistogramVec,
    executing_requests: IntGaugeVec,
    executing_seats: IntGaugeVec,
    wait: HistogramVec,
    execution: HistogramVec,
    watch_count: HistogramVec,
    estimated_seats: HistogramVec,
    no_accommodation: IntCounterVec,
}

/// The metrics of one flow schema at one priority level.
pub struct FlowMetrics {
    labels: [String; 2],
    rejected: IntCounterVec,
    dispatched: IntCounter,
    inqueue_requests: IntGauge,
    inqueue_seats: IntGauge,
    queue_length: Histogram,
    executing_requests: IntGauge,
    executing_seats: IntGauge,
    wait: [Histogram; 2],
    execution: [Histogram; 2],
    watch_count: Histogram,
    estimated_seats: Histogram,
    no_accommodation: IntCounter,
}

/// Where the state of the levels is read.
pub trait LevelSource: Send + Sync {
    /// Returns the state of all levels, and the fair fraction.
    fn numbers(&self) -> (Vec<LevelNumbers>, f64);
}

/// The state of a priority level.
pub struct LevelNumbers {
    /// The name of the level.
    pub name: String,
    /// Seats: nominal, at least, at most, at present, and wanted by the last adjustment.
    pub nominal_limit: f64,
    pub lower_limit: f64,
    pub upper_limit: f64,
    pub current_limit: f64,
    pub target: f64,
    /// Seats that were wanted in the last period: at most, on average with its standard deviation, and smoothed.
    pub demand_high_watermark: f64,
    pub demand_average: f64,
    pub demand_deviation: f64,
    pub demand_smoothed: f64,
    /// Virtual time: at present, and of the last dispatch.
    pub progress: f64,
    pub dispatch_progress: f64,
    /// The virtual start of the request that was dispatched last, and the bounds of those that are next in the queues.
    pub latest_start: f64,
    pub next_start: (f64, f64),
    pub next_discounted_start: (f64, f64),
    /// The part of the places in queues, or of the seats, that was taken, over time.
    pub waiting_requests: TimedRatio,
    pub executing_requests: TimedRatio,
    pub seats: TimedRatio,
    pub demanded: TimedRatio,
}

/// The families that are filled when metrics are collected.
struct LevelFamilies {
    source: Mutex<Option<Weak<dyn LevelSource>>>,
    gauges: Vec<(GaugeVec, Value)>,
    bounds: Vec<(GaugeVec, BoundsOf)>,
    fair_fraction: GaugeVec,
    ratios: Vec<(HistogramVec, RatiosOf)>,
}

/// Reads a value of a level.
type Value = fn(&LevelNumbers) -> f64;
/// Reads a minimum and a maximum of a level.
type BoundsOf = fn(&LevelNumbers) -> (f64, f64);
/// Reads the histograms of a level.
type RatiosOf = fn(&LevelNumbers) -> Vec<Ratio<'_>>;

/// A histogram with the labels other than the level's name.
type Ratio<'a> = (Option<&'static str>, &'a TimedRatio);

/// The collector that the registry holds.
struct Reader(Arc<LevelFamilies>);

// === impl FlowControlMetrics ===

impl FlowControlMetrics {
    /// Creates the families, and registers them.
    ///
    /// # Errors
    /// Fails if one of them is registered already.
    pub fn new(families: &mut Families) -> Result<Self, MetricsError> {
        let requests = RequestFamilies {
            rejected: families.counter(&names::REJECTED)?,
            dispatched: families.counter(&names::DISPATCHED)?,
            inqueue_requests: families.gauge(&names::INQUEUE_REQUESTS)?,
            inqueue_seats: families.gauge(&names::INQUEUE_SEATS)?,
            queue_length: families.histogram(&names::QUEUE_LENGTH)?,
            executing_requests: families.gauge(&names::EXECUTING_REQUESTS)?,
            executing_seats: families.gauge(&names::EXECUTING_SEATS)?,
            wait: families.histogram(&names::WAIT)?,
            execution: families.histogram(&names::EXECUTION)?,
            watch_count: families.histogram(&names::WATCH_COUNT)?,
            estimated_seats: families.histogram(&names::ESTIMATED_SEATS)?,
            no_accommodation: families.counter(&names::NO_ACCOMMODATION)?,
        };
        let levels = Arc::new(LevelFamilies::new(families)?);
        families.collect(Box::new(Reader(levels.clone())))?;
        Ok(Self { requests: Arc::new(requests), levels })
    }

    /// Returns the metrics of a flow schema.
    pub fn flow(&self, level: &str, schema: &str) -> FlowMetrics {
        let labels = [level, schema];
        let all = &*self.requests;
        let typed = |family: &HistogramVec, kind: &str| family.with_label_values(&[level, schema, kind]);
        FlowMetrics {
            labels: labels.map(str::to_owned),
            rejected: all.rejected.clone(),
            dispatched: all.dispatched.with_label_values(&labels),
            inqueue_requests: all.inqueue_requests.with_label_values(&labels),
            inqueue_seats: all.inqueue_seats.with_label_values(&labels),
            queue_length: all.queue_length.with_label_values(&labels),
            executing_requests: all.executing_requests.with_label_values(&labels),
            executing_seats: all.executing_seats.with_label_values(&labels),
            wait: ["false", "true"].map(|execute| typed(&all.wait, execute)),
            execution: ["regular", "watch"].map(|kind| typed(&all.execution, kind)),
            watch_count: all.watch_count.with_label_values(&labels),
            estimated_seats: all.estimated_seats.with_label_values(&labels),
            no_accommodation: all.no_accommodation.with_label_values(&labels),
        }
    }

    /// Reads the state of the levels there from now on.
    pub fn read_from(&self, source: Weak<dyn LevelSource>) {
        *self.levels.source.lock() = Some(source);
    }
}

// === impl FlowMetrics ===

impl FlowMetrics {
    /// Counts a request that does not execute.
    pub fn rejected(&self, reason: &'static str) {
        let [level, schema] = &self.labels;
        self.rejected.with_label_values(&[level.as_str(), schema, reason]).inc();
    }

    /// Records the length of a queue that a request has joined.
    pub fn queue_length(&self, length: usize) {
        self.queue_length.observe(count(length));
    }

    /// A request waits.
    pub fn enqueued(&self, seats: usize) {
        self.inqueue_requests.inc();
        self.inqueue_seats.add(signed(seats));
    }

    /// A request waits no longer.
    pub fn dequeued(&self, seats: usize) {
        self.inqueue_requests.dec();
        self.inqueue_seats.sub(signed(seats));
    }

    /// A request begins to execute.
    pub fn started(&self, seats: usize) {
        self.dispatched.inc();
        self.executing_requests.inc();
        self.executing_seats.add(signed(seats));
    }

    /// A request has been executed, and may keep its seats for a while.
    pub fn finished(&self) {
        self.executing_requests.dec();
    }

    /// The seats of a request are free.
    pub fn released(&self, seats: usize) {
        self.executing_seats.sub(signed(seats));
    }

    /// The request to be served next has to wait until there are enough seats for it.
    pub fn no_accommodation(&self) {
        self.no_accommodation.inc();
    }

    /// Records how long a request waited until it was admitted or refused.
    pub fn waited(&self, is_admitted: bool, duration: Duration) {
        let [refused, admitted] = &self.wait;
        let histogram = if is_admitted { admitted } else { refused };
        histogram.observe(duration.as_secs_f64());
    }

    /// Records how long a request executed.
    pub fn executed(&self, is_watch: bool, duration: Duration) {
        let [regular, watch] = &self.execution;
        let histogram = if is_watch { watch } else { regular };
        histogram.observe(duration.as_secs_f64());
    }

    /// Records the number of watches that a write informs.
    pub fn watch_count(&self, watches: usize) {
        self.watch_count.observe(count(watches));
    }

    /// Records the number of seats of a request.
    pub fn estimated(&self, seats: usize) {
        self.estimated_seats.observe(count(seats));
    }
}

// === impl LevelFamilies ===

impl LevelFamilies {
    fn new(families: &mut Families) -> Result<Self, MetricsError> {
        let gauges: [(&Definition, Value); 12] = [
            (&names::CURRENT_R, |level| level.progress),
            (&names::DISPATCH_R, |level| level.dispatch_progress),
            (&names::LATEST_S, |level| level.latest_start),
            (&names::NOMINAL_LIMIT, |level| level.nominal_limit),
            (&names::LOWER_LIMIT, |level| level.lower_limit),
            (&names::UPPER_LIMIT, |level| level.upper_limit),
            (&names::CURRENT_LIMIT, |level| level.current_limit),
            (&names::TARGET, |level| level.target),
            (&names::DEMAND_HIGH_WATERMARK, |level| level.demand_high_watermark),
            (&names::DEMAND_AVERAGE, |level| level.demand_average),
            (&names::DEMAND_DEVIATION, |level| level.demand_deviation),
            (&names::DEMAND_SMOOTHED, |level| level.demand_smoothed),
        ];
        let mut described = Vec::new();
        for (definition, value) in gauges {
            described.push((families.unregistered_float_gauge(definition)?, value));
        }
        let next_start: BoundsOf = |level| level.next_start;
        let next_discounted_start: BoundsOf = |level| level.next_discounted_start;
        let bounds = vec![
            (families.unregistered_float_gauge(&names::NEXT_S)?, next_start),
            (families.unregistered_float_gauge(&names::NEXT_DISCOUNTED_S)?, next_discounted_start),
        ];
        let demanded: RatiosOf = |level| vec![(None, &level.demanded)];
        let seats: RatiosOf = |level| vec![(Some("executing"), &level.seats)];
        let requests: RatiosOf = |level| {
            vec![(Some("waiting"), &level.waiting_requests), (Some("executing"), &level.executing_requests)]
        };
        let ratios = vec![
            (families.unregistered_histogram(&names::DEMAND)?, demanded),
            (families.unregistered_histogram(&names::SEAT_UTILIZATION)?, seats),
            (families.unregistered_histogram(&names::REQUEST_UTILIZATION)?, requests),
        ];
        let fair_fraction = families.unregistered_float_gauge(&names::FAIR_FRACTION)?;
        Ok(Self { source: Mutex::default(), gauges: described, bounds, fair_fraction, ratios })
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let source = self.source.lock().clone();
        let Some(source) = source.and_then(|source| source.upgrade()) else { return Vec::new() };
        let (levels, fair_fraction) = source.numbers();
        self.fair_fraction.with_label_values::<&str>(&[]).set(fair_fraction);
        for (family, value) in &self.gauges {
            // Levels that no longer exist disappear.
            family.reset();
            for level in &levels {
                family.with_label_values(&[&level.name]).set(value(level));
            }
        }
        for (family, value) in &self.bounds {
            family.reset();
            for level in &levels {
                let (min, max) = value(level);
                family.with_label_values(&[level.name.as_str(), "min"]).set(min);
                family.with_label_values(&[level.name.as_str(), "max"]).set(max);
            }
        }
        let gauges =
            self.gauges.iter().map(|(family, _)| family).chain(self.bounds.iter().map(|(family, _)| family));
        let mut collected: Vec<MetricFamily> =
            gauges.chain([&self.fair_fraction]).flat_map(Collector::collect).collect();
        collected
            .extend(self.ratios.iter().filter_map(|(family, ratios)| histograms(family, *ratios, &levels)));
        collected
    }
}

/// Returns the family of the histograms of all levels.
fn histograms(
    family: &HistogramVec,
    ratios: fn(&LevelNumbers) -> Vec<Ratio<'_>>,
    levels: &[LevelNumbers],
) -> Option<MetricFamily> {
    let description = family.desc().first().copied().cloned()?;
    let metrics = levels.iter().flat_map(|level| {
        let all = ratios(level).into_iter();
        all.map(|(phase, ratio)| metric(&level.name, phase, ratio)).collect::<Vec<_>>()
    });
    let mut filled = MetricFamily::default();
    filled.set_name(description.fq_name);
    filled.set_help(description.help);
    filled.set_field_type(MetricType::HISTOGRAM);
    filled.set_metric(metrics.collect());
    Some(filled)
}

fn metric(level: &str, phase: Option<&str>, ratio: &TimedRatio) -> Metric {
    let labels = phase.map(|phase| ("phase", phase)).into_iter().chain([("priority_level", level)]);
    let labels = labels.map(|(name, value)| {
        let mut pair = LabelPair::default();
        pair.set_name(name.to_owned());
        pair.set_value(value.to_owned());
        pair
    });
    let mut metric = Metric::from_label(labels.collect());
    let (buckets, count, sum) = ratio.cumulative();
    let buckets = buckets.into_iter().map(|(bound, count)| {
        let mut bucket = Bucket::default();
        bucket.set_upper_bound(bound);
        bucket.set_cumulative_count(count);
        bucket
    });
    let mut histogram = HistogramProto::default();
    histogram.set_bucket(buckets.collect());
    histogram.set_sample_count(count);
    histogram.set_sample_sum(sum);
    metric.set_histogram(histogram);
    metric
}

impl Collector for Reader {
    fn desc(&self) -> Vec<&Desc> {
        let families = &*self.0;
        let gauges = families.gauges.iter().map(|(family, _)| family);
        let gauges = gauges.chain(families.bounds.iter().map(|(family, _)| family));
        let mut all: Vec<&Desc> = gauges.chain([&families.fair_fraction]).flat_map(Collector::desc).collect();
        all.extend(families.ratios.iter().flat_map(|(family, _)| family.desc()));
        all
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.0.collect()
    }
}

fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
