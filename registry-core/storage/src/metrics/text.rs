//! Prometheus' text format, with numbers as Go writes them.
//!
//! The bound of a bucket is a label: `le="1e+06"` and `le="1000000"` are two series, and queries name that of Kubernetes.
//!
//! Kubernetes concept: `github.com/prometheus/common/expfmt`.

use std::fmt;

use prometheus::Error;
use prometheus::proto::{LabelPair, MetricFamily, MetricType};

use registry_meta::go_text::float;

/// A metric cannot be registered or encoded: a programming error.
pub type MetricsError = prometheus::Error;

/// Expected number of bytes of a sample.
const SAMPLE_BYTES: usize = 128;

/// Labels in braces; nothing if there are none.
struct Labels<'l> {
    pairs: &'l [LabelPair],
    /// The bound of a bucket.
    bound: Option<f64>,
}

/// A text in which the characters that end it are escaped.
struct Escaped<'t> {
    text: &'t str,
    has_quotes: bool,
}

/// Writes families of metrics.
///
/// # Errors
/// Fails if there is a metric of a type that no server has.
pub(super) fn write(families: &[MetricFamily]) -> Result<String, MetricsError> {
    let samples: usize = families.iter().map(|family| family.get_metric().len()).sum();
    let mut text = String::with_capacity(samples * SAMPLE_BYTES);
    for family in families {
        write_family(family, &mut text)?;
    }
    Ok(text)
}

fn write_family(family: &MetricFamily, text: &mut String) -> Result<(), MetricsError> {
    let (name, help) = (family.name(), family.help());
    let kind = match family.get_field_type() {
        MetricType::COUNTER => "counter",
        MetricType::GAUGE => "gauge",
        MetricType::HISTOGRAM => "histogram",
        MetricType::SUMMARY | MetricType::UNTYPED => {
            return Err(Error::Msg(format!("{name} is neither a counter, a gauge nor a histogram")));
        }
    };
    let mut line = |content: fmt::Arguments<'_>| {
        // Writing to a text does not fail.
        let _ = fmt::write(text, content);
        text.push('\n');
    };
    if !help.is_empty() {
        line(format_args!("# HELP {name} {}", Escaped { text: help, has_quotes: false }));
    }
    line(format_args!("# TYPE {name} {kind}"));
    for metric in family.get_metric() {
        let labels = |bound| Labels { pairs: metric.get_label(), bound };
        let value = match family.get_field_type() {
            MetricType::COUNTER => metric.get_counter().get_value(),
            MetricType::GAUGE => metric.get_gauge().get_value(),
            _ => {
                let histogram = metric.get_histogram();
                let (count, sum) = (whole(histogram.get_sample_count()), histogram.get_sample_sum());
                for bucket in histogram.get_bucket().iter().filter(|bucket| bucket.upper_bound().is_finite())
                {
                    let (bound, number) = (bucket.upper_bound(), whole(bucket.cumulative_count()));
                    line(format_args!("{name}_bucket{} {number}", labels(Some(bound))));
                }
                line(format_args!("{name}_bucket{} {count}", labels(Some(f64::INFINITY))));
                line(format_args!("{name}_sum{} {}", labels(None), float(sum)));
                line(format_args!("{name}_count{} {count}", labels(None)));
                continue;
            }
        };
        line(format_args!("{name}{} {}", labels(None), float(value)));
    }
    Ok(())
}

/// Returns a count as a number: above 2^53 the nearest, as in Go.
#[expect(clippy::cast_precision_loss, reason = "the format has floating-point numbers only")]
fn whole(count: u64) -> String {
    float(count as f64)
}

// === impl Labels ===

impl fmt::Display for Labels<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = '{';
        for pair in self.pairs {
            let value = Escaped { text: pair.value(), has_quotes: true };
            write!(formatter, "{separator}{}=\"{value}\"", pair.name())?;
            separator = ',';
        }
        if let Some(bound) = self.bound {
            write!(formatter, "{separator}le=\"{}\"", float(bound))?;
            separator = ',';
        }
        if separator == ',' { formatter.write_str("}") } else { Ok(()) }
    }
}

// === impl Escaped ===

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_escaped = |letter| matches!(letter, '\\' | '\n') || (self.has_quotes && letter == '"');
        let mut rest = self.text;
        while let Some((plain, after)) = rest.find(is_escaped).and_then(|at| rest.split_at_checked(at)) {
            let mut letters = after.chars();
            formatter.write_str(plain)?;
            formatter.write_str(match letters.next() {
                Some('\n') => "\\n",
                Some('"') => "\\\"",
                _ => "\\\\",
            })?;
            rest = letters.as_str();
        }
        formatter.write_str(rest)
    }
}

#[cfg(test)]
mod tests {
    use prometheus::{GaugeVec, HistogramOpts, HistogramVec, Opts, Registry};

    use super::*;

    #[test]
    fn a_histogram_and_a_gauge_are_written_as_kubernetes_writes_them() {
        let registry = Registry::new();
        let options = HistogramOpts::new("sizes", "Sizes, \"quoted\"\\").buckets(vec![0.5, 1e6]);
        let sizes = HistogramVec::new(options, &["verb"]).unwrap();
        registry.register(Box::new(sizes.clone())).unwrap();
        let gauge = GaugeVec::new(Opts::new("time", "Time."), &["a"]).unwrap();
        registry.register(Box::new(gauge.clone())).unwrap();
        gauge.with_label_values(&["x\n\"y\"\\"]).set(1_795_694_308.0);
        sizes.with_label_values(&["GET"]).observe(0.25);
        sizes.with_label_values(&["GET"]).observe(2e6);
        let expected = r#"# HELP sizes Sizes, "quoted"\\
# TYPE sizes histogram
sizes_bucket{verb="GET",le="0.5"} 1
sizes_bucket{verb="GET",le="1e+06"} 1
sizes_bucket{verb="GET",le="+Inf"} 2
sizes_sum{verb="GET"} 2.00000025e+06
sizes_count{verb="GET"} 2
# HELP time Time.
# TYPE time gauge
time{a="x\n\"y\"\\"} 1.795694308e+09
"#;
        assert_eq!(write(&registry.gather()).unwrap(), expected);
    }
}
