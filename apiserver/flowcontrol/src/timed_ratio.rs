//! Histograms that observe a value at the end of every nanosecond.
//!
//! Kubernetes concept: timing histograms in `k8s.io/component-base/metrics`.

use std::time::Duration;

/// A histogram of how long a ratio had which value, in nanoseconds.
#[derive(Clone, Debug)]
pub struct TimedRatio {
    bounds: &'static [f64],
    last: Duration,
    value: f64,
    denominator: f64,
    /// Nanoseconds in each bucket; the last one has no bound.
    buckets: Vec<u64>,
    sum: f64,
}

// === impl TimedRatio ===

impl TimedRatio {
    /// Returns a histogram with these upper bounds, whose value is 0.
    pub fn new(bounds: &'static [f64], now: Duration) -> Self {
        Self { bounds, last: now, value: 0.0, denominator: 1.0, buckets: vec![0; bounds.len() + 1], sum: 0.0 }
    }

    /// Sets the value from this time on.
    pub fn set(&mut self, now: Duration, value: f64) {
        self.advance(now);
        self.value = value;
    }

    /// Sets the number that the value is divided by.
    pub fn set_denominator(&mut self, now: Duration, denominator: f64) {
        self.advance(now);
        self.denominator = denominator.max(1.0);
    }

    /// Includes the time until now.
    pub fn advance(&mut self, now: Duration) {
        let spent = u64::try_from(now.saturating_sub(self.last).as_nanos()).unwrap_or(u64::MAX);
        if spent == 0 {
            return;
        }
        self.last = now;
        let ratio = self.value / self.denominator;
        let bucket = self.bounds.iter().position(|bound| ratio <= *bound).unwrap_or(self.bounds.len());
        if let Some(bucket) = self.buckets.get_mut(bucket) {
            *bucket = bucket.saturating_add(spent);
        }
        #[expect(clippy::cast_precision_loss, reason = "the time between two changes is short")]
        let weighted = ratio * spent as f64;
        self.sum += weighted;
    }

    /// Returns the upper bounds with their cumulative counts, then the total count and sum.
    pub fn cumulative(&self) -> (Vec<(f64, u64)>, u64, f64) {
        let mut total = 0_u64;
        let mut cumulative = Vec::with_capacity(self.bounds.len());
        for (bound, count) in self.bounds.iter().zip(&self.buckets) {
            total = total.saturating_add(*count);
            cumulative.push((*bound, total));
        }
        (cumulative, total.saturating_add(self.buckets.last().copied().unwrap_or_default()), self.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_histogram_counts_nanoseconds() {
        let mut ratio = TimedRatio::new(&[0.0, 0.5, 1.0], at(0));
        ratio.set_denominator(at(0), 4.0);
        ratio.set(at(1), 2.0);
        ratio.set(at(3), 6.0);
        ratio.advance(at(4));
        let (buckets, count, sum) = ratio.cumulative();
        assert_eq!(buckets, [(0.0, 1_000_000_000), (0.5, 3_000_000_000), (1.0, 3_000_000_000)]);
        assert_eq!((count, sum), (4_000_000_000, 2.5e9));
    }
}
