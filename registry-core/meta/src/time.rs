//! Times: timestamps in Kubernetes' formats, and below them the time of day, durations and pauses.
//!
//! | module | contents |
//! |---|---|
//! | [`moment`] | points in time as objects have them |
//! | [`clock`] | the time of day, which tests can advance |
//! | [`go_duration`] | durations as Go reads and prints them |
//! | [`backoff`] | pauses between attempts that fail |

pub mod backoff;
pub mod clock;
pub mod go_duration;
pub mod moment;

use jiff::Timestamp;

use moment::{Layout, Moment};

/// Length of `2026-01-02T03:04:05`.
const SECONDS_LENGTH: usize = 19;

/// Returns the current time in whole seconds, formatted as `metav1.Time`: `2026-01-02T03:04:05Z`.
pub fn now() -> String {
    format_seconds(Timestamp::now())
}

/// Formats a time in whole seconds as `metav1.Time`.
pub fn format_seconds(moment: impl Into<Moment>) -> String {
    let mut text = String::with_capacity(SECONDS_LENGTH + 1);
    push_seconds(&mut text, moment.into());
    text.push('Z');
    text
}

/// Formats a time in microseconds as `metav1.MicroTime`.
pub fn format_microseconds(moment: impl Into<Moment>) -> String {
    let moment = moment.into();
    let mut text = String::with_capacity(SECONDS_LENGTH + 8);
    push_seconds(&mut text, moment);
    text.push('.');
    let microseconds = moment.subsec_nanosecond() / 1_000;
    push_pair(&mut text, microseconds / 10_000, "");
    push_pair(&mut text, microseconds / 100 % 100, "");
    push_pair(&mut text, microseconds % 100, "Z");
    text
}

/// Appends a time in whole seconds, without its time zone. Every write and every audit event needs such texts, which
/// the general formatter of `jiff` makes more slowly.
fn push_seconds(text: &mut String, moment: Moment) {
    let datetime = moment.datetime();
    let year = i32::from(datetime.year());
    push_pair(text, year / 100, "");
    push_pair(text, year % 100, "-");
    push_pair(text, datetime.month().into(), "-");
    push_pair(text, datetime.day().into(), "T");
    push_pair(text, datetime.hour().into(), ":");
    push_pair(text, datetime.minute().into(), ":");
    push_pair(text, datetime.second().into(), "");
}

/// Appends a number below 100 with two digits, and what follows it.
fn push_pair(text: &mut String, number: i32, separator: &str) {
    const PAIRS: &str = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899";
    let pair = usize::try_from(number).ok().and_then(|number| PAIRS.get(2 * number..2 * number + 2));
    text.push_str(pair.unwrap_or_default());
    text.push_str(separator);
}

/// Parses an RFC 3339 time; `None` if it is malformed. A time of the last hours of the year 9999, which [`Timestamp`]
/// does not have, is read as its maximum.
pub fn parse(text: &str) -> Option<Timestamp> {
    Moment::parse(text, Layout::Seconds).ok().map(Moment::to_timestamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_formatted_as_by_the_general_formatter() {
        for seconds in
            [0, -1, 1, 59, 951_782_400, 1_709_164_799, 4_102_444_799, 253_402_207_200, -62_135_596_801]
        {
            for nanoseconds in [0, 999, 1_000, 123_456_789, 999_999_999] {
                let moment = Timestamp::new(seconds, nanoseconds).unwrap();
                let whole = moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
                assert_eq!(format_seconds(moment), whole);
                assert_eq!(
                    format_microseconds(moment),
                    moment.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
                );
            }
        }
    }
}
