//! Calls without an answer of success.

use std::error::Error as _;
use std::sync::Arc;

use http::{Method, StatusCode};
use hyper_util::client::legacy;

use super::answer::{AnswerError, is_retryable, request_failed};
use super::dial::DialError;

/// Error of a call without an answer of success. The texts are client-go's.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CallFailure {
    /// A request failed.
    #[error("{} {url:?}: {source}", capitalized(.method))]
    Request {
        /// The method.
        method: Method,
        /// The URL.
        url: String,
        /// The reason.
        source: Box<Self>,
    },
    /// The request cannot be made. Not retryable.
    #[error("{0}")]
    Malformed(#[source] Arc<http::Error>),
    /// There is no answer. Retryable if the connection was closed.
    #[error("{}", request_failed(.0))]
    Unanswered(#[source] Arc<legacy::Error>),
    /// The answer cannot be read. Retryable.
    #[error("{0}")]
    Unreadable(#[source] Arc<AnswerError>),
    /// The answer is none of success. Retryable if it asks for that, or if its status says so.
    #[error("unexpected status {status}")]
    Status {
        /// The status.
        status: StatusCode,
        /// Whether it has a time after which the call may be repeated.
        asks_for_delay: bool,
    },
    /// There is no answer in time. Not retryable.
    #[error("context deadline exceeded")]
    Late,
    /// The server that is called is this one, and has ended. Not retryable.
    #[error("the server has ended")]
    Ended,
}

// === impl CallFailure ===

impl CallFailure {
    /// Returns the status of the answer, if there is one.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Request { source, .. } => source.status(),
            Self::Status { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// Returns the reason for which there is no connection, if that is what failed.
    pub fn dial_error(&self) -> Option<&DialError> {
        match self {
            Self::Request { source, .. } => source.dial_error(),
            Self::Unanswered(error) => error.source()?.downcast_ref(),
            _ => None,
        }
    }

    /// Whether another attempt may succeed.
    ///
    /// Kubernetes concept: `DefaultShouldRetry` of `k8s.io/apiserver/pkg/util/webhook`.
    pub fn is_temporary(&self) -> bool {
        match self {
            Self::Request { source, .. } => source.is_temporary(),
            Self::Unanswered(error) => is_retryable(error),
            Self::Unreadable(_) => true,
            Self::Status { status, asks_for_delay } => {
                *asks_for_delay || matches!(status.as_u16(), 429 | 500 | 504)
            }
            Self::Malformed(_) | Self::Late | Self::Ended => false,
        }
    }

    /// Whether the time was over.
    pub fn is_timeout(&self) -> bool {
        match self {
            Self::Request { source, .. } => source.is_timeout(),
            Self::Status { status, .. } => *status == StatusCode::GATEWAY_TIMEOUT,
            other => matches!(other, Self::Late),
        }
    }
}

/// Returns a method as client-go shows it.
fn capitalized(method: &Method) -> String {
    let mut name = method.as_str().to_owned();
    if let Some(rest) = name.get_mut(1..) {
        rest.make_ascii_lowercase();
    }
    name
}
