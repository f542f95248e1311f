//! The metrics that are shown: without those that are disabled, and with the allowed values of labels alone.
//!
//! Metrics count as if all were shown, so that counting costs nothing more; what is not allowed is merged when metrics
//! are read.
//!
//! Kubernetes concept: `MetricLabelAllowList` and `SetDisabledMetrics` of `k8s.io/component-base/metrics`.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

use prometheus::IntCounter;
use prometheus::core::Collector as _;
use prometheus::proto::{Counter, Gauge, Metric, MetricFamily, MetricType};
use registry_core::metrics::{Families, MetricsError};

use crate::options::AllowedLabels;

use super::names;

/// The value of a label whose own value is not allowed.
const UNEXPECTED: &str = "unexpected";

/// Chooses what is shown.
#[derive(Default)]
pub(super) struct Exposition {
    disabled: HashSet<String>,
    /// The allowed values, by metric and by label.
    allowed: HashMap<String, HashMap<String, HashSet<String>>>,
}

/// Counters of what is not shown.
pub(super) struct ExpositionMetrics {
    disabled: IntCounter,
    unexpected: IntCounter,
}

// === impl ExpositionMetrics ===

impl ExpositionMetrics {
    pub(super) fn new(families: &mut Families) -> Result<Self, MetricsError> {
        // No metric is hidden, as there is no older release whose metrics could be.
        let _ = families.counter(&names::HIDDEN_METRICS)?.with_label_values::<&str>(&[]);
        Ok(Self {
            disabled: families.counter(&names::DISABLED_METRICS)?.with_label_values::<&str>(&[]),
            unexpected: families.counter(&names::UNEXPECTED_LABELS)?.with_label_values::<&str>(&[]),
        })
    }
}

// === impl Exposition ===

impl Exposition {
    /// Creates the choice, and counts what it disables.
    pub(super) fn new(disabled: &[String], allowed: &AllowedLabels, metrics: &ExpositionMetrics) -> Self {
        let disabled: HashSet<String> = disabled.iter().filter(|name| !name.is_empty()).cloned().collect();
        metrics.disabled.inc_by(disabled.len() as u64);
        let mut by_metric: HashMap<String, HashMap<String, HashSet<String>>> = HashMap::new();
        for (metric, label, values) in allowed.entries() {
            let labels = by_metric.entry(metric.to_owned()).or_default();
            labels.insert(label.to_owned(), values.iter().cloned().collect());
        }
        Self { disabled, allowed: by_metric }
    }

    /// Removes and merges what is not shown. Counts the values that are not allowed.
    pub(super) fn apply(&self, families: &mut Vec<MetricFamily>, metrics: &ExpositionMetrics) {
        families.retain(|family| !self.disabled.contains(family.name()));
        let mut unexpected = 0;
        for family in families.iter_mut() {
            if let Some(allowed) = self.allowed.get(family.name()) {
                unexpected += constrain(family, allowed);
            }
        }
        metrics.unexpected.inc_by(unexpected);
        for family in metrics.unexpected.collect() {
            // It was read before it was counted.
            if let Some(shown) = families.iter_mut().find(|shown| shown.name() == family.name()) {
                *shown = family;
            }
        }
    }
}

/// Replaces the values that are not allowed, and merges the metrics whose labels are then equal. Returns how many metrics
/// had such a value.
fn constrain(family: &mut MetricFamily, allowed: &HashMap<String, HashSet<String>>) -> u64 {
    let kind = family.get_field_type();
    let mut unexpected = 0;
    let mut merged: BTreeMap<Vec<(String, String)>, Metric> = BTreeMap::new();
    for mut metric in family.take_metric() {
        let mut is_unexpected = false;
        let mut labels = metric.take_label();
        for label in &mut labels {
            let values = allowed.get(label.name());
            if values.is_some_and(|values| !values.contains(label.value())) {
                label.set_value(UNEXPECTED.to_owned());
                is_unexpected = true;
            }
        }
        unexpected += u64::from(is_unexpected);
        let key = labels.iter().map(|label| (label.name().to_owned(), label.value().to_owned())).collect();
        metric.set_label(labels);
        match merged.entry(key) {
            Entry::Vacant(place) => {
                place.insert(metric);
            }
            Entry::Occupied(mut place) => add(kind, place.get_mut(), &metric),
        }
    }
    family.set_metric(merged.into_values().collect());
    unexpected
}

/// Adds a metric to another one of the same family.
fn add(kind: MetricType, sum: &mut Metric, other: &Metric) {
    match kind {
        MetricType::COUNTER => {
            let mut counter = Counter::default();
            counter.set_value(sum.get_counter().get_value() + other.get_counter().get_value());
            sum.set_counter(counter);
        }
        MetricType::GAUGE => {
            let mut gauge = Gauge::default();
            gauge.set_value(sum.get_gauge().get_value() + other.get_gauge().get_value());
            sum.set_gauge(gauge);
        }
        MetricType::HISTOGRAM => {
            let mut histogram = sum.get_histogram().clone();
            let added = other.get_histogram();
            histogram.set_sample_count(histogram.get_sample_count() + added.get_sample_count());
            histogram.set_sample_sum(histogram.get_sample_sum() + added.get_sample_sum());
            let mut buckets = histogram.get_bucket().to_vec();
            for (bucket, added) in buckets.iter_mut().zip(added.get_bucket()) {
                bucket.set_cumulative_count(bucket.cumulative_count() + added.cumulative_count());
            }
            histogram.set_bucket(buckets);
            sum.set_histogram(histogram);
        }
        // The server has none of these.
        MetricType::SUMMARY | MetricType::UNTYPED => {}
    }
}

#[cfg(test)]
mod tests {
    use registry_core::metrics::Definition;

    use super::*;

    #[test]
    fn values_that_are_not_allowed_are_merged_and_counted_and_disabled_metrics_are_left_out() {
        let mut families = Families::default();
        let metrics = ExpositionMetrics::new(&mut families).unwrap();
        let requests = families.counter(&Definition::new("requests_total", "r", &["code", "verb"])).unwrap();
        requests.with_label_values(&["200", "get"]).inc_by(3);
        requests.with_label_values(&["404", "get"]).inc_by(4);
        requests.with_label_values(&["500", "get"]).inc_by(5);
        let seconds = Definition::new("seconds", "s", &["verb"]).with_buckets(&[1.0, 2.0]);
        let seconds = families.histogram(&seconds).unwrap();
        seconds.with_label_values(&["get"]).observe(0.5);
        seconds.with_label_values(&["list"]).observe(1.5);
        families.gauge(&Definition::new("open", "o", &["kind"])).unwrap().with_label_values(&["a"]).set(1);

        let allowed = "\"requests_total,code=200\",\"seconds,verb=\"".parse().unwrap();
        let exposition = Exposition::new(&["open".to_owned(), String::new()], &allowed, &metrics);
        let mut shown = families.gather();
        exposition.apply(&mut shown, &metrics);
        let text = Families::encode(&shown).unwrap();
        for line in [
            "requests_total{code=\"200\",verb=\"get\"} 3",
            "requests_total{code=\"unexpected\",verb=\"get\"} 9",
            "seconds_bucket{verb=\"unexpected\",le=\"1\"} 1",
            "seconds_bucket{verb=\"unexpected\",le=\"2\"} 2",
            "seconds_sum{verb=\"unexpected\"} 2",
            "seconds_count{verb=\"unexpected\"} 2",
            "cardinality_enforcement_unexpected_categorizations_total 4",
            "disabled_metrics_total 1",
            "hidden_metrics_total 0",
        ] {
            assert!(text.lines().any(|shown| shown == line), "{line} is missing:\n{text}");
        }
        assert!(!text.contains("\nopen"), "{text}");
        assert!(!text.contains("404"), "{text}");
    }
}
