//! Points and spans of time in Go's notation.

use std::cmp::Ordering;
use std::fmt;

use jiff::{SignedDuration, civil};
use registry_meta::go_duration;

use super::{EvaluationError, fail};

/// A point in time, with the offset it was written with.
#[derive(Clone, Copy, Debug)]
pub struct Timestamp {
    since_epoch: SignedDuration,
    offset_seconds: i32,
}

const NANOSECONDS: i64 = 1_000_000_000;
/// 0001-01-01T00:00:00Z, the earliest timestamp, in seconds since 1970.
const FIRST_SECOND: i64 = -62_135_596_800;
/// 9999-12-31T23:59:59Z, the second of the latest timestamp.
const LAST_SECOND: i64 = 253_402_300_799;
const EPOCH: civil::DateTime = civil::DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

// === impl Timestamp ===

impl PartialEq for Timestamp {
    fn eq(&self, other: &Self) -> bool {
        self.since_epoch == other.since_epoch
    }
}

impl Timestamp {
    /// A point in time by the time since 1970; `None` outside of the years 1 to 9999.
    pub fn new(since_epoch: SignedDuration) -> Option<Self> {
        let time = Self { since_epoch, offset_seconds: 0 };
        (FIRST_SECOND..=LAST_SECOND).contains(&time.seconds()).then_some(time)
    }

    /// A point in time by the seconds since 1970.
    pub(crate) fn from_seconds(seconds: i64) -> Option<Self> {
        Self::new(SignedDuration::from_secs(seconds))
    }

    /// Reads a timestamp as of RFC 3339.
    pub fn parse(text: &str) -> Option<Self> {
        let (date, rest) = text.split_at_checked(10)?;
        let rest = rest.strip_prefix('T')?;
        let at = rest.find(['Z', '+', '-'])?;
        let (clock, zone) = rest.split_at_checked(at)?;
        let offset_seconds = parse_offset(zone)?;
        let (clock, fraction) =
            clock.split_once(['.', ',']).map_or((clock, None), |(clock, rest)| (clock, Some(rest)));
        let nanoseconds = match fraction {
            None => 0,
            Some(digits) => parse_fraction(digits)?,
        };
        let numbers = |text: &str, separator| -> Option<Vec<i16>> {
            text.split(separator).map(|part: &str| all_digits(part).then(|| part.parse().ok())?).collect()
        };
        let date = numbers(date, '-')?;
        let clock = numbers(clock, ':')?;
        let ([year, month, day], [hour, minute, second]) = (date.as_slice(), clock.as_slice()) else {
            return None;
        };
        let small = |number: &i16| i8::try_from(*number).ok();
        let civil = civil::DateTime::new(
            *year,
            small(month)?,
            small(day)?,
            small(hour)?,
            small(minute)?,
            small(second)?,
            nanoseconds,
        )
        .ok()?;
        let offset = SignedDuration::from_secs(i64::from(offset_seconds));
        let since_epoch = civil.duration_since(EPOCH).checked_sub(offset)?;
        Some(Self { offset_seconds, ..Self::new(since_epoch)? })
    }

    /// Whether it is the earliest timestamp, which Go has for no time at all.
    pub(crate) fn is_first(&self) -> bool {
        self.since_epoch == SignedDuration::from_secs(FIRST_SECOND)
    }

    /// The seconds since 1970, rounded down.
    pub(crate) fn seconds(&self) -> i64 {
        self.since_epoch.as_secs() - i64::from(self.since_epoch.subsec_nanos() < 0)
    }

    /// The order of two points in time.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        self.since_epoch.cmp(&other.since_epoch)
    }

    /// The point in time some nanoseconds later.
    pub(crate) fn add(&self, nanoseconds: i64) -> Option<Self> {
        let since_epoch = self.since_epoch.checked_add(SignedDuration::from_nanos(nanoseconds))?;
        Some(Self { offset_seconds: self.offset_seconds, ..Self::new(since_epoch)? })
    }

    /// The nanoseconds from another point in time to this.
    pub(crate) fn since(&self, other: &Self) -> Option<i64> {
        i64::try_from(self.since_epoch.as_nanos() - other.since_epoch.as_nanos()).ok()
    }

    /// Date and time in a time zone: a name, `UTC`, or an offset such as `+01:00`.
    pub(crate) fn in_zone(&self, zone: Option<&str>) -> Result<civil::DateTime, Box<EvaluationError>> {
        let unknown = |name: &str| EvaluationError::Failed(format!("unknown time zone {name}"));
        let offset_seconds = match zone {
            None | Some("" | "UTC") => 0,
            Some(name) if name.contains(':') => parse_zone_offset(name).ok_or_else(|| unknown(name))?,
            Some(name) => {
                let zone = jiff::tz::TimeZone::get(name).map_err(|_| unknown(name))?;
                // The last day of the year 9999 is beyond the time zones' range: its offset is that of the day before.
                let seconds = self.seconds().min(jiff::Timestamp::MAX.as_second());
                let instant = jiff::Timestamp::from_second(seconds).map_err(|_| unknown(name))?;
                zone.to_offset(instant).seconds()
            }
        };
        self.at_offset(offset_seconds).map_or_else(|| fail("timestamp overflow"), Ok)
    }

    fn at_offset(&self, offset_seconds: i32) -> Option<civil::DateTime> {
        let local = self.since_epoch.checked_add(SignedDuration::from_secs(i64::from(offset_seconds)))?;
        EPOCH.checked_add(local).ok()
    }
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn parse_fraction(digits: &str) -> Option<i32> {
    if !all_digits(digits) {
        return None;
    }
    format!("{digits:0<9}").get(..9)?.parse().ok()
}

fn parse_offset(zone: &str) -> Option<i32> {
    if zone == "Z" {
        return Some(0);
    }
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = zone.get(1..)?.split_once(':')?;
    if hours.len() != 2 || minutes.len() != 2 || !all_digits(hours) || !all_digits(minutes) {
        return None;
    }
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours <= 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

fn parse_zone_offset(zone: &str) -> Option<i32> {
    let (hours, minutes) = zone.split_once(':')?;
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    let sign = if zone.starts_with('-') { -1 } else { 1 };
    let seconds = hours.checked_mul(3600)?.checked_add(sign * minutes.checked_mul(60)?)?;
    (seconds.abs() <= 86_400).then_some(seconds)
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = self.at_offset(self.offset_seconds).unwrap_or(EPOCH);
        write!(f, "{:04}-{:02}-{:02}T", time.year(), time.month(), time.day())?;
        write!(f, "{:02}:{:02}:{:02}", time.hour(), time.minute(), time.second())?;
        let fraction = format!("{:09}", time.subsec_nanosecond());
        let fraction = fraction.trim_end_matches('0');
        if !fraction.is_empty() {
            write!(f, ".{fraction}")?;
        }
        if self.offset_seconds == 0 {
            return f.write_str("Z");
        }
        let sign = if self.offset_seconds < 0 { '-' } else { '+' };
        let minutes = self.offset_seconds.abs() / 60;
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

/// Reads a duration in Go's notation, such as `1h30m` or `-1.5s`, as nanoseconds.
pub(crate) fn parse_duration(text: &str) -> Result<i64, Box<EvaluationError>> {
    go_duration::parse(text).map_err(|error| Box::new(EvaluationError::Failed(error.to_string())))
}

/// A duration in seconds, as `string(duration)` writes it.
pub(crate) fn format_duration(nanoseconds: i64) -> String {
    #[allow(clippy::cast_precision_loss, reason = "Go computes the seconds of a duration as a float, too")]
    let seconds = (nanoseconds / NANOSECONDS) as f64 + (nanoseconds % NANOSECONDS) as f64 / 1e9;
    format!("{seconds}s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_in_seconds() {
        assert_eq!(format_duration(5_400_500_000_000), "5400.5s");
    }

    #[test]
    fn timestamps_keep_their_offset_and_their_range() {
        for text in [
            "2023-01-02T03:04:05Z",
            "2023-01-02T03:04:05.123+01:30",
            "0001-01-01T00:00:00Z",
            "9999-12-31T23:59:59.999999999Z",
        ] {
            assert_eq!(Timestamp::parse(text).unwrap().to_string(), text);
        }
        for wrong in [
            "2023-01-02",
            "2023-13-02T03:04:05Z",
            "10000-01-01T00:00:00Z",
            "0000-12-31T23:59:59Z",
            "2023-01-02T03:04:05",
        ] {
            assert!(Timestamp::parse(wrong).is_none(), "{wrong}");
        }
        let time = Timestamp::parse("2023-01-02T23:04:05Z").unwrap();
        assert_eq!(time.in_zone(Some("+02:00")).unwrap().hour(), 1);
        assert_eq!(time.in_zone(Some("-02:30")).unwrap().minute(), 34);
        assert!(time.in_zone(Some("No/Where")).is_err());
    }
}
