//! Validation of the audit flags, with Kubernetes' messages.

use registry_core::api::go_text::aggregate;

use super::{
    AuditLogOptions, AuditOptions, AuditWebhookOptions, BatchConfig, FORMATS, MODES, Mode, UnknownName,
    VERSION,
};

/// A value that a flag of audit cannot have. Not retryable.
#[derive(Debug, thiserror::Error)]
pub enum AuditFault {
    /// The format of the log.
    #[error("invalid audit log format {0}, allowed formats are {formats:?}", formats = names(FORMATS))]
    Format(String),
    /// A limit of the log's files.
    #[error("--audit-log-{limit} {number} can't be a negative number")]
    Negative {
        /// The limit.
        limit: &'static str,
        /// The value.
        number: i64,
    },
    /// The mode of a backend.
    #[error("invalid audit {plugin} mode {mode}, allowed modes are {modes:?}", modes = names(MODES))]
    Mode {
        /// The backend.
        plugin: &'static str,
        /// The value.
        mode: String,
    },
    /// The size from which an event is truncated.
    #[error("invalid audit truncate {plugin} max event size {max_event_size}, must be a positive number")]
    EventSize {
        /// The backend.
        plugin: &'static str,
        /// The value.
        max_event_size: i64,
    },
    /// The size from which events are sent apart.
    #[error(
        "invalid audit truncate {plugin} max batch size {max_batch_size}, must be greater than max event \
         size ({max_event_size})"
    )]
    BatchSize {
        /// The backend.
        plugin: &'static str,
        /// The value.
        max_batch_size: i64,
        /// The size of a single event.
        max_event_size: i64,
    },
    /// The version of the events.
    #[error("invalid group version, allowed versions are [{VERSION:?}]")]
    Version,
    /// A number of the batches.
    #[error("invalid audit batch {plugin} {what} {number}, must be a positive number")]
    NotPositive {
        /// The backend.
        plugin: &'static str,
        /// The number's name.
        what: &'static str,
        /// The value.
        number: String,
    },
}

/// Error of the flags of audit, with all reasons. Not retryable.
#[derive(Debug, thiserror::Error)]
#[error("{}", aggregate(.0))]
pub struct AuditFaults(pub Vec<AuditFault>);

/// The sizes of one backend.
struct Sizes<'a> {
    plugin: &'static str,
    mode: &'a Result<Mode, UnknownName>,
    buffer_size: i64,
    max_size: i64,
    burst: i64,
    max_event_size: i64,
    max_batch_size: i64,
}

fn names<T>(known: &[(&str, T)]) -> String {
    known.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(",")
}

// === impl AuditOptions ===

impl AuditOptions {
    /// Checks the flags of the backends that are used.
    ///
    /// # Errors
    /// Fails with all reasons.
    pub(crate) fn validate(&self) -> Result<(), AuditFaults> {
        let mut errors = Vec::new();
        if self.log.audit_log_path.is_some() {
            self.log.check(&mut errors);
        }
        if self.webhook.audit_webhook_config_file.is_some() {
            self.webhook.check(&mut errors);
        }
        if errors.is_empty() { Ok(()) } else { Err(AuditFaults(errors)) }
    }
}

impl AuditLogOptions {
    fn check(&self, errors: &mut Vec<AuditFault>) {
        let sizes = Sizes {
            plugin: "log",
            mode: &self.audit_log_mode,
            buffer_size: self.audit_log_batch_buffer_size,
            max_size: self.audit_log_batch_max_size,
            burst: self.audit_log_batch_throttle_burst,
            max_event_size: self.audit_log_truncate_max_event_size,
            max_batch_size: self.audit_log_truncate_max_batch_size,
        };
        sizes.check(self.batch(), &self.audit_log_version, errors);
        if let Err(UnknownName(format)) = &self.audit_log_format {
            errors.push(AuditFault::Format(format.clone()));
        }
        for (limit, number) in [
            ("maxage", self.audit_log_maxage),
            ("maxbackup", self.audit_log_maxbackup),
            ("maxsize", self.audit_log_maxsize),
        ] {
            if number < 0 {
                errors.push(AuditFault::Negative { limit, number });
            }
        }
    }
}

impl AuditWebhookOptions {
    fn check(&self, errors: &mut Vec<AuditFault>) {
        let sizes = Sizes {
            plugin: "webhook",
            mode: &self.audit_webhook_mode,
            buffer_size: self.audit_webhook_batch_buffer_size,
            max_size: self.audit_webhook_batch_max_size,
            burst: self.audit_webhook_batch_throttle_burst,
            max_event_size: self.audit_webhook_truncate_max_event_size,
            max_batch_size: self.audit_webhook_truncate_max_batch_size,
        };
        sizes.check(self.batch(), &self.audit_webhook_version, errors);
    }
}

// === impl Sizes ===

impl Sizes<'_> {
    fn check(&self, batch: BatchConfig, version: &str, errors: &mut Vec<AuditFault>) {
        let Self { plugin, max_event_size, max_batch_size, .. } = *self;
        match self.mode {
            Ok(Mode::Batch) => errors.extend(self.batch_error(batch)),
            Ok(Mode::Blocking | Mode::BlockingStrict) => {}
            Err(UnknownName(mode)) => errors.push(AuditFault::Mode { plugin, mode: mode.clone() }),
        }
        if max_event_size <= 0 {
            errors.push(AuditFault::EventSize { plugin, max_event_size });
        } else if max_batch_size < max_event_size {
            errors.push(AuditFault::BatchSize { plugin, max_batch_size, max_event_size });
        }
        if version != VERSION {
            errors.push(AuditFault::Version);
        }
    }

    fn batch_error(&self, batch: BatchConfig) -> Option<AuditFault> {
        let plugin = self.plugin;
        let wrong = |what: &'static str, number: &dyn std::fmt::Display| {
            Some(AuditFault::NotPositive { plugin, what, number: number.to_string() })
        };
        if self.buffer_size <= 0 {
            return wrong("buffer size", &self.buffer_size);
        }
        if self.max_size <= 0 {
            return wrong("max batch size", &self.max_size);
        }
        let throttle = batch.throttle?;
        if throttle.per_second.is_nan() || throttle.per_second <= 0.0 {
            return wrong("throttle QPS", &throttle.per_second);
        }
        if self.burst <= 0 {
            return wrong("throttle burst", &self.burst);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use crate::options::Options;

    fn refusal(flags: &[&str]) -> String {
        let flags = ["apiserver"].into_iter().chain(flags.iter().copied());
        Options::from_arguments(flags).unwrap().validate().map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn flags_are_checked_if_their_backend_is_used() {
        let unused = ["apiserver", "--audit-log-maxage=-1", "--audit-log-mode=zork", "--audit-webhook-mode="];
        assert!(Options::from_arguments(unused).unwrap().validate().is_ok());
        let path = "--audit-log-path=-";
        for (flags, expected) in [
            (
                &["--audit-log-mode=zork"][..],
                "invalid audit log mode zork, allowed modes are \"batch,blocking,blocking-strict\"",
            ),
            (&["--audit-log-format="], "invalid audit log format , allowed formats are \"legacy,json\""),
            (&["--audit-log-maxage=-1"], "--audit-log-maxage -1 can't be a negative number"),
            (
                &["--audit-log-format=xml", "--audit-log-version=v2"],
                "[invalid group version, allowed versions are [\"audit.k8s.io/v1\"], invalid audit log format xml, \
                 allowed formats are \"legacy,json\"]",
            ),
            (
                &["--audit-log-mode=batch", "--audit-log-batch-buffer-size=0"],
                "invalid audit batch log buffer size 0, must be a positive number",
            ),
            (
                &["--audit-log-mode=batch", "--audit-log-batch-throttle-enable"],
                "invalid audit batch log throttle QPS 0, must be a positive number",
            ),
            (
                &["--audit-log-truncate-max-event-size=20", "--audit-log-truncate-max-batch-size=10"],
                "invalid audit truncate log max batch size 10, must be greater than max event size (20)",
            ),
        ] {
            assert_eq!(refusal(&[&[path], flags].concat()), expected);
        }
    }
}
