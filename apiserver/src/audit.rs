//! The audit log: who requested what, when, and the outcome.
//!
//! ```text
//! filters ─ Auditor: policy → level ─ Recording ─ stages ─ Event ─┬─ DirectLog, or Sink ─ log: a file with rotation
//!                                                                 └─ Sink ─ webhook: POSTs of EventLists
//! ```
//!
//! | module | contents |
//! |---|---|
//! | `auditor`, `recording` | from the policy to the events of a request |
//! | [`policy`] | the policy file: the level of a request |
//! | [`event`] | an event, and its forms |
//! | `source` | the addresses that a request came from |
//! | `sink` | the bounded queue in front of a backend, and its modes |
//! | `truncate` | the limit on the size of events |
//! | `log`, `webhook` | the backends; `log::direct` writes without a queue, for requests that wait |
//!
//! Without a policy nothing is recorded, and requests cost nothing. In mode `blocking`, the default of the log, a request
//! writes its events itself, those of a read together. In mode `batch`, another thread encodes and writes them; a queue is
//! never longer than its flag says, and events that do not fit are dropped and counted, so that neither a slow disk nor a slow
//! webhook delays requests.
//!
//! Kubernetes concept: [auditing](https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/).

mod auditor;
pub mod event;
mod log;
pub mod policy;
mod recording;
mod sink;
mod source;
mod truncate;
mod webhook;

pub use crate::options::Mode;
pub(crate) use auditor::{Auditor, Origin, check_policy};
pub(crate) use recording::Recording;

/// An audit policy or backend cannot be used. Not retryable.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct AuditError(pub String);
