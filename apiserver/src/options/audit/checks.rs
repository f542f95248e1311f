//! Validation of the audit flags, with Kubernetes' messages.

use registry_core::api::go_text::aggregate;

use super::{
    AuditLogOptions, AuditOptions, AuditWebhookOptions, BatchConfig, FORMATS, MODES, Mode, OptionsError,
    VERSION, mode,
};

/// The sizes of one backend.
struct Sizes<'a> {
    plugin: &'static str,
    mode: &'a str,
    buffer_size: i64,
    max_size: i64,
    burst: i64,
    max_event_size: i64,
    max_batch_size: i64,
}

// === impl AuditOptions ===

impl AuditOptions {
    /// Checks the flags of the backends that are used.
    ///
    /// # Errors
    /// Fails with all reasons.
    pub(crate) fn validate(&self) -> Result<(), OptionsError> {
        let mut errors = Vec::new();
        if self.log.audit_log_path.is_some() {
            self.log.check(&mut errors);
        }
        if self.webhook.audit_webhook_config_file.is_some() {
            self.webhook.check(&mut errors);
        }
        if errors.is_empty() { Ok(()) } else { Err(OptionsError(aggregate(errors))) }
    }
}

impl AuditLogOptions {
    fn check(&self, errors: &mut Vec<String>) {
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
        let format = &self.audit_log_format;
        if !FORMATS.iter().any(|(name, _)| name == format) {
            let names = FORMATS.map(|(name, _)| name).join(",");
            errors.push(format!("invalid audit log format {format}, allowed formats are {names:?}"));
        }
        for (flag, number) in [
            ("maxage", self.audit_log_maxage),
            ("maxbackup", self.audit_log_maxbackup),
            ("maxsize", self.audit_log_maxsize),
        ] {
            if number < 0 {
                errors.push(format!("--audit-log-{flag} {number} can't be a negative number"));
            }
        }
    }
}

impl AuditWebhookOptions {
    fn check(&self, errors: &mut Vec<String>) {
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
    fn check(&self, batch: BatchConfig, version: &str, errors: &mut Vec<String>) {
        let Self { plugin, max_event_size, max_batch_size, .. } = self;
        match mode(self.mode) {
            Some(Mode::Batch) => errors.extend(self.batch_error(batch)),
            Some(_) => {}
            None => {
                let names = MODES.map(|(name, _)| name).join(",");
                errors
                    .push(format!("invalid audit {plugin} mode {}, allowed modes are {names:?}", self.mode));
            }
        }
        if *max_event_size <= 0 {
            errors.push(format!(
                "invalid audit truncate {plugin} max event size {max_event_size}, must be a positive number"
            ));
        } else if max_batch_size < max_event_size {
            errors.push(format!(
                "invalid audit truncate {plugin} max batch size {max_batch_size}, must be greater than max event \
                 size ({max_event_size})"
            ));
        }
        if version != VERSION {
            errors.push(format!("invalid group version, allowed versions are [{VERSION:?}]"));
        }
    }

    fn batch_error(&self, batch: BatchConfig) -> Option<String> {
        let Self { plugin, .. } = self;
        let wrong = |what: &str, number: &dyn std::fmt::Display| {
            Some(format!("invalid audit batch {plugin} {what} {number}, must be a positive number"))
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
