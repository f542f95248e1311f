//! `--audit-*`: the audit policy, and the backends that receive events.
//!
//! Kubernetes concept: [auditing](https://kubernetes.io/docs/tasks/debug/debug-cluster/audit/).

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{StringValueParser, TypedValueParser};
use clap::{ArgAction, Args};

use super::parse_duration;

mod checks;
mod settings;
#[cfg(test)]
mod tests;

pub use checks::{AuditFault, AuditFaults};
pub(crate) use settings::{BatchConfig, Retention, Throttle, TruncateConfig};
pub use settings::{LogFormat, Mode, UnknownName};

const FORMATS: &[(&str, LogFormat)] = &[("legacy", LogFormat::Legacy), ("json", LogFormat::Json)];
const MODES: &[(&str, Mode)] =
    &[("batch", Mode::Batch), ("blocking", Mode::Blocking), ("blocking-strict", Mode::BlockingStrict)];
const VERSION: &str = "audit.k8s.io/v1";

/// Audit of requests.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Audit")]
pub struct AuditOptions {
    /// Audit policy (audit.k8s.io/v1 Policy, in YAML): which requests are recorded, and how much of them
    #[arg(long, value_name = "FILE")]
    pub audit_policy_file: Option<PathBuf>,

    /// The log of events.
    #[command(flatten)]
    pub log: AuditLogOptions,

    /// The webhook that receives events.
    #[command(flatten)]
    pub webhook: AuditWebhookOptions,
}

/// The log of audit events.
#[derive(Args, Clone, Debug)]
pub struct AuditLogOptions {
    /// File of audit events; - is standard output
    #[arg(long, value_name = "PATH")]
    pub audit_log_path: Option<PathBuf>,

    /// Size in MiB at which the audit log is replaced by a new file; 0 never replaces it
    #[arg(long, value_name = "MIB", default_value_t = 100, allow_negative_numbers = true)]
    pub audit_log_maxsize: i64,

    /// Days for which replaced audit logs are kept; 0 is no limit
    #[arg(long, value_name = "DAYS", default_value_t = 366, allow_negative_numbers = true)]
    pub audit_log_maxage: i64,

    /// Number of replaced audit logs that are kept; 0 is no limit
    #[arg(long, value_name = "COUNT", default_value_t = 100, allow_negative_numbers = true)]
    pub audit_log_maxbackup: i64,

    /// Compress replaced audit logs
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub audit_log_compress: bool,

    /// Format of the audit log: json, or legacy, a text for people
    #[arg(long, value_name = "FORMAT", default_value = "json", value_parser = named(FORMATS))]
    pub audit_log_format: Result<LogFormat, UnknownName>,

    /// Version of the events in the audit log
    #[arg(long, value_name = "VERSION", default_value = VERSION)]
    pub audit_log_version: String,

    /// Whether requests wait for the audit log: batch (no; events that a full queue does not take are lost), blocking,
    /// or blocking-strict (requests that cannot be recorded are refused)
    #[arg(long, value_name = "MODE", default_value = "blocking", value_parser = named(MODES))]
    pub audit_log_mode: Result<Mode, UnknownName>,

    /// Maximum number of events that wait for the audit log in mode batch
    #[arg(long, value_name = "COUNT", default_value_t = 10_000, allow_negative_numbers = true)]
    pub audit_log_batch_buffer_size: i64,

    /// Accepted for compatibility: events that are ready together are written together
    #[arg(long, value_name = "COUNT", default_value_t = 1, allow_negative_numbers = true)]
    pub audit_log_batch_max_size: i64,

    /// Accepted for compatibility: events are written as soon as possible
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = parse_duration)]
    pub audit_log_batch_max_wait: Duration,

    /// Accepted for compatibility: writes of the audit log are not throttled
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub audit_log_batch_throttle_enable: bool,

    /// Accepted for compatibility
    #[arg(long, value_name = "RATE", default_value_t = 0.0, allow_negative_numbers = true)]
    pub audit_log_batch_throttle_qps: f32,

    /// Accepted for compatibility
    #[arg(long, value_name = "COUNT", default_value_t = 0, allow_negative_numbers = true)]
    pub audit_log_batch_throttle_burst: i64,

    /// Remove the objects from events that are too large for the audit log
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub audit_log_truncate_enabled: bool,

    /// Maximum size of a batch of events, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 10_485_760, allow_negative_numbers = true)]
    pub audit_log_truncate_max_batch_size: i64,

    /// Maximum size of an event, in bytes; larger ones lose their objects, or are dropped
    #[arg(long, value_name = "BYTES", default_value_t = 102_400, allow_negative_numbers = true)]
    pub audit_log_truncate_max_event_size: i64,
}

/// The webhook that receives audit events.
#[derive(Args, Clone, Debug)]
pub struct AuditWebhookOptions {
    /// Kubeconfig that names the webhook to which audit events are sent
    #[arg(long, value_name = "FILE")]
    pub audit_webhook_config_file: Option<PathBuf>,

    /// Version of the events that are sent
    #[arg(long, value_name = "VERSION", default_value = VERSION)]
    pub audit_webhook_version: String,

    /// Time before a failed request to the webhook is repeated first
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration,
          alias = "audit-webhook-batch-initial-backoff")]
    pub audit_webhook_initial_backoff: Duration,

    /// Whether requests wait for the webhook: batch, blocking, or blocking-strict, as for the audit log
    #[arg(long, value_name = "MODE", default_value = "batch", value_parser = named(MODES))]
    pub audit_webhook_mode: Result<Mode, UnknownName>,

    /// Maximum number of events that wait for the webhook in mode batch
    #[arg(long, value_name = "COUNT", default_value_t = 10_000, allow_negative_numbers = true)]
    pub audit_webhook_batch_buffer_size: i64,

    /// Maximum number of events of a request to the webhook
    #[arg(long, value_name = "COUNT", default_value_t = 400, allow_negative_numbers = true)]
    pub audit_webhook_batch_max_size: i64,

    /// Time after which events are sent even if a request could contain more
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = parse_duration)]
    pub audit_webhook_batch_max_wait: Duration,

    /// Limit the rate of requests to the webhook
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    pub audit_webhook_batch_throttle_enable: bool,

    /// Average number of requests to the webhook per second
    #[arg(long, value_name = "RATE", default_value_t = 10.0, allow_negative_numbers = true)]
    pub audit_webhook_batch_throttle_qps: f32,

    /// Maximum number of requests to the webhook at once after a pause
    #[arg(long, value_name = "COUNT", default_value_t = 15, allow_negative_numbers = true)]
    pub audit_webhook_batch_throttle_burst: i64,

    /// Remove the objects from events that are too large for the webhook
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub audit_webhook_truncate_enabled: bool,

    /// Maximum size of the events of a request to the webhook, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 10_485_760, allow_negative_numbers = true)]
    pub audit_webhook_truncate_max_batch_size: i64,

    /// Maximum size of an event, in bytes; larger ones lose their objects, or are dropped
    #[arg(long, value_name = "BYTES", default_value_t = 102_400, allow_negative_numbers = true)]
    pub audit_webhook_truncate_max_event_size: i64,
}

/// Returns the parser of names, of which unknown ones are refused only if their backend is used.
fn named<T: Copy + Send + Sync + 'static>(
    known: &'static [(&str, T)],
) -> impl TypedValueParser<Value = Result<T, UnknownName>> {
    StringValueParser::new().map(|name| {
        let found = known.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        found.ok_or(UnknownName(name))
    })
}

/// Returns a size that was validated.
fn size(number: i64) -> usize {
    usize::try_from(number).unwrap_or_default()
}

// === impl AuditLogOptions ===

impl AuditLogOptions {
    /// Returns when the file is replaced, and which former ones are kept.
    pub(crate) fn retention(&self) -> Retention {
        let limit = |number: i64| u64::try_from(number).ok().filter(|number| *number > 0);
        Retention {
            max_bytes: limit(self.audit_log_maxsize).map(|mib| mib.saturating_mul(1024 * 1024)),
            max_age: limit(self.audit_log_maxage)
                .map(|days| Duration::from_secs(days.saturating_mul(86_400))),
            max_backups: limit(self.audit_log_maxbackup).and_then(|count| usize::try_from(count).ok()),
            compresses: self.audit_log_compress,
        }
    }

    /// Returns whether requests wait.
    pub(crate) fn mode(&self) -> Mode {
        self.audit_log_mode.clone().unwrap_or(Mode::Blocking)
    }

    /// Returns the format of lines.
    pub(crate) fn format(&self) -> LogFormat {
        self.audit_log_format.clone().unwrap_or(LogFormat::Json)
    }

    /// Returns the configuration of mode `batch`.
    pub(crate) fn batch(&self) -> BatchConfig {
        BatchConfig {
            buffer_size: size(self.audit_log_batch_buffer_size),
            max_size: size(self.audit_log_batch_max_size),
            max_wait: self.audit_log_batch_max_wait,
            throttle: self.audit_log_batch_throttle_enable.then(|| Throttle {
                per_second: self.audit_log_batch_throttle_qps,
                burst: size(self.audit_log_batch_throttle_burst),
            }),
        }
    }

    /// Returns the limits of sizes, if they are on.
    pub(crate) fn truncate(&self) -> Option<TruncateConfig> {
        self.audit_log_truncate_enabled.then(|| TruncateConfig {
            max_event_bytes: size(self.audit_log_truncate_max_event_size),
            max_batch_bytes: size(self.audit_log_truncate_max_batch_size),
        })
    }
}

// === impl AuditWebhookOptions ===

impl AuditWebhookOptions {
    /// Returns whether requests wait.
    pub(crate) fn mode(&self) -> Mode {
        self.audit_webhook_mode.clone().unwrap_or(Mode::Batch)
    }

    /// Returns the time before a failed request is repeated first.
    pub(crate) fn initial_backoff(&self) -> Duration {
        self.audit_webhook_initial_backoff
    }

    /// Returns the configuration of mode `batch`.
    pub(crate) fn batch(&self) -> BatchConfig {
        BatchConfig {
            buffer_size: size(self.audit_webhook_batch_buffer_size),
            max_size: size(self.audit_webhook_batch_max_size),
            max_wait: self.audit_webhook_batch_max_wait,
            throttle: self.audit_webhook_batch_throttle_enable.then(|| Throttle {
                per_second: self.audit_webhook_batch_throttle_qps,
                burst: size(self.audit_webhook_batch_throttle_burst),
            }),
        }
    }

    /// Returns the limits of sizes, if they are on.
    pub(crate) fn truncate(&self) -> Option<TruncateConfig> {
        self.audit_webhook_truncate_enabled.then(|| TruncateConfig {
            max_event_bytes: size(self.audit_webhook_truncate_max_event_size),
            max_batch_bytes: size(self.audit_webhook_truncate_max_batch_size),
        })
    }
}
