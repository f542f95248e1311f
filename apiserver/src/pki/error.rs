//! Errors of keys and certificates.

use std::path::{Path, PathBuf};

use rustls::CertificateError;
use rustls_pki_types::pem;

use certificates::{KeyError, NotX509, certificate_text, pem_text, text};

/// Error of keys or certificates. Not retryable, except when the disk is full.
#[derive(Debug, thiserror::Error)]
pub enum PkiError {
    /// A file cannot be read.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// A file or directory cannot be written.
    #[error("cannot write {path}: {source}")]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// A file contains no usable certificate or key.
    #[error("{path} cannot be used: {source}")]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: UnusableFile,
    },
    /// A certificate cannot be created.
    #[error("cannot make a certificate: {0}")]
    Issue(#[from] rcgen::Error),
}

// === impl PkiError ===

impl PkiError {
    /// Returns the file or directory that the error is about.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::Read { path, .. } | Self::Write { path, .. } | Self::Unusable { path, .. } => Some(path),
            Self::Issue(_) => None,
        }
    }
}

/// The reason that a file contains no usable certificate or key. Not retryable before it changes.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct UnusableFile(#[from] FileFault);

/// A fault of a file with certificates or keys.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileFault {
    #[error(
        "it does not exist: start a server with this directory first, or name the --data-dir of one that was started"
    )]
    Absent,
    #[error(
        "it does not exist: start a server with this directory first, or give --service-account-signing-key-file, \
         as to the server"
    )]
    NoSigningKey,
    #[error("it holds no certificate")]
    NoCertificate,
    #[error("{}", pem_text(.0))]
    Pem(#[source] pem::Error),
    #[error(transparent)]
    NotX509(#[from] NotX509),
    #[error("{}", certificate_text(.0))]
    Certificate(CertificateError),
    #[error(transparent)]
    Key(#[from] KeyError),
    #[error("{}", text(.0))]
    Tls(#[source] rustls::Error),
    #[error("it is not the key of the certificate in {0}")]
    OtherCertificate(PathBuf),
    /// The certificates and keys of a generated authority.
    #[error(
        "{0}.key is not its key: restore the key from a backup, or remove both files to create a new authority, which \
         invalidates all certificates of this one"
    )]
    OtherKey(&'static str),
    #[error(
        "its key {0} is missing: restore it from a backup, or remove the certificate to create a new authority, which \
         invalidates all certificates of this one"
    )]
    NoKey(PathBuf),
    #[error("it has no RSA, P-256, P-384 or Ed25519 key")]
    KeyType,
    #[error("no certificate authority in it is valid now: is the clock right?")]
    NoValidAuthority,
    #[error("the certificate authority ends before the certificate would: choose a shorter time")]
    AuthorityEnds,
    #[error("it holds too many certificate authorities: remove those that are not in use")]
    TooManyAuthorities,
    #[error("it has no host names, and none are given")]
    NoNames,
    #[error(
        "--requestheader-client-ca-file and --client-ca-file contain overlapping certificates; \
         --requestheader-allowed-names must be specified to ensure regular client certificates cannot set \
         authenticating proxy headers for arbitrary users"
    )]
    Overlapping,
    /// A key that signs tokens.
    #[error("it holds no RSA, P-256 or P-384 key")]
    NoTokenKey,
    #[error("the program that listens there signs the tokens: request one from the server")]
    SignedElsewhere,
    #[error(transparent)]
    Claims(#[from] serde_json::Error),
    #[error("it cannot sign")]
    CannotSign,
}

// === impl FileFault ===

impl FileFault {
    /// Returns the error of a file with this fault.
    pub(crate) fn in_file(self, path: &Path) -> PkiError {
        PkiError::Unusable { path: path.to_owned(), source: self.into() }
    }
}
