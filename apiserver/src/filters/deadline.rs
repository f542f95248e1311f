//! The deadline of a request.
//!
//! Kubernetes concept: `WithRequestDeadline` and `WithTimeoutForNonLongRunningRequests`.

use std::time::{Duration, Instant};

use registry_core::api::{Reason, StatusError};
use request_info::{RequestInfo, query_pairs};

use crate::options::parse_duration;

/// Returns when the response is due: after the server's timeout, or the shorter one that the client asks for
/// (`timeout`).
///
/// # Errors
/// 400: the client's timeout is invalid.
pub(super) fn compute(
    info: &RequestInfo,
    query: Option<&str>,
    received: Instant,
    server_timeout: Duration,
) -> Result<Option<Instant>, StatusError> {
    if info.is_long_running() {
        return Ok(None);
    }
    let timeout = match query.and_then(|query| query_pairs(query).find(|(key, _)| key == "timeout")) {
        Some((_, text)) if !text.is_empty() => match parse_duration(&text) {
            Ok(Duration::ZERO) => server_timeout,
            Ok(asked) => asked.min(server_timeout),
            Err(_) => return Err(invalid(&text)),
        },
        _ => server_timeout,
    };
    Ok(received.checked_add(timeout))
}

/// Returns 504: the response took too long.
pub(super) fn exceeded() -> StatusError {
    let message = "Timeout: request did not complete within the allotted timeout";
    StatusError::new(Reason::Timeout, message)
}

fn invalid(text: &str) -> StatusError {
    let missing_unit = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let why = if missing_unit { "missing unit in duration" } else { "invalid duration" };
    StatusError::bad_request(format!("invalid timeout specified in the request URL - time: {why} {text:?}"))
}
