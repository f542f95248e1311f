//! The options of an embedded store.

use std::path::PathBuf;
use std::time::Duration;

use registry_meta::clock::Clock;

use super::log::fjall::FjallOptions;
use crate::metrics::CommitMetrics;
#[cfg(doc)]
use crate::mvcc::Mvcc;

/// Minimum gain of rewriting the log, in bytes; its journals take as much.
const RECLAIM_BYTES_MIN: u64 = 64 * 1024 * 1024;

/// Options of an embedded store. [`EmbeddedOptions::new`] returns the defaults.
#[derive(Clone, Debug)]
pub struct EmbeddedOptions {
    /// The data directory; created if missing. Only one process at a time may use it.
    pub directory: PathBuf,
    /// Maximum size of a key with its value, in bytes. Default 1.5 MiB, as in etcd, so that the data can be moved to
    /// etcd.
    pub write_bytes_max: usize,
    /// Maximum number of requests queued for the writer; further ones are refused as overload. Default 4,096.
    pub queue_writes_max: usize,
    /// Maximum size of the queued requests, in bytes. Default 64 MiB.
    pub queue_bytes_max: usize,
    /// Interval between progress notifications of a watch without events. Default `None`: on request only.
    pub progress_interval: Option<Duration>,
    /// Automatic compaction by the store; `None` leaves it to [`Mvcc::compact`] and `history_revisions_max`.
    pub auto_compaction: Option<AutoCompaction>,
    /// Maximum number of revisions of history; older ones are compacted regardless of their age, because the index
    /// holds them in memory (about 100 bytes each). Default 500,000 revisions.
    pub history_revisions_max: u64,
    /// Maximum size of the log's block cache in memory, in bytes. Default 8 MiB.
    pub block_cache_bytes: u64,
    /// Size of the log's memtable at which it writes a table, in bytes (several memtables may exist at once, and a
    /// flushed one leaves fragmented memory behind). Default 8 MiB.
    pub memtable_bytes: u64,
    /// Metrics of commits. Default: none.
    pub metrics: CommitMetrics,
    /// The time that leases end by. It goes on steadily while the store is open: only what the machine's clock shows when the store is
    /// opened counts. Default: the machine's.
    pub clock: Clock,
}

/// Automatic compaction by the store.
///
/// Kubernetes concept: `--etcd-compaction-interval`.
#[derive(Clone, Copy, Debug)]
pub struct AutoCompaction {
    /// Interval between compactions. Default one minute.
    pub interval: Duration,
    /// Age up to which history is kept. Default five minutes.
    pub retain: Duration,
    /// Minimum number of revisions kept, regardless of their age. Default 1,000.
    pub retain_revisions: u64,
}

// === impl EmbeddedOptions ===

impl EmbeddedOptions {
    /// Returns the default options for a directory.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            write_bytes_max: 1536 * 1024,
            queue_writes_max: 4096,
            queue_bytes_max: 64 * 1024 * 1024,
            progress_interval: None,
            auto_compaction: Some(AutoCompaction::default()),
            history_revisions_max: 500_000,
            block_cache_bytes: 8 * 1024 * 1024,
            memtable_bytes: 8 * 1024 * 1024,
            metrics: CommitMetrics::default(),
            clock: Clock::default(),
        }
    }
}

impl EmbeddedOptions {
    pub(super) fn disk(&self) -> FjallOptions {
        FjallOptions {
            block_cache_bytes: self.block_cache_bytes,
            memtable_bytes: self.memtable_bytes,
            reclaim_bytes_min: RECLAIM_BYTES_MIN,
        }
    }
}

impl Default for AutoCompaction {
    fn default() -> Self {
        Self { interval: Duration::from_mins(1), retain: Duration::from_mins(5), retain_revisions: 1000 }
    }
}
