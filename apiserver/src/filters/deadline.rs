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

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of milliseconds until the response to a list is due, of at most ten seconds.
    fn due_in_ms(query: &str) -> Result<u128, String> {
        let info = RequestInfo::parse(&http::Method::GET, &http::Uri::from_static("/api/v1/pods"));
        let received = Instant::now();
        let due = compute(&info, Some(query), received, Duration::from_secs(10));
        due.map(|due| due.unwrap().duration_since(received).as_millis()).map_err(|failure| failure.message)
    }

    #[test]
    fn a_request_has_the_time_that_the_client_gives_it_but_no_more_than_the_server() {
        for (query, expected) in [
            ("", 10_000),
            ("timeout=1.5s", 1_500),
            ("timeout=1m", 10_000),
            // Neither is a time, as for kube-apiserver.
            ("timeout=0", 10_000),
            ("timeout=-1s", 10_000),
            // Pairs that are no parameters.
            ("timeout=5x;", 10_000),
            ("timeout=%zz&timeout=2s", 2_000),
        ] {
            assert_eq!(due_in_ms(query), Ok(expected), "{query}");
        }
    }

    #[test]
    fn timeouts_that_are_none_are_refused_in_gos_words() {
        for (timeout, why) in [
            ("zork", r#"invalid duration "zork""#),
            ("5", r#"missing unit in duration "5""#),
            ("5x", r#"unknown unit "x" in duration "5x""#),
            ("%C3%A9%01%22", r#"invalid duration "\xc3\xa9\x01\"""#),
        ] {
            let expected = format!("invalid timeout specified in the request URL - time: {why}");
            assert_eq!(due_in_ms(&format!("timeout={timeout}")), Err(expected));
        }
    }
}
