//! Parses times like Go's `time.Parse`, with its error messages.

use jiff::Timestamp;

use registry_meta::time::{format_microseconds, format_seconds};

/// The layout of `metav1.Time`.
const SECONDS_LAYOUT: &str = "2006-01-02T15:04:05Z07:00";

/// The layout of `metav1.MicroTime`, with exactly six fraction digits.
const MICROSECONDS_LAYOUT: &str = "2006-01-02T15:04:05.000000Z07:00";

/// The parts before the fraction: Go's name, number of digits and maximum of each.
const PARTS: [(&str, Part); 11] = [
    ("2006", Part::Number { digits: 4, least: 0, most: 9999, name: "year" }),
    ("-", Part::Mark),
    ("01", Part::Number { digits: 2, least: 1, most: 12, name: "month" }),
    ("-", Part::Mark),
    ("02", Part::Number { digits: 2, least: 1, most: 31, name: "day" }),
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

/// Error of a time that Go does not parse, with Go's text.
#[derive(Debug, thiserror::Error)]
pub enum TimeError {
    /// A part of the layout is not there.
    #[error("parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {part:?}")]
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
    /// There is no such month, day, hour, minute or second.
    #[error("parsing time {text:?}: {part} out of range")]
    OutOfRange {
        /// The whole text.
        text: String,
        /// The name of the part.
        part: &'static str,
    },
    /// Something follows the time zone.
    #[error("parsing time {text:?}: extra text: {extra:?}")]
    ExtraText {
        /// The whole text.
        text: String,
        /// The text behind the time zone.
        extra: String,
    },
}

/// Checks a `metav1.Time`; returns the canonical form if it differs.
///
/// # Errors
/// Fails if Go does not parse it.
pub fn canonical_time(text: &str) -> Result<Option<String>, TimeError> {
    let canonical_shape = text.len() == "2006-01-02T15:04:05Z".len() && text.ends_with('Z');
    let moment = parse(text, SECONDS_LAYOUT, false)?;
    Ok((!canonical_shape).then(|| format_seconds(moment)))
}

/// Checks a `metav1.MicroTime`; returns the canonical form if it differs.
pub(super) fn microseconds(text: &str) -> Result<Option<String>, TimeError> {
    let moment = parse(text, MICROSECONDS_LAYOUT, true)?;
    Ok((!text.ends_with('Z')).then(|| format_microseconds(moment)))
}

fn parse(text: &str, layout: &'static str, micro: bool) -> Result<Timestamp, TimeError> {
    let wrong = |rest: &str, part: &'static str| {
        let (text, rest) = (text.to_owned(), rest.to_owned());
        TimeError::Malformed { text, layout, rest, part }
    };
    let out_of_range = |part: &'static str| TimeError::OutOfRange { text: text.to_owned(), part };
    let mut rest = text;
    for (name, part) in PARTS {
        match part {
            Part::Mark => rest = rest.strip_prefix(name).ok_or_else(|| wrong(rest, name))?,
            Part::Number { digits, least, most, name: unit } => {
                let (number, after) = leading_digits(rest, digits).ok_or_else(|| wrong(rest, name))?;
                if number < least || number > most {
                    return Err(out_of_range(unit));
                }
                rest = after;
            }
        }
    }
    rest = fraction(rest, micro).ok_or_else(|| wrong(rest, ".000000"))?;
    let after_zone = zone(rest).ok_or_else(|| wrong(rest, "Z07:00"))?;
    if !after_zone.is_empty() {
        return Err(TimeError::ExtraText { text: text.to_owned(), extra: after_zone.to_owned() });
    }
    // The only remaining error is a day that the month does not have.
    text.parse().map_err(|_| out_of_range("day"))
}

fn leading_digits(text: &str, digits: usize) -> Option<(u32, &str)> {
    let (number, rest) = text.split_at_checked(digits)?;
    let all_digits = number.bytes().all(|byte| byte.is_ascii_digit());
    Some((all_digits.then(|| number.parse().ok())??, rest))
}

/// Skips the fraction of a second: any number of digits including none, or six for microseconds.
fn fraction(text: &str, micro: bool) -> Option<&str> {
    let Some(digits) = text.strip_prefix('.') else { return (!micro).then_some(text) };
    if micro {
        return leading_digits(digits, 6).map(|(_, rest)| rest);
    }
    let rest = digits.trim_start_matches(|letter: char| letter.is_ascii_digit());
    Some(if rest.len() == digits.len() { text } else { rest })
}

/// Skips the time zone: `Z`, or hours and minutes.
fn zone(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('Z') {
        return Some(rest);
    }
    let (_, rest) = leading_digits(text.strip_prefix(['+', '-'])?, 2)?;
    let (_, rest) = leading_digits(rest.strip_prefix(':')?, 2)?;
    Some(rest)
}
