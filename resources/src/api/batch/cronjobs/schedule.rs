//! Cron schedules: five fields, or a predefined name.

const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const WORDS: [&str; 7] = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"];

/// The range of a field.
struct Bounds {
    least: u32,
    most: u32,
    names: &'static [&'static str],
}

const FIELDS: [Bounds; 5] = [
    Bounds { least: 0, most: 59, names: &[] },
    Bounds { least: 0, most: 23, names: &[] },
    Bounds { least: 1, most: 31, names: &[] },
    Bounds { least: 1, most: 12, names: &MONTHS },
    Bounds { least: 0, most: 6, names: &DAYS },
];

/// Error of a schedule, with the text of Kubernetes' parser.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ScheduleError {
    #[error("expected exactly 5 fields, found {}: [{}]", .0.len(), .0.join(" "))]
    FieldCount(Vec<String>),
    #[error("unrecognized descriptor: {0}")]
    UnknownWord(String),
    #[error("failed to parse duration {0}")]
    Duration(String),
    #[error("beginning of range ({start}) below minimum ({least}): {range}")]
    TooSmall { start: u32, least: u32, range: String },
    #[error("end of range ({end}) above maximum ({most}): {range}")]
    TooLarge { end: u32, most: u32, range: String },
    #[error("beginning of range ({start}) beyond end of range ({end}): {range}")]
    Reversed { start: u32, end: u32, range: String },
    #[error("step of range should be a positive number: {0}")]
    ZeroStep(String),
    #[error("failed to parse int from {0}: strconv.Atoi: parsing {0:?}: invalid syntax")]
    Number(String),
    /// A time zone without a schedule, at which Kubernetes' parser panics.
    #[error("invalid schedule format: runtime error: slice bounds out of range [:-1]")]
    ZoneAlone,
}

/// Checks a schedule.
pub(super) fn check(schedule: &str) -> Result<(), ScheduleError> {
    if schedule.starts_with('@') {
        return check_word(schedule);
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(ScheduleError::FieldCount(fields.into_iter().map(str::to_owned).collect()));
    }
    for (field, bounds) in fields.iter().zip(&FIELDS) {
        for range in field.split(',') {
            check_range(range, bounds)?;
        }
    }
    Ok(())
}

fn check_word(word: &str) -> Result<(), ScheduleError> {
    match word.strip_prefix("@every ") {
        // The duration has Go's format: numbers with units.
        Some(duration) if duration.starts_with(|c: char| c.is_ascii_digit()) => Ok(()),
        Some(_) => Err(ScheduleError::Duration(word.to_owned())),
        None if WORDS.contains(&word) => Ok(()),
        None => Err(ScheduleError::UnknownWord(word.to_owned())),
    }
}

/// `*`, `n`, `n-m`, each with a step: `*/5`.
fn check_range(range: &str, bounds: &Bounds) -> Result<(), ScheduleError> {
    let (span, step) = range.split_once('/').map_or((range, None), |(span, step)| (span, Some(step)));
    let (start, end) = match span {
        "*" | "?" => (bounds.least, bounds.most),
        _ => {
            if let Some((start, end)) = span.split_once('-') {
                (number(start, bounds)?, number(end, bounds)?)
            } else {
                let start = number(span, bounds)?;
                (start, if step.is_some() { bounds.most } else { start })
            }
        }
    };
    let Bounds { least, most, .. } = *bounds;
    let written = || range.to_owned();
    if start < least {
        return Err(ScheduleError::TooSmall { start, least, range: written() });
    }
    if end > most {
        return Err(ScheduleError::TooLarge { end, most, range: written() });
    }
    if start > end {
        return Err(ScheduleError::Reversed { start, end, range: written() });
    }
    let step = step.map(|step| number(step, &Bounds { names: &[], ..*bounds })).transpose()?;
    if step == Some(0) { Err(ScheduleError::ZeroStep(written())) } else { Ok(()) }
}

fn number(text: &str, bounds: &Bounds) -> Result<u32, ScheduleError> {
    let lower = text.to_lowercase();
    if let Some(index) = bounds.names.iter().position(|name| *name == lower) {
        return Ok(bounds.least + u32::try_from(index).unwrap_or_default());
    }
    text.parse().map_err(|_| ScheduleError::Number(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn schedules_are_read_as_cron_reads_them() {
        for good in ["*/5 * * * *", "0 0 1 JAN mon-fri", "1,2,5-9/2 ? 31 12 0", "@daily", "@every 1h30m"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["zork", "60 * * * *", "* * 0 * *", "5-1 * * * *", "*/0 * * * *", "@never", "* * * * x"] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }
}
