//! The metrics of storage: name, help text, labels and buckets.

use super::families::Definition;

/// Buckets for request durations, in seconds: finer around usual service levels.
pub const REQUEST_SECONDS: &[f64] = &[
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0,
    20.0, 30.0, 45.0, 60.0,
];
/// Buckets for the time reads wait for a cache, in seconds.
const READ_WAIT_SECONDS: &[f64] = &[0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0];
/// Buckets for durations of durable commits, in seconds: from fast disks to failing ones.
const COMMIT_SECONDS: &[f64] =
    &[0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0];
/// Buckets for the number of writes per commit.
const WRITES: &[f64] = &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

const NONE: &[&str] = &[];
const RESOURCE: &[&str] = &["group", "resource"];
const CACHE_LIST: &[&str] = &["group", "resource", "index"];
const OPERATION: &[&str] = &["operation", "group", "resource"];

pub(super) const CACHE_LISTS: Definition = Definition::new(
    "apiserver_cache_list_total",
    "Number of LIST requests served from watch cache",
    CACHE_LIST,
);

pub(super) const CACHE_LIST_FETCHED: Definition = Definition::new(
    "apiserver_cache_list_fetched_objects_total",
    "Number of objects read from watch cache in the course of serving a LIST request",
    CACHE_LIST,
);

pub(super) const CACHE_LIST_RETURNED: Definition = Definition::new(
    "apiserver_cache_list_returned_objects_total",
    "Number of objects returned for a LIST request from watch cache",
    RESOURCE,
);

pub(super) const INIT_EVENTS: Definition = Definition::new(
    "apiserver_init_events_total",
    "Counter of init events processed in watch cache broken by resource type.",
    RESOURCE,
);

pub(super) const EVENTS_RECEIVED: Definition = Definition::new(
    "apiserver_watch_cache_events_received_total",
    "Counter of events received in watch cache broken by resource type.",
    RESOURCE,
);

pub(super) const EVENTS_DISPATCHED: Definition = Definition::new(
    "apiserver_watch_cache_events_dispatched_total",
    "Counter of events dispatched in watch cache broken by resource type.",
    RESOURCE,
);

pub(super) const TERMINATED_WATCHERS: Definition = Definition::new(
    "apiserver_terminated_watchers_total",
    "Counter of watchers closed due to unresponsiveness broken by resource type.",
    RESOURCE,
);

pub(super) const INITIALIZATIONS: Definition = Definition::new(
    "apiserver_watch_cache_initializations_total",
    "Counter of watch cache initializations broken by resource type.",
    RESOURCE,
);

pub(super) const CONSISTENT_READS: Definition = Definition::new(
    "apiserver_watch_cache_consistent_read_total",
    "Counter for consistent reads from cache.",
    &["group", "resource", "success", "fallback"],
);

pub(super) const READ_WAIT: Definition = Definition::new(
    "apiserver_watch_cache_read_wait_seconds",
    "Histogram of time spent waiting for a watch cache to become fresh.",
    RESOURCE,
)
.with_buckets(READ_WAIT_SECONDS);

pub(super) const CACHE_REVISION: Definition = Definition::new(
    "apiserver_watch_cache_resource_version",
    "Current resource version of watch cache broken by resource type. This is truncated to the 15 least significant digits.",
    RESOURCE,
);

pub(super) const CACHE_CAPACITY: Definition = Definition::new(
    "watch_cache_capacity",
    "Total capacity of watch cache broken by resource type, in events.",
    RESOURCE,
);

pub(super) const CACHE_OBJECT_BYTES: Definition = Definition::new(
    "orlop_watch_cache_object_bytes",
    "Size of the watch cache's present objects, in bytes.",
    RESOURCE,
);

pub(super) const CACHE_HISTORY_BYTES: Definition = Definition::new(
    "orlop_watch_cache_history_bytes",
    "Size of the watch cache's history without the present objects, in bytes.",
    RESOURCE,
);

pub(super) const CACHE_HISTORY_EVENTS: Definition = Definition::new(
    "orlop_watch_cache_history_events",
    "Number of events in the watch cache's history.",
    RESOURCE,
);

pub(super) const CACHE_WATCHERS: Definition =
    Definition::new("orlop_watch_cache_watchers", "Number of watches that the watch cache serves.", RESOURCE);

pub(super) const CACHE_LIMIT: Definition = Definition::new(
    "orlop_watch_cache_limit_bytes",
    "Maximum size of all watch caches together, in bytes (--watch-cache-memory).",
    NONE,
);

pub(super) const CACHE_USED: Definition =
    Definition::new("orlop_watch_cache_used_bytes", "Size of all watch caches together, in bytes.", NONE);

pub(super) const CACHE_ENCODINGS: Definition = Definition::new(
    "orlop_watch_cache_encoding_bytes",
    "Size of the encodings of all cached objects other than JSON, in bytes; not part of orlop_watch_cache_used_bytes.",
    NONE,
);

pub(super) const CACHE_HOLDS_OBJECTS: Definition = Definition::new(
    "orlop_watch_cache_holds_objects",
    "1 while the watch cache holds the present objects, 0 while reads of the resource go to the store.",
    RESOURCE,
);

pub(super) const CACHE_IS_FILLED: Definition = Definition::new(
    "orlop_watch_cache_is_filled",
    "1 while the watch cache follows the store, 0 while it cannot: at the start, and while a stored value cannot be read. \
     Reads of the resource then go to the store.",
    RESOURCE,
);

pub(super) const CACHE_EVICTIONS: Definition = Definition::new(
    "orlop_watch_cache_evictions_total",
    "Number of times that a watch cache dropped all its objects because the caches together exceeded --watch-cache-memory.",
    NONE,
);

pub(super) const ENGINE_REQUESTS: Definition = Definition::new(
    "etcd_requests_total",
    "Request counts of the engine (etcd or the embedded one) for each operation and object type.",
    OPERATION,
);

pub(super) const ENGINE_ERRORS: Definition = Definition::new(
    "etcd_request_errors_total",
    "Failed request counts of the engine for each operation and object type.",
    OPERATION,
);

pub(super) const ENGINE_SECONDS: Definition = Definition::new(
    "etcd_request_duration_seconds",
    "Request latency of the engine (etcd or the embedded one) in seconds for each operation and object type.",
    OPERATION,
)
.with_buckets(REQUEST_SECONDS);

pub(super) const STORAGE_LISTS: Definition =
    Definition::new("apiserver_storage_list_total", "Number of LIST requests served from storage", RESOURCE);

pub(super) const STORAGE_LIST_FETCHED: Definition = Definition::new(
    "apiserver_storage_list_fetched_objects_total",
    "Number of objects read from storage in the course of serving a LIST request",
    RESOURCE,
);

pub(super) const STORAGE_LIST_EVALUATED: Definition = Definition::new(
    "apiserver_storage_list_evaluated_objects_total",
    "Number of objects tested in the course of serving a LIST request from storage",
    RESOURCE,
);

pub(super) const STORAGE_LIST_RETURNED: Definition = Definition::new(
    "apiserver_storage_list_returned_objects_total",
    "Number of objects returned for a LIST request from storage",
    RESOURCE,
);

pub(super) const STORAGE_OBJECTS: Definition = Definition::new(
    "apiserver_storage_objects",
    "Number of stored objects split by kind. In case of a fetching error, the value will be -1.",
    &["resource"],
);

pub(super) const RESOURCE_OBJECTS: Definition = Definition::new(
    "apiserver_resource_objects",
    "Number of stored objects split by kind. In case of a fetching error, the value will be -1.",
    RESOURCE,
);

pub(super) const STORAGE_SIZE: Definition = Definition::new(
    "apiserver_storage_size_bytes",
    "Size of the storage database file physically allocated in bytes.",
    &["storage_cluster_id"],
);

pub(super) const COMMIT_DURATION: Definition = Definition::new(
    "orlop_embedded_commit_duration_seconds",
    "Duration of durable commits of the embedded engine in seconds, the disk's flush included.",
    NONE,
)
.with_buckets(COMMIT_SECONDS);

pub(super) const COMMIT_WRITES: Definition = Definition::new(
    "orlop_embedded_commit_writes",
    "Number of writes that share a commit of the embedded engine.",
    NONE,
)
.with_buckets(WRITES);

/// From 5 µs, doubled each time.
const TRANSFORMATION_SECONDS: &[f64] = &[
    5e-6, 1e-5, 2e-5, 4e-5, 8e-5, 1.6e-4, 3.2e-4, 6.4e-4, 1.28e-3, 2.56e-3, 5.12e-3, 1.024e-2, 2.048e-2,
    4.096e-2, 8.192e-2, 0.16384, 0.32768, 0.65536, 1.31072, 2.62144, 5.24288, 10.48576, 20.97152, 41.94304,
    83.88608,
];

pub(super) const TRANSFORMATIONS: Definition = Definition::new(
    "apiserver_storage_transformation_operations_total",
    "Total number of transformations. Successful transformation will have a status 'OK' and a varied status string when the transformation fails. The status, resource, and transformation_type fields can be used for alerting purposes.",
    &["resource", "transformation_type", "transformer_prefix", "status"],
);

pub(super) const TRANSFORMATION_DURATION: Definition = Definition::new(
    "apiserver_storage_transformation_duration_seconds",
    "Latencies in seconds of value transformation operations.",
    &["transformation_type", "transformer_prefix"],
)
.with_buckets(TRANSFORMATION_SECONDS);

pub(super) const KMS_CALLS: Definition = Definition::new(
    "orlop_kms_calls_total",
    "Number of calls of key management services.",
    &["method", "status"],
);

pub(super) const ENCRYPTION_RELOADS: Definition = Definition::new(
    "apiserver_encryption_config_controller_automatic_reloads_total",
    "Total number of reload successes and failures of encryption configuration split by apiserver identity.",
    &["status", "apiserver_id_hash"],
);

pub(super) const ENCRYPTION_RELOAD_TIME: Definition = Definition::new(
    "apiserver_encryption_config_controller_automatic_reload_last_timestamp_seconds",
    "Timestamp of the last successful or failed automatic reload of encryption configuration split by apiserver identity.",
    &["status", "apiserver_id_hash"],
);

pub(super) const ENCRYPTION_CONFIG_INFO: Definition = Definition::new(
    "apiserver_encryption_config_controller_last_config_info",
    "Information about the last applied encryption configuration with hash as label, split by apiserver identity.",
    &["apiserver_id_hash", "hash"],
);
