//! Responses to HEAD: the headers of the response to GET, and no body.
//!
//! Over HTTP/2, a body that is sent in response to HEAD is an error of the protocol, which ends the request for the client.

use http::HeaderValue;
use http::header::CONTENT_LENGTH;
use http_body::Body as _;
use responses::{Response, ResponseBody};

/// Removes the body of a response. Its length remains, if it is known.
pub(super) fn without_body(response: Response) -> Response {
    let (mut head, body) = response.into_parts();
    let length = body.size_hint().exact().filter(|length| *length > 0);
    if let Some(length) = length {
        head.headers.entry(CONTENT_LENGTH).or_insert_with(|| HeaderValue::from(length));
    }
    Response::from_parts(head, ResponseBody::empty())
}
