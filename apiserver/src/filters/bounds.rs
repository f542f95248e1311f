//! The size limit of a request's headers.

use http::HeaderMap;
use registry_core::api::{Reason, StatusError};

/// Maximum size of all headers of a request, in bytes. Below the limit of the protocol layer, so that a
/// client that slightly exceeds it gets a `Status` with the reason.
pub(super) const MAX_HEADER_BYTES: usize = 64 * 1024;

/// Checks the size of a request's headers.
///
/// # Errors
/// 431.
pub(super) fn check(headers: &HeaderMap) -> Result<(), StatusError> {
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if bytes <= MAX_HEADER_BYTES {
        return Ok(());
    }
    let message = format!("the request's headers are too large: limit is {MAX_HEADER_BYTES}");
    let mut failure = StatusError::new(Reason::Unknown, message);
    failure.code = 431;
    Err(failure)
}
