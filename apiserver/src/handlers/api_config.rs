//! The configuration of the API.

use std::sync::Arc;
use std::time::Duration;

use openapi::DescriptionsSource;
use registry_core::storage::EncodingBudget;
use tokio_util::task::TaskTracker;

use crate::metrics::RequestMetrics;
use crate::options::DEFAULT_MIN_REQUEST_TIMEOUT_SECONDS;

/// Maximum size of cached encodings unless a server's watch caches share a budget with them, in bytes.
const DEFAULT_ENCODINGS_BYTES: usize = 16 * 1024 * 1024;

/// Configuration of the API, beside the installed storages.
#[derive(Clone, Debug)]
pub struct ApiConfig {
    /// Returns descriptions of types for OpenAPI documents.
    pub descriptions: DescriptionsSource,
    /// Whether CBOR is supported.
    pub cbor: bool,
    /// Whether lists and watches can be of a shard.
    pub shards: bool,
    /// Whether objects can be deleted whose stored values cannot be read.
    pub corrupt_object_deletion: bool,
    /// The memory budget of cached encodings of stored objects.
    pub encodings: Arc<EncodingBudget>,
    /// The metrics of requests.
    pub metrics: RequestMetrics,
    /// The durations of watches.
    pub watches: WatchTimes,
}

/// The durations of watches.
#[derive(Clone, Debug)]
pub struct WatchTimes {
    /// Minimum duration of a watch whose client asks for none.
    pub minimum: Duration,
    /// Time over which the end of watches is spread at the shutdown.
    pub grace_period: Duration,
    /// Counts the watches that run.
    pub running: TaskTracker,
}

// === impl ApiConfig ===

impl Default for ApiConfig {
    fn default() -> Self {
        let encodings = Arc::new(EncodingBudget::new(DEFAULT_ENCODINGS_BYTES));
        Self {
            descriptions: || None,
            cbor: false,
            shards: false,
            corrupt_object_deletion: false,
            encodings,
            metrics: RequestMetrics::default(),
            watches: WatchTimes::default(),
        }
    }
}

// === impl WatchTimes ===

impl Default for WatchTimes {
    fn default() -> Self {
        Self {
            minimum: Duration::from_secs(DEFAULT_MIN_REQUEST_TIMEOUT_SECONDS.into()),
            grace_period: Duration::ZERO,
            running: TaskTracker::new(),
        }
    }
}
