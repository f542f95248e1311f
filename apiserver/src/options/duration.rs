//! Durations in Go's format.

use std::time::Duration;

const UNITS: [(&str, u64); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Error of a text that is no duration, or a negative one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no duration such as 300ms, 30s, 5m or 1h30m")]
pub struct DurationError(String);

/// Parses a duration: `300ms`, `1.5h`, `1h30m`, `0`.
///
/// # Errors
/// Fails if the text is not a duration, or is negative.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let invalid = || DurationError(text.to_owned());
    let mut total = Duration::ZERO;
    let mut rest = text;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| c != '.' && !c.is_ascii_digit()).ok_or_else(invalid)?;
        let (number, after) = rest.split_at(number_end);
        let unit_end = after.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(after.len());
        let (unit, next) = after.split_at(unit_end);
        let nanoseconds = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(invalid)?.1;
        total = part(number, nanoseconds).and_then(|part| total.checked_add(part)).ok_or_else(invalid)?;
        rest = next;
    }
    if text.is_empty() { Err(invalid()) } else { Ok(total) }
}

/// Returns `number` times a unit in nanoseconds.
fn part(number: &str, unit_nanoseconds: u64) -> Option<Duration> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let mut nanoseconds = whole.checked_mul(unit_nanoseconds)?;
    let mut place = unit_nanoseconds;
    for digit in fraction.bytes() {
        place /= 10;
        nanoseconds = nanoseconds.checked_add(place.checked_mul(u64::from(digit - b'0'))?)?;
    }
    Some(Duration::from_nanos(nanoseconds))
}
