//! The canonical forms of times.

use registry_meta::time::moment::{Layout, Moment, TimeError};
use registry_meta::time::{format_microseconds, format_seconds};

/// Checks a `metav1.Time`; returns the canonical form if it differs.
///
/// # Errors
/// Fails if Go does not parse it.
pub fn canonical_time(text: &str) -> Result<Option<String>, TimeError> {
    Ok(canonical(text, Moment::parse(text, Layout::Seconds)?, Layout::Seconds))
}

/// Returns the canonical form of a time, given its text and what that says, if it differs from the text.
pub(super) fn canonical(text: &str, moment: Moment, layout: Layout) -> Option<String> {
    let (canonical, format): (_, fn(Moment) -> String) = match layout {
        Layout::Seconds => ("2006-01-02T15:04:05Z", format_seconds),
        Layout::Microseconds => ("2006-01-02T15:04:05.000000Z", format_microseconds),
    };
    let is_canonical = text.len() == canonical.len() && text.ends_with('Z') && !text.contains(',');
    (!is_canonical).then(|| format(moment))
}
