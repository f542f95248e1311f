//! Opens the backend for a storage type.
//!
//! Kubernetes concept: `--storage-backend`, `storagebackend/factory`.

use std::str::FromStr;
use std::sync::Arc;

#[cfg(feature = "embedded")]
use super::embedded::{Embedded, EmbeddedOptions, OpenError};
#[cfg(feature = "etcd3")]
use super::etcd3::{ConnectError, Etcd3, Etcd3Options};
use super::mvcc::Mvcc;

/// The supported backends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendType {
    /// In this process, durable. The default.
    Embedded,
    /// A real etcd.
    Etcd3,
}

/// A backend with the configuration needed to open it.
#[derive(Clone, Debug)]
pub enum BackendConfig {
    /// In this process.
    #[cfg(feature = "embedded")]
    Embedded(EmbeddedOptions),
    /// A real etcd.
    #[cfg(feature = "etcd3")]
    Etcd3(Etcd3Options),
}

/// An error while opening a backend.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// A backend that is no longer supported. Not retryable.
    #[error(
        "{0} is no longer a supported storage backend; use \"etcd3\" (after migrating the data) or \"embedded\""
    )]
    Retired(String),
    /// Unknown backend. Not retryable.
    #[error("unknown storage type: {0}; use \"embedded\" or \"etcd3\"")]
    Unknown(String),
    /// The embedded store cannot be opened.
    #[cfg(feature = "embedded")]
    #[error(transparent)]
    Embedded(#[from] OpenError),
    /// etcd cannot be used.
    #[cfg(feature = "etcd3")]
    #[error(transparent)]
    Etcd3(#[from] ConnectError),
}

// === impl BackendType ===

impl FromStr for BackendType {
    type Err = BackendError;

    fn from_str(name: &str) -> Result<Self, BackendError> {
        match name {
            "embedded" => Ok(Self::Embedded),
            "etcd3" => Ok(Self::Etcd3),
            "etcd2" => Err(BackendError::Retired(name.to_owned())),
            _ => Err(BackendError::Unknown(name.to_owned())),
        }
    }
}

// === impl BackendConfig ===

impl BackendConfig {
    /// Opens the backend.
    #[cfg_attr(not(feature = "etcd3"), allow(clippy::unused_async, reason = "only etcd is waited for"))]
    pub async fn open(self) -> Result<Arc<dyn Mvcc>, BackendError> {
        match self {
            #[cfg(feature = "embedded")]
            Self::Embedded(options) => Ok(Embedded::open(options)?),
            #[cfg(feature = "etcd3")]
            Self::Etcd3(options) => Ok(Etcd3::connect(options).await?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_backends_or_to_advice() {
        assert_eq!("embedded".parse::<BackendType>().unwrap(), BackendType::Embedded);
        assert_eq!("etcd3".parse::<BackendType>().unwrap(), BackendType::Etcd3);
        let retired = "etcd2".parse::<BackendType>().unwrap_err().to_string();
        assert!(retired.starts_with("etcd2 is no longer a supported storage backend"), "{retired}");
        let unknown = "consul".parse::<BackendType>().unwrap_err().to_string();
        assert_eq!(unknown, "unknown storage type: consul; use \"embedded\" or \"etcd3\"");
    }
}
