//! The answer of a server, and the texts of its failures: those that clients know from Go.

use std::error::Error as _;
use std::io::ErrorKind;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use registry_core::api::Reason;
use serde_json::Value;

use super::dial::DialError;

/// Maximum number of bytes that are read of an error, and shown of a text.
const MAX_COMPLAINT_BYTES: usize = 64 * 1024;
/// Maximum number of characters of an error's text.
const MAX_COMPLAINT_CHARS: usize = 2048;

/// Error of an answer whose body cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// It is larger than this number of bytes. Not retryable.
    #[error("the answer is larger than {0} bytes")]
    TooLarge(usize),
    /// The connection broke. Retryable.
    #[error("{}", broken(.0))]
    Broken(#[source] hyper::Error),
    /// It cannot be read for another reason. Retryable.
    #[error(transparent)]
    Other(Box<dyn std::error::Error + Send + Sync>),
}

/// Reads the body of an answer.
///
/// # Errors
/// Fails if it is larger than this, or breaks off.
pub async fn read(body: Incoming, max_bytes: usize) -> Result<Bytes, AnswerError> {
    match Limited::new(body, max_bytes).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(AnswerError::TooLarge(max_bytes)),
        Err(error) => Err(match error.downcast::<hyper::Error>() {
            Ok(error) => AnswerError::Broken(*error),
            Err(error) => AnswerError::Other(error),
        }),
    }
}

/// Returns the error of an answer whose status is not one of success.
pub async fn refused(status: StatusCode, headers: &HeaderMap, body: Incoming) -> String {
    let body = read(body, MAX_COMPLAINT_BYTES).await.unwrap_or_default();
    if let Some(message) = status_message(&body) {
        return message;
    }
    let media_type = headers.get(CONTENT_TYPE).map(|value| value.to_str().unwrap_or_default());
    let text: String = match media_type {
        Some(media_type) if !media_type.starts_with("text/") => "unknown".to_owned(),
        _ => String::from_utf8_lossy(&body).trim().chars().take(MAX_COMPLAINT_CHARS).collect(),
    };
    without_status(status, text).1
}

/// Returns client-go's reason and message for an answer with this status whose body is no `Status`, but this text.
/// (`NewGenericServerResponse`)
pub fn without_status(status: StatusCode, text: String) -> (Reason, String) {
    let (reason, message) = match status.as_u16() {
        400 => (Reason::BadRequest, "the server rejected our request for an unknown reason"),
        401 => (Reason::Unauthorized, "the server has asked for the client to provide credentials"),
        403 => return (Reason::Forbidden, text),
        404 => (Reason::NotFound, "the server could not find the requested resource"),
        405 => (Reason::MethodNotAllowed, "the server does not allow this method on the requested resource"),
        406 if matches!(&*text, "" | "unknown") => {
            let message = "the server was unable to respond with a content type that the client supports";
            (Reason::NotAcceptable, message)
        }
        406 => return (Reason::NotAcceptable, text),
        409 => (Reason::Conflict, "the server reported a conflict"),
        415 => return (Reason::UnsupportedMediaType, text),
        422 => (Reason::Invalid, "the server rejected our request due to an error in our request"),
        429 => {
            let message = "the server has received too many requests and has asked us to try again later";
            (Reason::TooManyRequests, message)
        }
        503 => (Reason::ServiceUnavailable, "the server is currently unable to handle the request"),
        504 => {
            let message = "the server was unable to return a response in the time allotted, but may still be processing \
                           the request";
            (Reason::Timeout, message)
        }
        code if code >= 500 => {
            let message =
                format!("an error on the server ({text:?}) has prevented the request from succeeding");
            return (Reason::InternalError, message);
        }
        code => {
            let message = format!(
                "the server responded with the status code {code} but did not return more information"
            );
            return (Reason::Unknown, message);
        }
    };
    (reason, message.to_owned())
}

/// Returns the message of a body that is a `Status`.
fn status_message(body: &[u8]) -> Option<String> {
    let body: Value = serde_json::from_slice(body).ok()?;
    if body.get("kind")? != "Status" {
        return None;
    }
    let message = body.get("message")?.as_str().filter(|message| !message.is_empty())?;
    Some(message.chars().take(MAX_COMPLAINT_CHARS).collect())
}

/// Returns the text of a request without an answer.
pub fn request_failed(error: &legacy::Error) -> String {
    let Some(source) = error.source() else { return error.to_string() };
    if let Some(dial) = source.downcast_ref::<DialError>() {
        return dial.to_string();
    }
    source.downcast_ref::<hyper::Error>().map_or_else(|| source.to_string(), broken)
}

/// Whether another attempt of a request without an answer may succeed.
pub(super) fn is_retryable(error: &legacy::Error) -> bool {
    let Some(source) = error.source() else { return false };
    if let Some(DialError::Connect { source, .. }) = source.downcast_ref() {
        return source.kind() == ErrorKind::ConnectionReset;
    }
    source.downcast_ref().is_some_and(is_closed)
}

/// Whether the server closed the connection before it answered.
fn is_closed(error: &hyper::Error) -> bool {
    let io = io_error(error).map(std::io::Error::kind);
    error.is_canceled()
        || error.is_closed()
        || error.is_incomplete_message()
        || matches!(io, Some(ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe))
}

/// Returns the text of a connection that broke.
fn broken(error: &hyper::Error) -> String {
    match (io_error(error).map(std::io::Error::kind), error.source()) {
        (Some(ErrorKind::ConnectionReset), _) => "read: connection reset by peer".to_owned(),
        _ if is_closed(error) => "EOF".to_owned(),
        (_, Some(source)) => format!("{error}: {source}"),
        (_, None) => error.to_string(),
    }
}

fn io_error(error: &hyper::Error) -> Option<&std::io::Error> {
    error.source().and_then(|source| source.downcast_ref())
}
