//! How large a request may be.

use axum::body::Body;
use futures::StreamExt;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, Request};
use http_body_util::Limited;
use registry_core::api::{Reason, StatusError};

/// The largest body a request may have, in bytes: what kube-apiserver takes.
pub const MAX_BODY_BYTES: usize = 3 * 1024 * 1024;

/// The most bytes all headers of a request may have together. Below what the protocol layer takes, so that a
/// client that is a little over it gets a `Status` that says why.
pub(super) const MAX_HEADER_BYTES: usize = 64 * 1024;

/// As much of a refused body is still read: a client that sends before it listens then gets to see the answer.
const MAX_DISCARDED_BYTES: usize = 16 * 1024 * 1024;

/// The request, with a body that ends with an error where it becomes too large.
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
    match length {
        // What the protocol layer has promised not to exceed needs no second count.
        Some(length) if length <= MAX_BODY_BYTES as u64 => Ok(request),
        Some(_) => {
            discard(request.into_body()).await;
            Err(too_large())
        }
        None if http_body::Body::is_end_stream(request.body()) => Ok(request),
        None => Ok(request.map(|body| Body::new(Limited::new(body, MAX_BODY_BYTES)))),
    }
}

/// 413 for a body: also what a body that ends with a length error is to be answered with.
pub fn too_large() -> StatusError {
    StatusError::new(
        Reason::RequestEntityTooLarge,
        format!("Request entity too large: limit is {MAX_BODY_BYTES}"),
    )
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
