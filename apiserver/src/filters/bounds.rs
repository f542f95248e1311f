//! Size limits of requests.

use std::time::Duration;

use axum::body::Body;
use futures::StreamExt;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, Request};
use registry_core::api::{Reason, StatusError};

use crate::handlers::{BODY_LIMIT_BYTES, too_large};
/// Maximum size of all headers of a request, in bytes. Below the limit of the protocol layer, so that a
/// client that slightly exceeds it gets a `Status` with the reason.
pub(super) const MAX_HEADER_BYTES: usize = 64 * 1024;

/// Maximum number of bytes that are read of a refused body, so that a client that sends before it reads gets
/// the response.
const MAX_DISCARDED_BYTES: usize = 16 * 1024 * 1024;

/// Maximum time for reading a refused body, whose sender is not authenticated yet.
const DISCARD_TIMEOUT: Duration = Duration::from_secs(5);

/// Checks the declared size of a request. A body of undeclared size is counted where it is read.
///
/// # Errors
/// 431 and 413.
pub(super) async fn check(request: &mut Request<Body>) -> Result<(), StatusError> {
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
    if length.is_some_and(|length| length > BODY_LIMIT_BYTES as u64) {
        // The response is the same whether or not the client has sent everything.
        let _ = tokio::time::timeout(DISCARD_TIMEOUT, discard(std::mem::take(request.body_mut()))).await;
        return Err(too_large());
    }
    Ok(())
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
