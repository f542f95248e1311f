//! Dates, times and durations.

use jiff::civil;
use registry_meta::go_duration;

/// Units of Scala's durations. The last name of each is also the beginning of longer ones (`seconds`).
const LONG_UNITS: [&[&str]; 8] = [
    &["ns", "nano"],
    &["us", "µs", "micro"],
    &["ms", "milli"],
    &["s", "sec"],
    &["m", "min"],
    &["h", "hr", "hour"],
    &["d", "day"],
    &["w", "wk", "week"],
];

/// Whether the text is a date such as `2006-01-02`.
pub(super) fn is_date(text: &str) -> bool {
    let mut parts = text.split('-');
    let mut number = |digits: usize| {
        let part = parts.next()?;
        let is_sound = part.len() == digits && part.bytes().all(|byte| byte.is_ascii_digit());
        is_sound.then(|| part.parse::<i16>().ok())?
    };
    let (Some(year), Some(month), Some(day)) = (number(4), number(2), number(2)) else { return false };
    let (Ok(month), Ok(day)) = (i8::try_from(month), i8::try_from(day)) else { return false };
    parts.next().is_none() && civil::Date::new(year, month, day).is_ok()
}

/// Whether the text is a date with a time such as `2006-01-02T15:04:05.999Z`. Seconds have no leap, and the sign before
/// the fraction can be any.
pub(super) fn is_date_time(text: &str) -> bool {
    let lower = text.to_lowercase();
    let mut parts = lower.split('t');
    let (Some(date), Some(time)) = (parts.next(), parts.next()) else { return false };
    is_date(date) && is_time(time)
}

fn is_time(time: &str) -> bool {
    let Some((clock, rest)) = time.split_at_checked("15:04:05".len()) else { return false };
    let mut limits = ["23", "59", "59"].into_iter();
    let is_part = |part: &str| {
        let limit = limits.next().unwrap_or_default();
        part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit()) && part <= limit
    };
    let mut parts = clock.split(':');
    parts.clone().count() == 3 && parts.all(is_part) && is_fraction_and_zone(rest)
}

/// Whether the text is a zone, perhaps after any character but a line break with digits.
fn is_fraction_and_zone(text: &str) -> bool {
    if is_zone(text) {
        return true;
    }
    let mut letters = text.chars();
    if letters.next().is_none_or(|letter| letter == '\n') {
        return false;
    }
    let digits = letters.as_str();
    let rest = digits.trim_start_matches(|letter: char| letter.is_ascii_digit());
    rest.len() < digits.len() && is_zone(rest)
}

fn is_zone(text: &str) -> bool {
    let digits = |part: &str| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_digit());
    let Some(offset) = text.strip_prefix(['+', '-']) else { return text == "z" };
    offset.split_once(':').is_some_and(|(hours, minutes)| digits(hours) && digits(minutes))
}

/// Whether the text is a duration of Go (`1h30m`), or contains one of Scala (`5 minutes`).
pub(super) fn is_duration(text: &str) -> bool {
    go_duration::parse(text).is_ok() || has_long_duration(text)
}

/// Whether the text contains a number with a unit anywhere. All numbers must be 64-bit.
fn has_long_duration(text: &str) -> bool {
    let is_space = |letter: char| matches!(letter, '\t' | '\n' | '\x0c' | '\r' | ' ');
    let is_unit = |letter: char| letter.is_ascii_alphabetic() || letter == 'µ';
    let mut rest = text;
    let mut found = false;
    while let Some(start) = rest.find(|letter: char| letter.is_ascii_digit()) {
        let number = rest.get(start..).unwrap_or_default();
        let after = number.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let digits = number.get(..number.len() - after.len()).unwrap_or_default();
        let unit = after.trim_start_matches(is_space);
        rest = unit.trim_start_matches(is_unit);
        let unit = unit.get(..unit.len() - rest.len()).unwrap_or_default();
        if unit.is_empty() {
            rest = after;
            continue;
        }
        if digits.parse::<i64>().is_err() {
            return false;
        }
        found |= is_long_unit(&unit.to_lowercase());
    }
    found
}

fn is_long_unit(unit: &str) -> bool {
    LONG_UNITS.iter().any(|names| {
        names.contains(&unit) || names.last().is_some_and(|beginning| unit.starts_with(beginning))
    })
}
