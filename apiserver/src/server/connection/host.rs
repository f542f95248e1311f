//! The `Host` header, which every HTTP/1.1 request must contain exactly once. (RFC 9112, 3.2)

use http::header::{CONNECTION, CONTENT_TYPE, HOST};
use http::{HeaderValue, Request, StatusCode, Version};
use responses::{Response, ResponseBody};

/// Returns the response to a request whose host is missing or invalid, with the messages of Go's server. The
/// connection is closed after it.
pub(super) fn refusal<B>(request: &Request<B>) -> Option<Response> {
    if request.version() != Version::HTTP_11 {
        return None;
    }
    let mut hosts = request.headers().get_all(HOST).iter();
    let why = match (hosts.next(), hosts.next()) {
        (None, _) => "missing required Host header",
        (Some(_), Some(_)) => "too many Host headers",
        (Some(host), None) if !host.as_bytes().iter().copied().all(is_host_byte) => "malformed Host header",
        (Some(_), None) => return None,
    };
    let mut response = Response::new(ResponseBody::from(format!("400 Bad Request: {why}")));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    Some(response)
}

/// Returns whether a byte is allowed in a host, by the lenient rule of Go's `httpguts.ValidHostHeader`.
fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!$%&()*+,-.:;='[]_~".contains(&byte)
}
