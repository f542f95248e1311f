//! Durations in Go's notation: `1h30m`, `300ms`, `-1.5s`, `0`.
//!
//! Kubernetes concept: `time.ParseDuration` and `time.Duration.String` of Go, which flags, configuration files and
//! objects use.

use std::time::Duration;

use crate::go_text::quote_for_time;

const UNITS: [(&str, u64); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    // The Greek letter, beside the sign above.
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];
/// Further digits of a fraction are below a nanosecond.
const MAX_FRACTION_DIGITS: usize = 18;

/// Error of a text that is not a duration, in Go's words. Not retryable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GoDurationError {
    /// It has another form, or is too large.
    #[error("time: invalid duration {}", quote_for_time(.0))]
    Invalid(String),
    /// A number has no unit.
    #[error("time: missing unit in duration {}", quote_for_time(.0))]
    NoUnit(String),
    /// A unit does not exist.
    #[error("time: unknown unit {} in duration {}", quote_for_time(.unit), quote_for_time(.text))]
    UnknownUnit {
        /// The unit.
        unit: String,
        /// The whole text.
        text: String,
    },
}

/// Parses a duration, in nanoseconds.
///
/// # Errors
/// Fails if the text is not a duration, or does not fit.
pub fn parse(text: &str) -> Result<i64, GoDurationError> {
    let invalid = || GoDurationError::Invalid(text.to_owned());
    let (is_negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut total: i128 = 0;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(number_end);
        let unit_end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, next) = after.split_at(unit_end);
        let scale = UNITS.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale);
        let (whole, fraction) = split(number).ok_or_else(invalid)?;
        let scale = scale.ok_or_else(|| match unit {
            "" => GoDurationError::NoUnit(text.to_owned()),
            unit => GoDurationError::UnknownUnit { unit: unit.to_owned(), text: text.to_owned() },
        })?;
        total += amount(whole, fraction, scale).ok_or_else(invalid)?;
        if total > i128::from(i64::MAX) + i128::from(is_negative) {
            return Err(invalid());
        }
        rest = next;
    }
    i64::try_from(if is_negative { -total } else { total }).map_err(|_| invalid())
}

/// Splits a number at its point. Returns `None` if it has no digits, or several points.
fn split(number: &str) -> Option<(&str, &str)> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let is_none = (whole.is_empty() && fraction.is_empty()) || fraction.contains('.');
    (!is_none).then_some((whole, fraction))
}

/// Returns a number of a unit in nanoseconds.
fn amount(whole: &str, fraction: &str, scale: u64) -> Option<i128> {
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let fraction = fraction.get(..fraction.len().min(MAX_FRACTION_DIGITS))?;
    let part: i128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
    let place = 10_i128.pow(u32::try_from(fraction.len()).ok()?);
    Some(i128::from(whole) * i128::from(scale) + part * i128::from(scale) / place)
}

/// Formats a duration: `1.5s`, `120.5ms`, `1m0.5s`.
pub fn format(duration: Duration) -> String {
    let nanoseconds = duration.as_nanos();
    let (number, unit) = match nanoseconds {
        0 => return "0s".to_owned(),
        1..1_000 => return format!("{nanoseconds}ns"),
        1_000..1_000_000 => (decimal(nanoseconds, 1_000), "µs"),
        1_000_000..1_000_000_000 => (decimal(nanoseconds, 1_000_000), "ms"),
        _ => {
            let minutes = duration.as_secs() / 60;
            let seconds = decimal(nanoseconds % 60_000_000_000, 1_000_000_000);
            return match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{seconds}s"),
                (0, minutes) => format!("{minutes}m{seconds}s"),
                (hours, minutes) => format!("{hours}h{minutes}m{seconds}s"),
            };
        }
    };
    format!("{number}{unit}")
}

/// Formats a number of nanoseconds in a unit, without zeros at the end.
fn decimal(nanoseconds: u128, unit: u128) -> String {
    let digits = unit.ilog10() as usize;
    let text = format!("{}.{:0digits$}", nanoseconds / unit, nanoseconds % unit);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        for (text, nanoseconds) in [
            ("0", 0),
            ("-0", 0),
            ("1h30m", 5400 * SECOND),
            ("-1.5s", -1_500_000_000),
            ("+5s", 5 * SECOND),
            ("1.s.5ms", 1_000_500_000),
            ("1us2µs3μs", 6_000),
            ("0.0000000000000000000001h", 0),
            ("00000000000000000000001s", SECOND),
            ("-9223372036854775808ns", i64::MIN),
            ("9223372036854775807ns", i64::MAX),
        ] {
            assert_eq!(parse(text), Ok(nanoseconds), "{text}");
        }
        for (text, error) in [
            ("", "time: invalid duration \"\""),
            ("-", "time: invalid duration \"-\""),
            ("1", "time: missing unit in duration \"1\""),
            ("s", "time: invalid duration \"s\""),
            (".s", "time: invalid duration \".s\""),
            ("1x", "time: unknown unit \"x\" in duration \"1x\""),
            ("1.2.3s", "time: invalid duration \"1.2.3s\""),
            ("9223372036854775808ns", "time: invalid duration \"9223372036854775808ns\""),
            ("99999999999999999999s", "time: invalid duration \"99999999999999999999s\""),
            ("300000000h", "time: invalid duration \"300000000h\""),
        ] {
            assert_eq!(parse(text).map_err(|error| error.to_string()), Err(error.to_owned()), "{text}");
        }
    }

    #[test]
    fn durations_are_written_as_go_writes_them() {
        for (duration, text) in [
            (Duration::ZERO, "0s"),
            (Duration::from_nanos(999), "999ns"),
            (Duration::from_nanos(1_500), "1.5µs"),
            (Duration::from_micros(120_500), "120.5ms"),
            (Duration::from_millis(1_500), "1.5s"),
            (Duration::from_millis(60_500), "1m0.5s"),
            (Duration::from_mins(90), "1h30m0s"),
        ] {
            assert_eq!(format(duration), text);
        }
    }
}
