//! The demand of a priority level for seats, observed over time.
//!
//! Times are durations since the start of the server.
//!
//! Kubernetes concept: `Integrator` in `k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing`.

use std::time::Duration;

/// By how much the smoothed demand decays in one period; half of it is gone after five minutes.
const SMOOTHING: f64 = 0.977;

/// Integrates a value over time.
#[derive(Debug, Default)]
pub(super) struct Integrator {
    last: Duration,
    value: f64,
    seconds: f64,
    integral: f64,
    integral_of_squares: f64,
    max: f64,
}

/// The observations of an integrator in a period.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Observed {
    seconds: f64,
    average: f64,
    deviation: f64,
    max: f64,
}

/// The demand of a priority level for seats.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct SeatDemand {
    /// Average in the last period.
    pub average: f64,
    /// Standard deviation in the last period.
    pub deviation: f64,
    /// Maximum in the last period.
    pub high_watermark: f64,
    /// Rises at once, and decays slowly.
    pub smoothed: f64,
}

// === impl Integrator ===

impl Integrator {
    /// Sets the value from this time on.
    pub(super) fn set(&mut self, now: Duration, value: f64) {
        self.advance(now);
        self.value = value;
        self.max = self.max.max(value);
    }

    /// Returns what was observed since the last call, and begins a new period.
    pub(super) fn take(&mut self, now: Duration) -> Observed {
        self.advance(now);
        let average = if self.seconds > 0.0 { self.integral / self.seconds } else { 0.0 };
        let variance = if self.seconds > 0.0 {
            self.integral_of_squares / self.seconds - average * average
        } else {
            0.0
        };
        let observed =
            Observed { seconds: self.seconds, average, deviation: variance.max(0.0).sqrt(), max: self.max };
        *self = Self { last: self.last, value: self.value, max: self.value, ..Self::default() };
        observed
    }

    fn advance(&mut self, now: Duration) {
        let seconds = now.saturating_sub(self.last).as_secs_f64();
        self.last = self.last.max(now);
        self.seconds += seconds;
        self.integral += self.value * seconds;
        self.integral_of_squares += self.value * self.value * seconds;
    }
}

// === impl SeatDemand ===

impl SeatDemand {
    /// Includes the observations of another period.
    pub(super) fn update(&mut self, observed: Observed) {
        self.high_watermark = observed.max.round();
        if observed.seconds <= 0.0 {
            return;
        }
        let envelope = observed.average + observed.deviation;
        self.average = observed.average;
        self.deviation = observed.deviation;
        self.smoothed = envelope.max(SMOOTHING * self.smoothed + (1.0 - SMOOTHING) * envelope);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn demand_rises_at_once_and_decays_slowly() {
        let mut integrator = Integrator::default();
        let mut demand = SeatDemand::default();
        integrator.set(at(0), 8.0);
        integrator.set(at(5), 0.0);
        demand.update(integrator.take(at(10)));
        assert_eq!((demand.average, demand.deviation, demand.high_watermark), (4.0, 4.0, 8.0));
        assert!((demand.smoothed - 8.0).abs() < 1e-9);
        demand.update(integrator.take(at(20)));
        assert_eq!((demand.average, demand.high_watermark), (0.0, 0.0));
        assert!((demand.smoothed - 8.0 * SMOOTHING).abs() < 1e-9);
        for period in 3..=31 {
            demand.update(integrator.take(at(period * 10)));
        }
        assert!(
            (3.9..4.1).contains(&demand.smoothed),
            "after five minutes half is left: {}",
            demand.smoothed
        );
    }

    #[test]
    fn a_period_without_time_changes_only_the_maximum() {
        let mut integrator = Integrator::default();
        let mut demand = SeatDemand { smoothed: 3.0, ..SeatDemand::default() };
        integrator.set(at(0), 5.0);
        demand.update(integrator.take(at(0)));
        assert_eq!((demand.smoothed, demand.high_watermark), (3.0, 5.0));
    }
}
