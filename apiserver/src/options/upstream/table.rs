//! The flags, in alphabetical order.

use super::{Effect, Flag, Values};

const fn accepted(name: &'static str, value: Values, why: &'static str) -> Flag {
    Flag { name, effect: Effect::Accepted { value, why } }
}

const fn refused(name: &'static str, why: &'static str, instead: &'static str) -> Flag {
    Flag { name, effect: Effect::Refused { why, instead } }
}

const LOG_AT_ONCE: &str = "every line of the log is written at once";
const NO_PROFILES: &str = "there are no profiles of Go here; use the profilers of the operating system";
const OWN_HEALTH_TIME: &str = "health checks of the store have a time of their own";

/// Every flag of kube-apiserver v1.36 that this server does not implement.
pub(super) const FLAGS: &[Flag] = &[
    refused(
        "admission-control",
        "it was replaced long ago",
        "use --enable-admission-plugins and --disable-admission-plugins",
    ),
    accepted(
        "aggregator-reject-forwarding-redirect",
        Values::Only(&["true"]),
        "redirects of extension servers are answered with 502",
    ),
    accepted("contention-profiling", Values::Bool, NO_PROFILES),
    refused(
        "debug-socket-path",
        "there is no socket for debugging",
        "use the profilers of the operating system, and /metrics",
    ),
    accepted(
        "delete-collection-workers",
        Values::Count,
        "a collection is deleted in as many steps as are useful at once",
    ),
    accepted(
        "enable-logs-handler",
        Values::Only(&["false"]),
        "the server writes no log files that it could serve",
    ),
    accepted("etcd-count-metric-poll-period", Values::Duration, "objects are counted when they change"),
    accepted(
        "etcd-db-metric-poll-interval",
        Values::Duration,
        "the size of the store is measured when /metrics is read",
    ),
    accepted("etcd-healthcheck-timeout", Values::Duration, OWN_HEALTH_TIME),
    accepted("etcd-readycheck-timeout", Values::Duration, OWN_HEALTH_TIME),
    accepted(
        "kubelet-timeout",
        Values::Duration,
        "a connection to a kubelet has a time of its own, and requests last as long as the client stays",
    ),
    accepted(
        "kubernetes-service-node-port",
        Values::Only(&["0"]),
        "the Service of the server has the type ClusterIP",
    ),
    accepted("lease-reuse-duration-seconds", Values::Count, "the store expires objects by their own times"),
    accepted("log-flush-frequency", Values::Duration, LOG_AT_ONCE),
    accepted("log-json-info-buffer-size", Values::Quantity, LOG_AT_ONCE),
    accepted("log-json-split-stream", Values::Only(&["false"]), "the whole log goes to stderr"),
    accepted("log-text-info-buffer-size", Values::Quantity, LOG_AT_ONCE),
    accepted("log-text-split-stream", Values::Only(&["false"]), "the whole log goes to stderr"),
    accepted("max-connection-bytes-per-sec", Values::Only(&["0"]), "connections of users are not throttled"),
    accepted(
        "permit-address-sharing",
        Values::Bool,
        "an address whose old connections still close can always be bound",
    ),
    accepted(
        "permit-port-sharing",
        Values::Only(&["false"]),
        "two servers on one port would hide each other",
    ),
    accepted("profiling", Values::Bool, NO_PROFILES),
    accepted(
        "send-retry-after-while-not-ready-once",
        Values::Only(&["false"]),
        "the server answers requests from its start",
    ),
    accepted(
        "service-account-lookup",
        Values::Only(&["true"]),
        "tokens of deleted accounts and Secrets must end",
    ),
    accepted("show-hidden-metrics-for-version", Values::Text, "no metric is hidden"),
    accepted(
        "storage-initialization-timeout",
        Values::Duration,
        "the store is open before the server listens",
    ),
    refused("vmodule", "the log has levels by module in another form", "set the variable RUST_LOG"),
];
