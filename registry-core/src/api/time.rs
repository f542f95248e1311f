//! Timestamps as Kubernetes writes them.

use jiff::Timestamp;

/// Now, in whole seconds, as `metav1.Time` is written: `2026-01-02T03:04:05Z`.
pub fn now() -> String {
    format_seconds(Timestamp::now())
}

/// A moment in whole seconds, as `metav1.Time` is written.
pub fn format_seconds(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// A moment in microseconds, as `metav1.MicroTime` is written.
pub fn format_microseconds(moment: Timestamp) -> String {
    moment.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

/// Reads an RFC 3339 time; `None` when it is none.
pub fn parse(text: &str) -> Option<Timestamp> {
    text.parse().ok()
}
