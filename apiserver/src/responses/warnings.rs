//! Warnings: what a client is told beside its answer.

use axum::body::Body;
use http::header::WARNING;
use http::{HeaderValue, Response};

/// Warnings longer than this in all are cut to [`WARNING_MAX_CHARS`] each.
const WARNINGS_TOTAL_CHARS: usize = 4 * 1024;
/// What remains of each warning when all of them are too long.
const WARNING_MAX_CHARS: usize = 256;

/// Tells the client what was noted while its request was served.
pub(crate) fn add_warnings(response: &mut Response<Body>, warnings: &[String]) {
    let total: usize = warnings.iter().map(|text| text.chars().count()).sum();
    let limit = if total > WARNINGS_TOTAL_CHARS { WARNING_MAX_CHARS } else { WARNINGS_TOTAL_CHARS };
    // As in Kubernetes, a text that no header can hold is told to nobody.
    for text in warnings.iter().filter(|text| !text.chars().any(char::is_control)) {
        // 299 is "miscellaneous persistent warning"; the agent is nobody in particular.
        let mut header = String::from("299 - \"");
        for character in text.chars().take(limit) {
            if matches!(character, '"' | '\\') {
                header.push('\\');
            }
            header.push(character);
        }
        header.push('"');
        if let Ok(header) = HeaderValue::from_bytes(header.as_bytes()) {
            response.headers_mut().append(WARNING, header);
        }
    }
}
