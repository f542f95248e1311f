//! The canonical forms of times.

use registry_meta::time::moment::{Layout, Moment, TimeError};
use registry_meta::time::{format_microseconds, format_seconds};

/// Checks a `metav1.Time`; returns the canonical form if it differs.
///
/// # Errors
/// Fails if Go does not parse it.
pub fn canonical_time(text: &str) -> Result<Option<String>, TimeError> {
    let is_canonical = text.len() == "2006-01-02T15:04:05Z".len() && text.ends_with('Z');
    let moment = Moment::parse(text, Layout::Seconds)?;
    Ok((!is_canonical).then(|| format_seconds(moment)))
}

/// Checks a `metav1.MicroTime`; returns the canonical form if it differs.
pub(super) fn microseconds(text: &str) -> Result<Option<String>, TimeError> {
    let is_canonical =
        text.len() == "2006-01-02T15:04:05.000000Z".len() && text.ends_with('Z') && !text.contains(',');
    let moment = Moment::parse(text, Layout::Microseconds)?;
    Ok((!is_canonical).then(|| format_microseconds(moment)))
}
