//! Lists of completion indexes: `0,2-4,7`.

/// Error of a list of indexes, with Kubernetes' text.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IndexesError {
    #[error("non-increasing order, previous: {previous}, current: {current}")]
    Order { previous: i64, current: i64 },
    #[error(
        "the fragment {0:?} violates the requirement that an index interval can have at most two parts separated by '-'"
    )]
    Parts(String),
    #[error("cannot convert string to integer for index: {0:?}")]
    Number(String),
    #[error("too large index: {0:?}")]
    TooLarge(String),
}

/// The first and the last index of an interval.
type Interval = (i64, i64);

/// Returns the number of indexes in a list; they must be below `completions`, and increase.
pub(crate) fn count(list: &str, completions: i64) -> Result<i64, IndexesError> {
    if list.is_empty() {
        return Ok(0);
    }
    let mut last: Option<i64> = None;
    let mut total = 0;
    for part in list.split(',') {
        let (first, end) = interval(part, completions)?;
        if let Some(previous) = last.filter(|last| *last >= first) {
            return Err(IndexesError::Order { previous, current: first });
        }
        total += end - first + 1;
        last = Some(end);
    }
    Ok(total)
}

fn interval(part: &str, completions: i64) -> Result<Interval, IndexesError> {
    let mut limits = part.split('-');
    let (first, end) = (limits.next().unwrap_or_default(), limits.next());
    if limits.next().is_some() {
        return Err(IndexesError::Parts(part.to_owned()));
    }
    let first = index(first, completions)?;
    let Some(end) = end else { return Ok((first, first)) };
    let end = index(end, completions)?;
    if first >= end {
        return Err(IndexesError::Order { previous: first, current: end });
    }
    Ok((first, end))
}

fn index(text: &str, completions: i64) -> Result<i64, IndexesError> {
    let number = text.parse::<i64>();
    let number = number.map_err(|_| IndexesError::Number(text.to_owned()))?;
    if number >= completions {
        return Err(IndexesError::TooLarge(text.to_owned()));
    }
    Ok(number)
}

/// Returns why two lists are not disjoint. What cannot be read is skipped.
pub(crate) fn overlap(completed: &str, failed: &str, completions: i64) -> Option<String> {
    let read = |list: &str| -> Vec<Interval> {
        let parts = list.split(',').filter(|_| !list.is_empty());
        parts.filter_map(|part| interval(part, completions).ok()).collect()
    };
    let (completed, failed) = (read(completed), read(failed));
    let (mut done, mut bad) = (completed.iter().peekable(), failed.iter().peekable());
    while let (Some(left), Some(right)) = (done.peek(), bad.peek()) {
        if left.0 <= right.1 && right.0 <= left.1 {
            let first = left.0.max(right.0);
            return Some(format!("failedIndexes and completedIndexes overlap at index: {first}"));
        }
        if left.0 <= right.0 {
            done.next();
        } else {
            bad.next();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_increase() {
        let count = |list: &str, completions| count(list, completions).map_err(|error| error.to_string());
        assert_eq!(count("", 5), Ok(0));
        assert_eq!(count("0,2-4", 5), Ok(4));
        for (list, complaint) in [
            ("0,2-5", "too large index: \"5\""),
            ("1,1", "non-increasing order, previous: 1, current: 1"),
            ("3-3", "non-increasing order, previous: 3, current: 3"),
            ("a", "cannot convert string to integer for index: \"a\""),
            (
                "0-1-2",
                "the fragment \"0-1-2\" violates the requirement that an index interval can have at most two parts separated by '-'",
            ),
        ] {
            assert_eq!(count(list, 5), Err(complaint.to_owned()));
        }
        assert_eq!(overlap("0-2", "3,4", 5), None);
        assert_eq!(
            overlap("0-2,4", "3,4", 5).as_deref(),
            Some("failedIndexes and completedIndexes overlap at index: 4")
        );
    }
}
