//! Header values that determine the user of a request.
//!
//! HTTP header values are bytes. Kubernetes reads them as UTF-8, so that users and groups can have any name.
//! A request with a value that is not UTF-8 is refused: ignoring the value would run the request with other
//! rights than the client asked for.

use http::{HeaderMap, HeaderName, HeaderValue};
use registry_core::api::StatusError;

/// Returns the only value of a header, or `None` when the header is absent.
///
/// # Errors
/// 400 if the header is repeated or is not UTF-8.
pub(super) fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, StatusError> {
    let mut values = headers.get_all(name).iter();
    let Some(value) = values.next() else { return Ok(None) };
    if values.next().is_some() {
        return Err(StatusError::bad_request(format!("the header {name:?} must not be repeated")));
    }
    text(name, value).map(Some)
}

/// Returns a header value as text.
///
/// # Errors
/// 400 if it is not UTF-8.
pub(super) fn text<'h>(name: &HeaderName, value: &'h HeaderValue) -> Result<&'h str, StatusError> {
    std::str::from_utf8(value.as_bytes())
        .map_err(|_| StatusError::bad_request(format!("the header {name:?} is not valid UTF-8")))
}
