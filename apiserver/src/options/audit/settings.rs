//! The settings of audit backends that the flags describe.

use std::time::Duration;

/// The way in which requests use a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Requests never wait; events that the full queue does not take are lost.
    Batch,
    /// Requests wait until their events are delivered, or have failed to be.
    Blocking,
    /// As `Blocking`; requests whose first event cannot be delivered are refused.
    BlockingStrict,
}

/// A name that a flag of audit does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName(pub String);

/// The events that are delivered together, and how often.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BatchConfig {
    /// Maximum number of queued events.
    pub(crate) buffer_size: usize,
    /// Maximum number of events of a batch.
    pub(crate) max_size: usize,
    /// Maximum time that an event waits for its batch to become full.
    pub(crate) max_wait: Duration,
    /// The limit on the rate of batches; `None` is no limit.
    pub(crate) throttle: Option<Throttle>,
}

/// A limit on the rate of batches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Throttle {
    /// The average number per second.
    pub(crate) per_second: f32,
    /// The number at once after a pause.
    pub(crate) burst: usize,
}

/// Format of the lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// JSON.
    Json,
    /// Kubernetes' text for people.
    Legacy,
}

/// The size of a file that is replaced, and the former files that are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Retention {
    /// Maximum size of a file; `None` is no limit.
    pub(crate) max_bytes: Option<u64>,
    /// Maximum age of former files; `None` is no limit.
    pub(crate) max_age: Option<Duration>,
    /// Maximum number of former files; `None` is no limit.
    pub(crate) max_backups: Option<usize>,
    /// Whether former files are compressed.
    pub(crate) compresses: bool,
}

/// Limits of events and batches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TruncateConfig {
    /// Maximum size of an event, in bytes of JSON.
    pub(crate) max_event_bytes: usize,
    /// Maximum size of the events of a batch.
    pub(crate) max_batch_bytes: usize,
}
