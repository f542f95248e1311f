//! Timestamps in Kubernetes' formats.

use jiff::Timestamp;

/// Returns the current time in whole seconds, formatted as `metav1.Time`: `2026-01-02T03:04:05Z`.
pub fn now() -> String {
    format_seconds(Timestamp::now())
}

/// Formats a time in whole seconds as `metav1.Time`.
pub fn format_seconds(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Formats a time in microseconds as `metav1.MicroTime`.
pub fn format_microseconds(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// Parses an RFC 3339 time; `None` if it is malformed.
pub fn parse(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}
