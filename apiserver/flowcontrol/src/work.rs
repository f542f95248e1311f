//! The work of a request: the seats that it occupies, and for how long.
//!
//! Kubernetes concept: `WorkEstimate` and `SeatSeconds` in `k8s.io/apiserver/pkg/util/flowcontrol/request`.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Sub, SubAssign};
use std::time::Duration;

/// Units of [`SeatSeconds`] in one seat-second.
const UNITS: i128 = 100_000_000;
/// The same number, for the text form and for products with fractions.
const UNITS_PER_SECOND: f64 = 1e8;

/// A seat occupied for a time, as a fixed-point number. Also the unit of the progress of virtual time. Wide enough never
/// to overflow, so that virtual time never has to be wound back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SeatSeconds(i128);

/// The seats that a request occupies while it executes, and afterwards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WorkEstimate {
    /// Seats during execution.
    pub initial_seats: usize,
    /// Seats after execution, while watchers are informed.
    pub final_seats: usize,
    /// Time for which the seats are kept after execution. The client does not wait for it.
    pub additional_latency: Duration,
}

// === impl SeatSeconds ===

impl SeatSeconds {
    pub(crate) const ZERO: Self = Self(0);

    /// Returns the product of a number of seats and a duration.
    #[expect(clippy::cast_possible_truncation, reason = "the conversion saturates")]
    #[expect(clippy::cast_precision_loss, reason = "durations of one step are short")]
    pub(crate) fn new(seats: f64, duration: Duration) -> Self {
        Self((seats * duration.as_nanos() as f64 / (1e9 / UNITS_PER_SECOND)).round() as i128)
    }

    /// Returns for how long this number of seats amounts to this.
    pub(crate) fn per_seat(self, seats: usize) -> Duration {
        let seats = u32::try_from(seats).unwrap_or(u32::MAX);
        Duration::try_from_secs_f64(self.as_f64() / f64::from(seats)).unwrap_or_default()
    }

    /// Returns the number of seat-seconds.
    #[expect(clippy::cast_precision_loss, reason = "for display")]
    pub(crate) fn as_f64(self) -> f64 {
        self.0 as f64 / UNITS_PER_SECOND
    }
}

impl Add for SeatSeconds {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl Sub for SeatSeconds {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl AddAssign for SeatSeconds {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl SubAssign for SeatSeconds {
    fn sub_assign(&mut self, other: Self) {
        *self = *self - other;
    }
}

impl Sum for SeatSeconds {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for SeatSeconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let units = self.0.unsigned_abs();
        let scale = UNITS.unsigned_abs();
        write!(f, "{sign}{}.{:08}ss", units / scale, units % scale)
    }
}

// === impl WorkEstimate ===

impl WorkEstimate {
    /// Returns the estimate of a request that occupies this many seats while it executes.
    pub(crate) fn seats(initial_seats: usize) -> Self {
        Self { initial_seats, ..Self::default() }
    }

    /// Returns the number of seats that are reserved for the request.
    pub(crate) fn max_seats(&self) -> usize {
        self.initial_seats.max(self.final_seats)
    }

    /// Returns the work after execution.
    pub(crate) fn final_work(&self) -> SeatSeconds {
        SeatSeconds::new(count(self.final_seats), self.additional_latency)
    }
}

/// Returns a number of seats as a factor.
pub(crate) fn count(seats: usize) -> f64 {
    f64::from(u32::try_from(seats).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seat_seconds_are_written_as_kubernetes_writes_them() {
        let work = SeatSeconds::new(2.5, Duration::from_millis(3));
        assert_eq!(work.to_string(), "0.00750000ss");
        assert_eq!(
            (work + work + SeatSeconds::new(1.0, Duration::from_secs(12))).to_string(),
            "12.01500000ss"
        );
        assert_eq!((SeatSeconds::ZERO - work).to_string(), "-0.00750000ss");
        let wide =
            WorkEstimate { initial_seats: 1, final_seats: 3, additional_latency: Duration::from_millis(5) };
        assert_eq!((wide.max_seats(), wide.final_work().per_seat(1)), (3, Duration::from_millis(15)));
    }
}
