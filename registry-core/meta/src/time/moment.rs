//! Points in time as objects have them, read and written as Go's `time` package does.

use jiff::civil::DateTime;
use jiff::{SignedDuration, Timestamp};

use crate::go_text::quote_for_time;

const NANOSECONDS_PER_SECOND: i32 = 1_000_000_000;
const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// The parts before the fraction, by their names in Go's layout.
const PARTS: [(&str, Part); 11] = [
    ("2006", Part::Number { digits: 4, least: 0, most: 9999, name: "year" }),
    ("-", Part::Mark),
    ("01", Part::Number { digits: 2, least: 1, most: 12, name: "month" }),
    ("-", Part::Mark),
    // Go compares the day with the length of the month when it has read everything.
    ("02", Part::Number { digits: 2, least: 0, most: 99, name: "day" }),
    ("T", Part::Mark),
    ("15", Part::Number { digits: 2, least: 0, most: 23, name: "hour" }),
    (":", Part::Mark),
    ("04", Part::Number { digits: 2, least: 0, most: 59, name: "minute" }),
    (":", Part::Mark),
    ("05", Part::Number { digits: 2, least: 0, most: 59, name: "second" }),
];

#[derive(Clone, Copy)]
enum Part {
    Number { digits: usize, least: u32, most: u32, name: &'static str },
    Mark,
}

/// A point in time of the years 0 to 9999 of UTC: exactly those that RFC 3339 can express.
///
/// The range of `jiff::Timestamp` is another one. It ends 26 hours before the end of the year 9999, which is the usual
/// time for "never", and begins at a year that no reader of RFC 3339 accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment {
    /// Seconds since 1970, rounded down.
    second: i64,
    /// Nanoseconds since the beginning of the second.
    nanosecond: i32,
}

/// The layouts of Kubernetes' times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `metav1.Time`, of which Go accepts any fraction of a second.
    Seconds,
    /// `metav1.MicroTime`, with exactly six fraction digits.
    Microseconds,
}

/// Error of a time that Go does not parse, with Go's text.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimeError {
    /// A part of the layout is not there.
    #[error(
        "parsing time {} as {layout:?}: cannot parse {} as {part:?}",
        quote_for_time(.text),
        quote_for_time(.rest)
    )]
    Malformed {
        /// The whole text.
        text: String,
        /// Go's layout.
        layout: &'static str,
        /// The text from the part on.
        rest: String,
        /// The part of the layout.
        part: &'static str,
    },
    /// There is no such month, day, hour, minute, second or time zone, or the year is outside of UTC's years 0 to 9999.
    #[error("parsing time {}: {part} out of range", quote_for_time(.text))]
    OutOfRange {
        /// The whole text.
        text: String,
        /// The name of the part.
        part: &'static str,
    },
    /// Something follows the time zone.
    #[error("parsing time {}: extra text: {}", quote_for_time(.text), quote_for_time(.extra))]
    ExtraText {
        /// The whole text.
        text: String,
        /// The text behind the time zone.
        extra: String,
    },
}

// === impl Moment ===

impl Moment {
    /// `0000-01-01T00:00:00Z`.
    pub const MIN: Self = Self { second: -62_167_219_200, nanosecond: 0 };

    /// `0001-01-01T00:00:00Z`: Go's zero time, which Kubernetes writes as null.
    pub const ZERO: Self = Self { second: -62_135_596_800, nanosecond: 0 };

    /// The last nanosecond of the year 9999.
    pub const MAX: Self = Self { second: 253_402_300_799, nanosecond: NANOSECONDS_PER_SECOND - 1 };

    /// Returns the nearest moment to this number of seconds since 1970 and nanoseconds, of which there may be more than
    /// a second has, or fewer than none.
    pub fn nearest(second: i64, nanosecond: i32) -> Self {
        let second = second.saturating_add(i64::from(nanosecond.div_euclid(NANOSECONDS_PER_SECOND)));
        let nanosecond = nanosecond.rem_euclid(NANOSECONDS_PER_SECOND);
        Self { second, nanosecond }.clamp(Self::MIN, Self::MAX)
    }

    /// Parses a time.
    ///
    /// # Errors
    /// Fails if Go does not parse it, or if Go's text of it has another year than four digits, which nothing could read.
    pub fn parse(text: &str, layout: Layout) -> Result<Self, TimeError> {
        let wrong = |rest: &str, part: &'static str| TimeError::Malformed {
            text: text.to_owned(),
            layout: layout.name(),
            rest: rest.to_owned(),
            part,
        };
        let out_of_range = |part: &'static str| TimeError::OutOfRange { text: text.to_owned(), part };
        let mut rest = text;
        let mut numbers = [0_u32; 6];
        let mut slots = numbers.iter_mut();
        for (name, part) in PARTS {
            match part {
                Part::Mark => rest = rest.strip_prefix(name).ok_or_else(|| wrong(rest, name))?,
                Part::Number { digits, least, most, name: unit } => {
                    // Go accepts a single digit as the hour.
                    let short =
                        (unit == "hour").then(|| digits - 1).and_then(|few| leading_digits(rest, few));
                    let found = leading_digits(rest, digits).or(short);
                    let (number, after) = found.ok_or_else(|| wrong(rest, name))?;
                    if number < least || number > most {
                        return Err(out_of_range(unit));
                    }
                    if let Some(slot) = slots.next() {
                        *slot = number;
                    }
                    rest = after;
                }
            }
        }
        let (nanosecond, rest) = fraction(rest, layout).ok_or_else(|| wrong(rest, ".000000"))?;
        let (offset, after_zone) = zone(rest).ok_or_else(|| wrong(rest, "Z07:00"))?;
        let offset = offset.map_err(out_of_range)?;
        if !after_zone.is_empty() {
            return Err(TimeError::ExtraText { text: text.to_owned(), extra: after_zone.to_owned() });
        }
        let datetime = datetime(numbers).ok_or_else(|| out_of_range("day"))?;
        let second = datetime.duration_since(EPOCH).as_secs() - offset;
        let moment = Self { second, nanosecond };
        if moment < Self::MIN || moment > Self::MAX {
            return Err(out_of_range("year"));
        }
        Ok(moment)
    }

    /// Returns the seconds since 1970, rounded down.
    pub const fn as_second(self) -> i64 {
        self.second
    }

    /// Returns the nanoseconds since the beginning of the second.
    pub const fn subsec_nanosecond(self) -> i32 {
        self.nanosecond
    }

    /// Returns the nearest timestamp, for computations with the current time.
    pub fn to_timestamp(self) -> Timestamp {
        Timestamp::new(self.second, self.nanosecond).unwrap_or(Timestamp::MAX)
    }

    /// Returns the time since another moment.
    pub const fn duration_since(self, other: Self) -> SignedDuration {
        // Within the range, neither difference overflows.
        SignedDuration::new(self.second - other.second, self.nanosecond - other.nanosecond)
    }

    /// Returns the date and the time of day in UTC. The calendar has all years of the range.
    pub(super) fn datetime(self) -> DateTime {
        EPOCH.saturating_add(SignedDuration::new(self.second, self.nanosecond))
    }
}

impl From<Timestamp> for Moment {
    fn from(timestamp: Timestamp) -> Self {
        Self::nearest(timestamp.as_second(), timestamp.subsec_nanosecond())
    }
}

// === impl Layout ===

impl Layout {
    const fn name(self) -> &'static str {
        match self {
            Self::Seconds => "2006-01-02T15:04:05Z07:00",
            Self::Microseconds => "2006-01-02T15:04:05.000000Z07:00",
        }
    }
}

/// Returns a date and a time of day, given numbers that [`PARTS`] allow; `None` if the month does not have such a day.
fn datetime(numbers: [u32; 6]) -> Option<DateTime> {
    let [year, month, day, hour, minute, second] = numbers.map(|number| i16::try_from(number).ok());
    let small = |number: Option<i16>| i8::try_from(number?).ok();
    let (month, day) = (small(month)?, small(day)?);
    DateTime::new(year?, month, day, small(hour)?, small(minute)?, small(second)?, 0).ok()
}

fn leading_digits(text: &str, digits: usize) -> Option<(u32, &str)> {
    let (number, rest) = text.split_at_checked(digits)?;
    let all_digits = number.bytes().all(|byte| byte.is_ascii_digit());
    Some((all_digits.then(|| number.parse().ok())??, rest))
}

/// Reads the fraction of a second: any number of digits including none, or six for microseconds. Returns it in
/// nanoseconds.
fn fraction(text: &str, layout: Layout) -> Option<(i32, &str)> {
    let is_short = layout == Layout::Seconds;
    let Some(digits) = text.strip_prefix(['.', ',']) else { return is_short.then_some((0, text)) };
    if !is_short {
        let (microseconds, rest) = leading_digits(digits, 6)?;
        return Some((i32::try_from(microseconds).ok()? * 1000, rest));
    }
    let rest = digits.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let digits = digits.get(..digits.len() - rest.len())?;
    if digits.is_empty() {
        return Some((0, text));
    }
    let places = digits.bytes().chain(std::iter::repeat(b'0')).take(9);
    Some((places.fold(0, |number, digit| number * 10 + i32::from(digit - b'0')), rest))
}

/// Reads the time zone: `Z`, or hours and minutes. Returns its offset in seconds, or the name of the part that is out of
/// range.
fn zone(text: &str) -> Option<(Result<i64, &'static str>, &str)> {
    if let Some(rest) = text.strip_prefix('Z') {
        return Some((Ok(0), rest));
    }
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let (hours, rest) = leading_digits(text.strip_prefix(['+', '-'])?, 2)?;
    let (minutes, rest) = leading_digits(rest.strip_prefix(':')?, 2)?;
    // Go reads an offset of 24 hours or 60 minutes, as some write.
    let offset = match (hours, minutes) {
        (25.., _) => Err("time zone offset hour"),
        (_, 61..) => Err("time zone offset minute"),
        _ => Ok(sign * (i64::from(hours) * 3600 + i64::from(minutes) * 60)),
    };
    Some((offset, rest))
}

#[cfg(test)]
mod tests {
    use super::super::{format_microseconds, format_seconds};
    use super::*;

    fn written(text: &str) -> Result<String, String> {
        Moment::parse(text, Layout::Seconds).map(format_seconds).map_err(|error| error.to_string())
    }

    #[test]
    fn times_are_read_as_by_go() {
        for (text, expected) in [
            ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"),
            ("2026-01-02T03:04:05+01:30", "2026-01-02T01:34:05Z"),
            ("2026-01-02T03:04:05.999999999999Z", "2026-01-02T03:04:05Z"),
            ("2026-01-02T03:04:05,5-00:01", "2026-01-02T03:05:05Z"),
            ("1969-12-31T23:59:59.9Z", "1969-12-31T23:59:59Z"),
            ("2024-02-29T3:04:05Z", "2024-02-29T03:04:05Z"),
            ("2026-01-02T00:00:00-24:00", "2026-01-03T00:00:00Z"),
            ("2026-01-02T00:00:00+23:60", "2026-01-01T00:00:00Z"),
            // The whole range: the last day of it is the usual time for "never".
            ("9999-12-30T22:00:01Z", "9999-12-30T22:00:01Z"),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
            ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59Z"),
            ("9999-12-31T23:59:59+00:01", "9999-12-31T23:58:59Z"),
            ("0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"),
            ("0000-02-29T12:00:00-12:00", "0000-03-01T00:00:00Z"),
            ("0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"),
        ] {
            assert_eq!(written(text).as_deref(), Ok(expected), "{text}");
        }
        let layout = "as \"2006-01-02T15:04:05Z07:00\": cannot parse";
        for (text, expected) in [
            ("0000-01-01T00:00:00+00:01", ": year out of range".to_owned()),
            ("0000-01-01T00:00:00+02:00", ": year out of range".to_owned()),
            ("9999-12-31T23:59:59-00:01", ": year out of range".to_owned()),
            ("9999-12-31T23:59:59-24:60", ": year out of range".to_owned()),
            ("2026-02-29T00:00:00Z", ": day out of range".to_owned()),
            ("2026-01-00T00:00:00Z", ": day out of range".to_owned()),
            ("2026-01-32T00:00:00Z", ": day out of range".to_owned()),
            ("2026-13-01T00:00:00Z", ": month out of range".to_owned()),
            ("2026-01-01T24:00:00Z", ": hour out of range".to_owned()),
            ("2026-01-01T00:00:60Z", ": second out of range".to_owned()),
            ("2026-01-01T00:00:00+25:00", ": time zone offset hour out of range".to_owned()),
            ("2026-01-01T00:00:00+00:61", ": time zone offset minute out of range".to_owned()),
            ("2026-01-01T00:00:00Zx", ": extra text: \"x\"".to_owned()),
            ("", format!(" {layout} \"\" as \"2006\"")),
            ("-0001-12-31T22:00:00Z", format!(" {layout} \"-0001-12-31T22:00:00Z\" as \"2006\"")),
            ("10000-01-01T00:00:00Z", format!(" {layout} \"0-01-01T00:00:00Z\" as \"-\"")),
            ("2026-01-01 00:00:00Z", format!(" {layout} \" 00:00:00Z\" as \"T\"")),
            ("2026-01-01T00:00:0Z", format!(" {layout} \"0Z\" as \"05\"")),
            ("2026-01-01T00:00:00.Z", format!(" {layout} \".Z\" as \"Z07:00\"")),
            ("2026-01-01T00:00:00", format!(" {layout} \"\" as \"Z07:00\"")),
            ("2026-01-01T00:00:00\u{e9}", format!(" {layout} \"\\xc3\\xa9\" as \"Z07:00\"")),
        ] {
            let shown = quote_for_time(text);
            assert_eq!(written(text), Err(format!("parsing time {shown}{expected}")), "{text}");
        }
    }

    #[test]
    fn every_moment_can_be_read_as_it_is_written() {
        let seconds = [
            i64::MIN,
            Moment::MIN.second - 1,
            Moment::MIN.second,
            -1,
            0,
            1_709_164_799,
            Timestamp::MAX.as_second(),
            Timestamp::MAX.as_second() + 1,
            Moment::MAX.second,
            Moment::MAX.second + 1,
            i64::MAX,
        ];
        for second in seconds {
            for nanosecond in [i32::MIN, -1, 0, 999, 123_456_789, 999_999_999, 1_000_000_000, i32::MAX] {
                let moment = Moment::nearest(second, nanosecond);
                let short = Moment::parse(&format_seconds(moment), Layout::Seconds).unwrap();
                assert_eq!(short, Moment { nanosecond: 0, ..moment }, "{second} {nanosecond}");
                let long = format_microseconds(moment);
                let cut = Moment { nanosecond: moment.nanosecond / 1000 * 1000, ..moment };
                assert_eq!(Moment::parse(&long, Layout::Microseconds).as_ref(), Ok(&cut), "{long}");
                assert_eq!(Moment::parse(&long, Layout::Seconds).as_ref(), Ok(&cut), "{long}");
            }
        }
        for timestamp in [Timestamp::MIN, Timestamp::UNIX_EPOCH, Timestamp::MAX] {
            assert!(written(&format_seconds(timestamp)).is_ok(), "{timestamp}");
        }
        assert_eq!(Moment::MAX.to_timestamp(), Timestamp::MAX);
        assert_eq!(Moment::MAX.duration_since(Moment::MIN).as_secs(), 315_569_519_999);
    }
}
