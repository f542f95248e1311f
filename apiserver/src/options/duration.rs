//! Durations in Go's format.

use std::time::Duration;

use registry_core::go_duration;

/// Error of a text that is not a duration, or one that is negative or too long.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "\"{0}\" is not a valid duration: use one such as 300ms, 30s, 5m or 1h30m, of at most 2562047h; a day is 24h, a year 8760h"
)]
pub struct DurationError(String);

/// Parses a duration: `300ms`, `1.5h`, `1h30m`, `0`.
///
/// # Errors
/// Fails if the text is not a duration, or is negative.
pub fn parse_duration(text: &str) -> Result<Duration, DurationError> {
    let nanoseconds = go_duration::parse(text).ok().and_then(|nanoseconds| u64::try_from(nanoseconds).ok());
    nanoseconds.map(Duration::from_nanos).ok_or_else(|| DurationError(text.to_owned()))
}
