//! How large a request may be.

use std::time::Duration;

use axum::body::Body;
use futures::StreamExt;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, Request};
use registry_core::api::{Reason, StatusError};

/// The largest body a request may have, in bytes: what kube-apiserver takes.
const MAX_BODY_BYTES: usize = 3 * 1024 * 1024;

/// The most bytes all headers of a request may have together. Below what the protocol layer takes, so that a
/// client that is a little over it gets a `Status` that says why.
pub(super) const MAX_HEADER_BYTES: usize = 64 * 1024;

/// Maximum number of bytes that are read of a refused body: a client that sends before it listens then gets to see
/// the answer.
const MAX_DISCARDED_BYTES: usize = 16 * 1024 * 1024;

/// Maximum time for reading a refused body. Nobody knows yet who sends it.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(5);

/// The request, unless it says itself that it is too large. A body that does not say how long it is, is counted
/// where it is read.
///
/// # Errors
/// 431 and 413.
pub(super) async fn bounded(request: Request<Body>) -> Result<Request<Body>, StatusError> {
    let headers = request.headers();
    if header_bytes(headers) > MAX_HEADER_BYTES {
        let mut failure = StatusError::new(
            Reason::Unknown,
            format!("the request's headers are too large: limit is {MAX_HEADER_BYTES}"),
        );
        failure.code = 431;
        return Err(failure);
    }
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > MAX_BODY_BYTES as u64) {
        // The answer is the same whether the client has sent everything or not.
        let _ = tokio::time::timeout(DISCARD_TIMEOUT, discard(request.into_body())).await;
        return Err(StatusError::new(
            Reason::RequestEntityTooLarge,
            format!("Request entity too large: limit is {MAX_BODY_BYTES}"),
        ));
    }
    Ok(request)
}

fn header_bytes(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum()
}

async fn discard(body: Body) {
    let mut chunks = body.into_data_stream();
    let mut read = 0;
    while let Some(Ok(chunk)) = chunks.next().await {
        read += chunk.len();
        if read > MAX_DISCARDED_BYTES {
            break;
        }
    }
}
