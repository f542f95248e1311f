//! Requests of tests that fail.

use http::StatusCode;

use crate::clients::{AnswerError, CallFailure, SettingsError};

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
    /// The answer is no success.
    #[error("{status}: {body}")]
    Refused {
        /// The status.
        status: StatusCode,
        /// The text.
        body: String,
    },
    /// The answer is no JSON.
    #[error("{source}: {status}: {body}")]
    Json {
        /// The status.
        status: StatusCode,
        /// The text.
        body: String,
        /// The mistake.
        source: serde_json::Error,
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
