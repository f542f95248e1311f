//! The errors of this crate.

use std::path::PathBuf;

/// A server cannot be started.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The server itself does not start: its flags are wrong, or the machine refuses.
    #[error(transparent)]
    Server(#[from] apiserver::ServerError),
    /// A file with definitions cannot be read.
    #[error("cannot read {}: {reason}", path.display())]
    File {
        /// The file or directory.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// A definition is refused by the server, or does not become established.
    #[error("cannot define {name:?}: {reason}")]
    Definition {
        /// The name of the definition.
        name: String,
        /// The answer of the server, or the conditions of the definition.
        reason: String,
    },
    /// A client cannot be made.
    #[error(transparent)]
    Client(#[from] RequestError),
}

/// A request is not answered with success.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{method} {path}: {reason}")]
pub struct RequestError {
    /// The HTTP method.
    pub method: String,
    /// The path with its query.
    pub path: String,
    /// The status with the body of the answer; without an answer, the reason for that.
    pub reason: String,
}

/// A snapshot cannot be read or restored.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct SnapshotError(pub(crate) String);
