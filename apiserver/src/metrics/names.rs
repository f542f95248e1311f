//! The definitions of metrics: name, description, labels and buckets. Those of storage are in [`registry_core::metrics`].

use registry_core::metrics::{Definition, REQUEST_SECONDS};

#[cfg(target_os = "linux")]
pub(super) mod process;

/// From 1 KB to 1 GB.
const RESPONSE_BYTES: &[f64] = &[1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
/// From 1 KiB to 128 KiB.
const WATCH_EVENT_BYTES: &[f64] = &[1024.0, 2048.0, 4096.0, 8192.0, 16_384.0, 32_768.0, 65_536.0, 131_072.0];

/// From one millisecond, the timer's resolution, to a minute.
const DELAY_SECONDS: &[f64] =
    &[0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0];

/// The default buckets of Prometheus.
const DEFAULT_SECONDS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
/// From 5 milliseconds to 25 seconds: the timeout of a webhook is at most 30.
const WEBHOOK_SECONDS: &[f64] = &[0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 25.0];
/// From one millisecond to a quarter of a second.
const MATCH_CONDITION_SECONDS: &[f64] = &[0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25];
/// From half a microsecond to a second, for expressions.
const POLICY_SECONDS: &[f64] = &[0.000_000_5, 0.001, 0.01, 0.1, 1.0];

const REQUEST: &[&str] = &["verb", "group", "version", "resource", "subresource", "scope", "component"];

pub(super) const REQUESTS: Definition = Definition::new(
    "apiserver_request_total",
    "Counter of apiserver requests broken out for each verb, dry run value, group, version, resource, scope, component, and HTTP response code.",
    &["verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component", "code"],
);

pub(super) const REQUEST_DURATION: Definition = Definition::new(
    "apiserver_request_duration_seconds",
    "Response latency distribution in seconds for each verb, dry run value, group, version, resource, subresource, scope and component.",
    &["verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component"],
).with_buckets(REQUEST_SECONDS);

pub(super) const RESPONSE_SIZES: Definition = Definition::new(
    "apiserver_response_sizes",
    "Response size distribution in bytes for each group, version, verb, resource, subresource, scope and component.",
    REQUEST,
).with_buckets(RESPONSE_BYTES);

pub(super) const LONG_RUNNING: Definition = Definition::new(
    "apiserver_longrunning_requests",
    "Gauge of all active long-running apiserver requests broken out by verb, group, version, resource, scope and component. Not all requests are tracked this way.",
    REQUEST,
);

pub(super) const TERMINATIONS: Definition = Definition::new(
    "apiserver_request_terminations_total",
    "Number of requests which apiserver terminated in self-defense. Only verb, component and code are set, because the requests are refused before their resource is looked up.",
    &["verb", "group", "version", "resource", "subresource", "scope", "component", "code"],
);

pub(super) const DEPRECATED_APIS: Definition = Definition::new(
    "apiserver_requested_deprecated_apis",
    "Gauge of deprecated APIs that have been requested, broken out by API group, version, resource, subresource, and removed_release.",
    &["group", "version", "resource", "subresource", "removed_release"],
);

pub(super) const WATCH_EVENTS: Definition = Definition::new(
    "apiserver_watch_events_total",
    "Number of events sent in watch clients",
    &["group", "version", "resource"],
);

pub(super) const WATCH_EVENT_SIZES: Definition = Definition::new(
    "apiserver_watch_events_sizes",
    "Watch event size distribution in bytes",
    &["group", "version", "resource"],
)
.with_buckets(WATCH_EVENT_BYTES);

pub(super) const IN_FLIGHT: Definition = Definition::new(
    "apiserver_current_inflight_requests",
    "Number of currently used inflight request limit of this apiserver per request kind.",
    &["request_kind"],
);

pub(super) const IN_QUEUE: Definition = Definition::new(
    "apiserver_current_inqueue_requests",
    "Number of queued requests in this apiserver per request kind.",
    &["request_kind"],
);

pub(super) const TLS_HANDSHAKE_ERRORS: Definition = Definition::new(
    "apiserver_tls_handshake_errors_total",
    "Number of connections dropped because the TLS handshake failed or took too long",
    &[],
);

pub(super) const CONNECTIONS: Definition = Definition::new(
    "orlop_connections",
    "Number of open connections when the last one was accepted or refused.",
    &[],
);

pub(super) const REFUSED_CONNECTIONS: Definition = Definition::new(
    "orlop_connections_refused_total",
    "Number of connections that were closed at once because their address had its share of all connections, or none was left.",
    &[],
);

pub(super) const CERTIFICATE_EXPIRY: Definition = Definition::new(
    "orlop_certificate_expiration_timestamp_seconds",
    "Time at which the serving certificate, and the first of the client certificate authorities, expires, in seconds since 1970.",
    &["certificate"],
);

pub(super) const SCHEDULING_DELAY: Definition = Definition::new(
    "orlop_scheduling_delay_seconds",
    "Time that a ready task waits for a thread of the runtime that serves connections, in seconds, measured ten times a second. Work that does not yield shows here, because it delays all requests.",
    &[],
)
.with_buckets(DELAY_SECONDS);

pub(super) const AUTHENTICATION_ATTEMPTS: Definition =
    Definition::new("authentication_attempts", "Counter of authenticated attempts.", &["result"]);

pub(super) const AUTHENTICATED_REQUESTS: Definition = Definition::new(
    "authenticated_user_requests",
    "Counter of authenticated requests broken out by username.",
    &["username"],
);

pub(super) const AUTHORIZATION_ATTEMPTS: Definition = Definition::new(
    "authorization_attempts_total",
    "Counter of authorization attempts broken down by result. It can be either 'allowed', 'denied' or 'no-opinion'.",
    &["result"],
);

pub(super) const AUTHORIZATION_DECISIONS: Definition = Definition::new(
    "apiserver_authorization_decisions_total",
    "Total number of terminal decisions made by an authorizer split by authorizer type, name, and decision.",
    &["type", "name", "decision"],
);

pub(super) const AUTHORIZATION_RELOADS: Definition = Definition::new(
    "apiserver_authorization_config_controller_automatic_reloads_total",
    "Total number of automatic reloads of authorization configuration split by status and apiserver identity.",
    &["status", "apiserver_id_hash"],
);

pub(super) const AUTHORIZATION_RELOAD_TIME: Definition = Definition::new(
    "apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds",
    "Timestamp of the last automatic reload of authorization configuration split by status and apiserver identity.",
    &["status", "apiserver_id_hash"],
);

pub(super) const AUTHORIZATION_CONFIG_INFO: Definition = Definition::new(
    "apiserver_authorization_config_controller_last_config_info",
    "Information about the last applied authorization configuration with hash as label, split by apiserver identity.",
    &["apiserver_id_hash", "hash"],
);

pub(super) const MANIFEST_RELOADS: Definition = Definition::new(
    "apiserver_manifest_admission_config_controller_automatic_reloads_total",
    "Total number of automatic reloads of admission manifest configuration split by status, plugin, and apiserver identity.",
    &["status", "plugin", "apiserver_id_hash"],
);

pub(super) const MANIFEST_RELOAD_TIME: Definition = Definition::new(
    "apiserver_manifest_admission_config_controller_automatic_reload_last_timestamp_seconds",
    "Timestamp of the last automatic reload of admission manifest configuration split by status, plugin, and apiserver \
     identity.",
    &["status", "plugin", "apiserver_id_hash"],
);

pub(super) const MANIFEST_CONFIG_INFO: Definition = Definition::new(
    "apiserver_manifest_admission_config_controller_last_config_info",
    "Information about the last applied admission manifest configuration with hash as label, split by plugin and apiserver \
     identity.",
    &["plugin", "apiserver_id_hash", "hash"],
);

pub(super) const AUTHORIZATION_WEBHOOK_EVALUATIONS: Definition = Definition::new(
    "apiserver_authorization_webhook_evaluations_total",
    "Round-trips to authorization webhooks.",
    &["name", "result"],
);

pub(super) const AUTHORIZATION_WEBHOOK_DURATION: Definition = Definition::new(
    "apiserver_authorization_webhook_duration_seconds",
    "Request latency in seconds.",
    &["name", "result"],
)
.with_buckets(DEFAULT_SECONDS);

pub(super) const AUTHORIZATION_WEBHOOK_FAIL_OPEN: Definition = Definition::new(
    "apiserver_authorization_webhook_evaluations_fail_open_total",
    "NoOpinion results due to webhook timeout or error.",
    &["name", "result"],
);

pub(super) const AUTHORIZATION_CONDITION_ERRORS: Definition = Definition::new(
    "apiserver_authorization_match_condition_evaluation_errors_total",
    "Total number of errors when an authorization webhook encounters a match condition error split by authorizer type and name.",
    &["type", "name"],
);

pub(super) const AUTHORIZATION_CONDITION_EXCLUSIONS: Definition = Definition::new(
    "apiserver_authorization_match_condition_exclusions_total",
    "Total number of exclusions when an authorization webhook is skipped because match conditions exclude it.",
    &["type", "name"],
);

pub(super) const AUTHORIZATION_CONDITION_DURATION: Definition = Definition::new(
    "apiserver_authorization_match_condition_evaluation_seconds",
    "Authorization match condition evaluation time in seconds, split by authorizer type and name.",
    &["type", "name"],
)
.with_buckets(MATCH_CONDITION_SECONDS);

pub(super) const BUILD_INFO: Definition = Definition::new(
    "kubernetes_build_info",
    "A metric with a constant '1' value labeled by major, minor, git version, git commit, git tree state, build date, Go version, and compiler from which Kubernetes was built, and platform on which it is running.",
    &[
        "major",
        "minor",
        "git_version",
        "git_commit",
        "git_tree_state",
        "build_date",
        "go_version",
        "compiler",
        "platform",
    ],
);

pub(super) const FEATURE_ENABLED: Definition = Definition::new(
    "kubernetes_feature_enabled",
    "This metric records the data about the stage and enablement of a k8s feature.",
    &["name", "stage"],
);

pub(super) const HEALTH_CHECK: Definition = Definition::new(
    "kubernetes_healthcheck",
    "This metric records the result of a single healthcheck.",
    &["name", "type"],
);

pub(super) const HEALTH_CHECKS: Definition = Definition::new(
    "kubernetes_healthchecks_total",
    "This metric records the results of all healthcheck.",
    &["name", "type", "status"],
);

pub(super) const WEBHOOK_DURATION: Definition = Definition::new(
    "apiserver_admission_webhook_admission_duration_seconds",
    "Admission webhook latency histogram in seconds, identified by name and broken out for each operation and API resource and type (validate or admit).",
    &["name", "type", "operation", "rejected"],
)
.with_buckets(WEBHOOK_SECONDS);

pub(super) const WEBHOOK_REQUESTS: Definition = Definition::new(
    "apiserver_admission_webhook_request_total",
    "Admission webhook request total, identified by name and broken out for each admission type (validating or admit) and operation. Additional labels specify whether the request was rejected or not and an HTTP status code. Codes greater than 600 are truncated to 600, to keep the metrics cardinality bounded.",
    &["name", "type", "operation", "code", "rejected"],
);

pub(super) const WEBHOOK_REJECTIONS: Definition = Definition::new(
    "apiserver_admission_webhook_rejection_count",
    "Admission webhook rejection count, identified by name and broken out for each admission type (validating or admit) and operation. Additional labels specify an error type (calling_webhook_error or apiserver_internal_error if an error occurred; no_error otherwise) and optionally a non-zero rejection code if the webhook rejects the request with an HTTP status code (honored by the apiserver when the code is greater or equal to 400). Codes greater than 600 are truncated to 600, to keep the metrics cardinality bounded.",
    &["name", "type", "operation", "error_type", "rejection_code"],
);

pub(super) const WEBHOOK_FAIL_OPEN: Definition = Definition::new(
    "apiserver_admission_webhook_fail_open_count",
    "Admission webhook fail open count, identified by name and broken out for each admission type (validating or admit).",
    &["name", "type"],
);

pub(super) const MATCH_CONDITION_ERRORS: Definition = Definition::new(
    "apiserver_admission_match_condition_evaluation_errors_total",
    "Admission match condition evaluation errors count, identified by name of resource containing the match condition and broken out for each kind containing matchConditions (webhook or policy), operation and admission type (validate or admit).",
    &["name", "kind", "type", "operation"],
);

pub(super) const MATCH_CONDITION_EXCLUSIONS: Definition = Definition::new(
    "apiserver_admission_match_condition_exclusions_total",
    "Admission match condition evaluation exclusions count, identified by name of resource containing the match condition and broken out for each kind containing matchConditions (webhook or policy), operation and admission type (validate or admit).",
    &["name", "kind", "type", "operation"],
);

pub(super) const MATCH_CONDITION_DURATION: Definition = Definition::new(
    "apiserver_admission_match_condition_evaluation_seconds",
    "Admission match condition evaluation time in seconds, identified by name and broken out for each kind containing matchConditions (webhook or policy), operation and type (validate or admit).",
    &["name", "kind", "type", "operation"],
)
.with_buckets(MATCH_CONDITION_SECONDS);

pub(super) const UNAVAILABLE_API_SERVICES: Definition = Definition::new(
    "aggregator_unavailable_apiservice",
    "Gauge of APIServices which are marked as unavailable broken down by APIService name.",
    &["name"],
);

pub(super) const UNAVAILABLE_API_SERVICES_TOTAL: Definition = Definition::new(
    "aggregator_unavailable_apiservice_total",
    "Counter of APIServices which are marked as unavailable broken down by APIService name and reason.",
    &["name", "reason"],
);

pub(super) const REROUTED_REQUESTS: Definition = Definition::new(
    "apiserver_rerouted_request_total",
    "Total number of requests that were proxied to a peer kube-apiserver because the local apiserver was not capable of serving it, broken down by 'group', 'version', and 'resource' indicating the GVR of the request. If all three are empty (\"\"), the request is a discovery request.",
    &["code", "group", "version", "resource"],
);

pub(super) const PEER_PROXY_ERRORS: Definition = Definition::new(
    "apiserver_peer_proxy_errors_total",
    "Total number of errors encountered while proxying requests to a peer kube apiserver",
    &["type", "group", "version", "resource"],
);

pub(super) const PEER_DISCOVERY_ERRORS: Definition = Definition::new(
    "apiserver_peer_discovery_sync_errors_total",
    "Total number of errors encountered while syncing discovery information from a peer kube-apiserver",
    &["type"],
);

pub(super) const AUDIT_EVENTS: Definition = Definition::new(
    "apiserver_audit_event_total",
    "Counter of audit events generated and sent to the audit backend.",
    &[],
);

pub(super) const AUDIT_LEVELS: Definition = Definition::new(
    "apiserver_audit_level_total",
    "Counter of policy levels for audit events (1 per request).",
    &["level"],
);

pub(super) const AUDIT_ERRORS: Definition = Definition::new(
    "apiserver_audit_error_total",
    "Counter of audit events that failed to be audited properly. Plugin identifies the plugin affected by the error.",
    &["plugin"],
);

pub(super) const AUDIT_REJECTED: Definition = Definition::new(
    "apiserver_audit_requests_rejected_total",
    "Counter of apiserver requests rejected due to an error in audit logging backend.",
    &[],
);

pub(super) const VALIDATING_POLICY_CHECKS: Definition = Definition::new(
    "apiserver_validating_admission_policy_check_total",
    "Validation admission policy check total, labeled by policy and further identified by binding and enforcement action taken.",
    &["policy", "policy_binding", "error_type", "enforcement_action"],
);

pub(super) const VALIDATING_POLICY_DURATION: Definition = Definition::new(
    "apiserver_validating_admission_policy_check_duration_seconds",
    "Validation admission latency for individual validation expressions in seconds, labeled by policy and further including binding and enforcement action taken.",
    &["policy", "policy_binding", "error_type", "enforcement_action"],
)
.with_buckets(POLICY_SECONDS);

pub(super) const MUTATING_POLICY_CHECKS: Definition = Definition::new(
    "apiserver_mutating_admission_policy_check_total",
    "Mutation admission policy check total, labeled by policy and further identified by binding.",
    &["policy", "policy_binding", "error_type"],
);

pub(super) const MUTATING_POLICY_DURATION: Definition = Definition::new(
    "apiserver_mutating_admission_policy_check_duration_seconds",
    "Mutation admission latency for individual mutation expressions in seconds, labeled by policy and binding.",
    &["policy", "policy_binding", "error_type"],
)
.with_buckets(POLICY_SECONDS);

pub(super) const AUTHENTICATION_RELOADS: Definition = Definition::new(
    "apiserver_authentication_config_controller_automatic_reloads_total",
    "Total number of automatic reloads of authentication configuration split by status and apiserver identity.",
    &["status", "apiserver_id_hash"],
);

pub(super) const AUTHENTICATION_RELOAD_TIME: Definition = Definition::new(
    "apiserver_authentication_config_controller_automatic_reload_last_timestamp_seconds",
    "Timestamp of the last automatic reload of authentication configuration split by status and apiserver identity.",
    &["status", "apiserver_id_hash"],
);

pub(super) const AUTHENTICATION_CONFIG_INFO: Definition = Definition::new(
    "apiserver_authentication_config_controller_last_config_info",
    "Information about the last applied authentication configuration with hash as label, split by apiserver identity.",
    &["apiserver_id_hash", "hash"],
);

pub(super) const JWT_LATENCY: Definition = Definition::new(
    "apiserver_authentication_jwt_authenticator_latency_seconds",
    "Latency of jwt authentication operations in seconds. This is the time spent authenticating a token for cache miss only (i.e. when the token is not found in the cache).",
    &["result", "jwt_issuer_hash"],
)
.with_buckets(&[0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0]);

pub(super) const JWKS_FETCH_TIME: Definition = Definition::new(
    "apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds",
    "Timestamp of the last successful or failed JWKS fetch split by result, api server identity and jwt issuer for the JWT authenticator.",
    &["result", "jwt_issuer_hash", "apiserver_id_hash"],
);

pub(super) const JWKS_INFO: Definition = Definition::new(
    "apiserver_authentication_jwt_authenticator_jwks_fetch_last_key_set_info",
    "Information about the last JWKS fetched by the JWT authenticator with hash as label, split by api server identity and jwt issuer.",
    &["jwt_issuer_hash", "apiserver_id_hash", "hash"],
);

pub(super) const SIGNER_FETCH_TIME: Definition = Definition::new(
    "apiserver_externaljwt_fetch_keys_success_timestamp",
    "Unix Timestamp in seconds of the last successful FetchKeys request",
    &[],
);

pub(super) const SIGNER_DATA_TIME: Definition = Definition::new(
    "apiserver_externaljwt_fetch_keys_data_timestamp",
    "Unix Timestamp in seconds of the last successful FetchKeys data_timestamp value returned by the external signer",
    &[],
);

pub(super) const SIGNER_FETCHES: Definition = Definition::new(
    "apiserver_externaljwt_fetch_keys_request_total",
    "Total attempts at syncing supported JWKs",
    &["code"],
);

pub(super) const SIGNER_SIGNATURES: Definition =
    Definition::new("apiserver_externaljwt_sign_request_total", "Total attempts at signing JWT", &["code"]);

pub(super) const SIGNER_DURATION: Definition = Definition::new(
    "apiserver_externaljwt_request_duration_seconds",
    "Request duration and time for calls to external-jwt-signer",
    &["method", "code"],
)
.with_buckets(&[0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0]);

pub(super) const VERSION: Definition = Definition::new(
    "version_info",
    "Provides the compatibility version info of the component. The component label is the name of the component, usually kube, but is relevant for aggregated-apiservers.",
    &["component", "binary", "emulation", "min_compat"],
);

pub(super) const DISABLED_METRICS: Definition =
    Definition::new("disabled_metrics_total", "The count of disabled metrics.", &[]);

pub(super) const HIDDEN_METRICS: Definition =
    Definition::new("hidden_metrics_total", "The count of hidden metrics.", &[]);

pub(super) const UNEXPECTED_LABELS: Definition = Definition::new(
    "cardinality_enforcement_unexpected_categorizations_total",
    "The count of unexpected categorizations during cardinality enforcement.",
    &[],
);
