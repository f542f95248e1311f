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

/// Returns the error of an invalid schedule.
pub(super) fn check(schedule: &str) -> Result<(), String> {
    if schedule.starts_with('@') {
        return check_word(schedule);
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!("expected exactly 5 fields, found {}: [{}]", fields.len(), fields.join(" ")));
    }
    for (field, bounds) in fields.iter().zip(&FIELDS) {
        for range in field.split(',') {
            check_range(range, bounds)?;
        }
    }
    Ok(())
}

fn check_word(word: &str) -> Result<(), String> {
    let unknown = || Err(format!("unrecognized descriptor: {word}"));
    match word.strip_prefix("@every ") {
        // The duration has Go's format: numbers with units.
        Some(duration) if duration.starts_with(|c: char| c.is_ascii_digit()) => Ok(()),
        Some(_) => Err(format!("failed to parse duration {word}")),
        None if WORDS.contains(&word) => Ok(()),
        None => unknown(),
    }
}

/// `*`, `n`, `n-m`, each with a step: `*/5`.
fn check_range(range: &str, bounds: &Bounds) -> Result<(), String> {
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
    if start < bounds.least {
        return Err(format!("beginning of range ({start}) below minimum ({}): {range}", bounds.least));
    }
    if end > bounds.most {
        return Err(format!("end of range ({end}) above maximum ({}): {range}", bounds.most));
    }
    if start > end {
        return Err(format!("beginning of range ({start}) beyond end of range ({end}): {range}"));
    }
    match step.map(|step| number(step, &Bounds { names: &[], ..*bounds })) {
        Some(Ok(0)) => Err(format!("step of range should be a positive number: {range}")),
        Some(Err(complaint)) => Err(complaint),
        _ => Ok(()),
    }
}

fn number(text: &str, bounds: &Bounds) -> Result<u32, String> {
    let lower = text.to_lowercase();
    if let Some(index) = bounds.names.iter().position(|name| *name == lower) {
        return Ok(bounds.least + u32::try_from(index).unwrap_or_default());
    }
    text.parse().map_err(|_| {
        format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax")
    })
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
