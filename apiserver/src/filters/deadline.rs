//! The deadline of a request.
//!
//! Kubernetes concept: `WithRequestDeadline` and `WithTimeoutForNonLongRunningRequests`.

use std::time::{Duration, Instant};

use registry_core::api::go_duration::{self, GoDurationError};
use registry_core::api::{Reason, StatusError};
use request_info::{RequestInfo, query_pairs};

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
        Some((_, text)) if !text.is_empty() => match go_duration::parse(&text).map(u64::try_from) {
            // Without a time, or with one in the past, as long as the server allows.
            Ok(Ok(0) | Err(_)) => server_timeout,
            Ok(Ok(nanoseconds)) => Duration::from_nanos(nanoseconds).min(server_timeout),
            Err(error) => return Err(invalid(&error)),
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

fn invalid(error: &GoDurationError) -> StatusError {
    StatusError::bad_request(format!("invalid timeout specified in the request URL - {error}"))
}
