//! Header values that determine the user of a request.
//!
//! HTTP header values are bytes. Kubernetes reads them as UTF-8, so that users and groups can have any name.
//! A request with a value that is not UTF-8 is refused: ignoring the value would run the request with other
//! rights than the client asked for.

use http::{HeaderMap, HeaderName, HeaderValue};
use registry_core::api::StatusError;
use request_info::decode_component;

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

/// Decodes the key in a header's name. A key with an invalid escape is used unchanged, as in Kubernetes.
pub(super) fn extra_key(name: &HeaderName, key: &str) -> Result<String, StatusError> {
    let is_hex = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_hexdigit);
    let bytes = key.as_bytes();
    let mut escapes = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'%');
    if !escapes.all(|(at, _)| is_hex(bytes.get(at + 1)) && is_hex(bytes.get(at + 2))) {
        return Ok(key.to_owned());
    }
    let decoded = decode_component(key);
    if decoded.contains(char::REPLACEMENT_CHARACTER) {
        return Err(StatusError::bad_request(format!("the key of the header {name:?} is not valid UTF-8")));
    }
    Ok(decoded.into_owned())
}
