//! Objects that are kept outside of this server: in a table, a directory, or another API.
//!
//! A [`Backend`] loads and changes plain objects. The engine around it gives them what every store has: revisions, conditional
//! writes, lists at a revision, and watches, which also show the changes that others make in the backend.
//!
//! Kubernetes concept: an own [`rest.Storage`](https://pkg.go.dev/k8s.io/apiserver/pkg/registry/rest) of an extension server.

use std::time::Duration;

use bytes::Bytes;

/// Keeps the objects of one resource. Its methods are called by one thread, which may block; an async client is called with
/// `tokio::runtime::Handle::block_on`.
///
/// All objects are in memory, as in a watch cache: [`load`](Self::load) is called at the start, and reads do not reach the
/// backend. One server at a time writes to a backend.
///
/// Revisions exist only in this process: after a restart, every object has a newer resource version, and clients list again.
pub trait Backend: Send + Sync + 'static {
    /// Returns all objects as they are now.
    ///
    /// # Errors
    /// Fails if they cannot be read. At the start the server does not start; later, writes are refused until it succeeds.
    fn load(&self) -> Result<Vec<BackendObject>, BackendError>;

    /// Makes the changes durable, in their order, at most one for each object. They were validated and admitted.
    ///
    /// # Errors
    /// Fails if a change could not be made. Clients get a `Status` of 500 with the text among its causes; writes are refused until
    /// [`load`](Self::load) succeeds, which shows which changes were made nevertheless.
    fn commit(&self, changes: &[BackendChange]) -> Result<(), BackendError>;

    /// Returns the interval at which objects are loaded again, because others may have changed them. `None`: nobody else
    /// changes them.
    fn reload_interval(&self) -> Option<Duration> {
        None
    }
}

/// The error of a backend. Its text is logged, and shown to clients whose write fails.
pub type BackendError = Box<dyn std::error::Error + Send + Sync>;

/// The name of an object in a backend.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BackendName {
    /// The namespace; `None` for a cluster-scoped resource.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

/// An object in a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendObject {
    /// Its name.
    pub name: BackendName,
    /// The object, as JSON, with `apiVersion`, `kind` and `metadata`. The metadata has at least a `uid`, which identifies the
    /// object between its creation and its deletion.
    pub json: Bytes,
}

/// A change of an object in a backend.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackendChange {
    /// The name of the object.
    pub name: BackendName,
    /// The object from now on; `None`: it is deleted.
    pub json: Option<Bytes>,
}

// === impl BackendName ===

impl BackendName {
    /// Returns the name that a key stands for, which begins with the prefix of its resource.
    pub(super) fn from_key(prefix: &str, key: &str) -> Option<Self> {
        let path = key.strip_prefix(prefix)?;
        let (namespace, name) = match path.split_once('/') {
            Some((namespace, name)) => (Some(namespace.to_owned()), name),
            None => (None, path),
        };
        Some(Self { namespace, name: name.to_owned() })
    }

    /// Returns the key of the name.
    pub(super) fn key(&self, prefix: &str) -> String {
        match &self.namespace {
            Some(namespace) => format!("{prefix}{namespace}/{}", self.name),
            None => format!("{prefix}{}", self.name),
        }
    }
}
