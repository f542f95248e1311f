//! Responses without content negotiation.

use http::StatusCode;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, X_CONTENT_TYPE_OPTIONS};
use registry_core::api::StatusError;

use super::encoding::json_line;
use super::{Response, ResponseBody};

/// Returns a response without a body.
pub fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(ResponseBody::empty());
    *response.status_mut() = status;
    response
}

/// Returns a plain text, as Go's `http.Error` writes it.
pub fn text(status: StatusCode, body: impl Into<ResponseBody>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Returns a page of plain text.
pub fn plain_text(body: String) -> Response {
    let mut response = Response::new(ResponseBody::from(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// Returns the page for paths that are not served.
pub fn page_not_found() -> Response {
    text(StatusCode::NOT_FOUND, "404 page not found\n")
}

/// Returns a failure as a JSON `Status`, whatever the client accepts: for requests that did not reach a
/// handler.
pub fn status(failure: &StatusError) -> Response {
    let mut response = Response::new(ResponseBody::from(json_line(failure)));
    *response.status_mut() = code_of(failure);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    retry_after(&mut response, failure);
    response
}

/// Returns the status code of a failure.
pub(super) fn code_of(failure: &StatusError) -> StatusCode {
    StatusCode::from_u16(failure.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// Sets `Retry-After`, if the failure has it.
pub(super) fn retry_after(response: &mut Response, failure: &StatusError) {
    let seconds = failure.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    if seconds > 0 {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
}
