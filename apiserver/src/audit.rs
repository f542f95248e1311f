//! The audit log: who requested what, when, and the outcome.
//!
//! ```text
//! filters ─ Auditor: policy → level ─ Recording ─ stages ─ Event ─┬─ DirectLog, or Sink ─ log: a file with rotation
//!                                                                 └─ Sink ─ webhook: POSTs of EventLists
//! ```
//!
//! Modules depend only on modules below them in this list:
//!
//! | module | contents |
//! |---|---|
//! | `auditor` | decides by the policy which requests are recorded |
//! | `recording` | the events of a request |
//! | `source` | the addresses that a request came from |
//! | `backends` | the backends, and the delivery of an event to each of them |
//! | `log`, `webhook` | a backend each; `log::direct` writes without a queue, for requests that wait |
//! | `sink` | the bounded queue in front of a backend, and its modes |
//! | `truncate` | the limit on the size of events |
//! | [`event`] | an event, and its forms |
//! | [`policy`] | the policy file: the level of a request |
//!
//! Without a policy nothing is recorded, and requests cost nothing. In mode `blocking`, the default of the log, a request
//! writes its events itself, those of a read together. In mode `batch`, another thread encodes and writes them; a queue is
//! never longer than its flag says, and events that do not fit are dropped and counted, so that neither a slow disk nor a slow
//! webhook delays requests.
//!
//! Kubernetes concept: [auditing](https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/).

use std::io;
use std::path::PathBuf;

mod auditor;
mod backends;
pub mod event;
mod log;
pub mod policy;
mod recording;
mod sink;
mod source;
mod truncate;
mod webhook;

pub use crate::options::Mode;
pub(crate) use auditor::Auditor;
pub(crate) use recording::{Origin, Recording};

use clients::SettingsError;
use policy::PolicyError;

/// An audit policy or backend cannot be used. Not retryable.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The policy file cannot be read.
    #[error("loading audit policy file: failed to read file path {:?}: {source}", .path.display().to_string())]
    UnreadablePolicy {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The policy is not valid.
    #[error("loading audit policy file: {source}: from file {}", .path.display())]
    Policy {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: PolicyError,
    },
    /// The log cannot be opened.
    #[error("ensureLogFile: open {}: {source}", .path.display())]
    Log {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The kubeconfig of the webhook cannot be used.
    #[error("initializing audit webhook: {0}")]
    Webhook(#[source] SettingsError),
    /// The operating system starts no thread.
    #[error("the thread of an audit backend cannot be started: {0}")]
    Thread(#[source] io::Error),
}
