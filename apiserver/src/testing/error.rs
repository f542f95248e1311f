//! Requests of tests that fail.

use clients::{AnswerError, CallFailure, SettingsError};
use http::StatusCode;
use serde_json::Value;

/// Error of a request to a test server.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The administrator's kubeconfig cannot be used.
    #[error(transparent)]
    Settings(#[from] SettingsError),
    /// There is no such method or path.
    #[error(transparent)]
    Request(#[from] http::Error),
    /// There is no answer.
    #[error(transparent)]
    Call(#[from] CallFailure),
    /// The answer broke off.
    #[error(transparent)]
    Answer(#[from] AnswerError),
    /// The answer has a status other than success.
    #[error("{status}: {body}")]
    Refused {
        /// The status.
        status: StatusCode,
        /// The text.
        body: String,
    },
    /// The answer is not JSON.
    #[error("{source}: {status}: {body}")]
    Json {
        /// The status.
        status: StatusCode,
        /// The text.
        body: String,
        /// The mistake.
        source: serde_json::Error,
    },
    /// An event of a watch is not JSON.
    #[error(transparent)]
    Event(#[from] serde_json::Error),
    /// An object does not become as expected.
    #[error("{collection}/{name} stays {last}")]
    Stays {
        /// The path of the list that has the object.
        collection: String,
        /// The name of the object.
        name: String,
        /// The object as it was seen last.
        last: Value,
    },
    /// There is no answer in time.
    #[error("{method} {path}: no answer in time")]
    Late {
        /// The method of the request.
        method: String,
        /// The path of the request.
        path: String,
    },
}
