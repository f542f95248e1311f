//! Commands that fail.

use std::io;
use std::path::{Path, PathBuf};

use axum::BoxError;
use clients::CallFailure;
#[cfg(feature = "embedded")]
use registry_core::storage::embedded::maintenance::MaintenanceError;
#[cfg(feature = "embedded")]
use registry_core::storage::transfer::TransferError;

use crate::pki::PkiError;
use crate::server::error::ServerError;

/// Error of a command, or of the server. Not retryable.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommandError {
    #[error(transparent)]
    Server(#[from] ServerError),
    #[error(transparent)]
    Pki(#[from] PkiError),
    /// The operating system refuses a runtime, or to write to stdout.
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("cannot read {}: {source}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("cannot write {}: {source}", .path.display())]
    Write { path: PathBuf, source: io::Error },

    #[error("--user and --group must not be empty")]
    NoUser,
    #[error("--expires must be {0}")]
    Expires(&'static str),
    #[error("{}: {source}; start a server with this directory first, or name the --data-dir of one that was started", .path.display())]
    Kubeconfig { path: PathBuf, source: BoxError },
    #[error(transparent)]
    Json(#[from] serde_json::Error),

    #[error("name a service account, as NAMESPACE/NAME, or give --user with --file")]
    NoSubject,
    #[error("the server cannot be asked for the uid of the account: {0}; start it, or give --uid")]
    Lookup(#[source] BoxError),
    #[error("serviceaccounts {0:?} not found")]
    NoAccount(String),
    /// The server refuses to name the uid.
    #[error(transparent)]
    Refused(CallFailure),
    #[error("--uid must not be empty")]
    EmptyUid,
    #[error(
        "--user and --group cannot contain commas, quotes or line breaks: the file has them between names"
    )]
    Delimiter,
    #[error("{}: {source}", .path.display())]
    TokenFile { path: PathBuf, source: BoxError },

    #[error("{flag}: {value:?} must consist of lower case letters, digits and -")]
    NoLabel { flag: &'static str, value: String },
    #[error("--ca-file: {}: {source}", .path.display())]
    AuthorityFile { path: PathBuf, source: io::Error },

    #[error("test: an extension server cannot take the place of kube-apiserver: use apiserver")]
    ExtensionAssets,
    #[error("this program cannot be found: {0}")]
    NoProgram(#[source] io::Error),
    #[error("{} is another program: remove it, or name another directory", .0.display())]
    OtherProgram(PathBuf),
    #[error("{}: {source}", .path.display())]
    Index { path: PathBuf, source: BoxError },

    #[cfg(feature = "embedded")]
    #[error(transparent)]
    Maintenance(#[from] MaintenanceError),
    #[cfg(feature = "embedded")]
    #[error(transparent)]
    Transfer(#[from] TransferError),
    /// A move while servers go on has ended before its time.
    #[cfg(all(feature = "embedded", feature = "etcd3"))]
    #[error("{source}; {hint}")]
    Follow { source: TransferError, hint: &'static str },
    #[cfg(feature = "embedded")]
    #[error(
        "only the embedded store is backed up: leave --etcd-servers out, or save an etcd with `etcdctl snapshot save`"
    )]
    BacksUpEtcd,
    #[cfg(feature = "embedded")]
    #[error("damaged:\n{}", .0.join("\n"))]
    Damaged(Vec<String>),
    #[cfg(feature = "embedded")]
    #[error("the backup has a file {0:?}, which is not a key or certificate of a server")]
    ForeignFile(String),

    /// The arguments of the program in the place of etcd.
    #[error(transparent)]
    Arguments(BoxError),
    #[error("cannot listen on {address}: {source}")]
    Listen { address: String, source: io::Error },
}

// === impl CommandError ===

impl CommandError {
    /// Returns the file that the error is about, if its text does not say which file it is.
    pub(super) fn file(&self) -> Option<&Path> {
        match self {
            Self::Server(error) => error.file(),
            Self::Pki(error) => error.file(),
            Self::Read { path, .. } | Self::Write { path, .. } => Some(path),
            _ => None,
        }
    }

    /// Returns what makes the error of a file that cannot be read.
    #[cfg(feature = "embedded")]
    pub(super) fn read(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Read { path: path.to_owned(), source }
    }

    /// Returns what makes the error of a file or directory that cannot be written.
    pub(super) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Write { path: path.to_owned(), source }
    }
}
