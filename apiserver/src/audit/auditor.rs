//! The auditor: decides by the policy which requests are recorded.

use std::sync::Arc;

use clients::egress::Route;
use http::StatusCode;
use registry_core::context::{AuditLevel, UserInfo};
use responses::{self, Response};

use crate::access::Attributes;
use crate::metrics::AuditMetrics;
use crate::options::AuditOptions;

use super::AuditError;
use super::backends::Backends;
use super::policy::{Policy, Stage};
use super::recording::{Origin, Recording};

/// Audits requests.
pub(crate) struct Auditor {
    policy: Policy,
    backends: Arc<Backends>,
    metrics: AuditMetrics,
}

// === impl Auditor ===

impl Auditor {
    /// Creates the auditor of this policy and these options, with this way to the webhook; `None` if there is no policy or no
    /// backend. Must be called within a Tokio runtime.
    ///
    /// # Errors
    /// Fails if a backend cannot be used.
    pub(crate) fn start(
        policy: Option<Policy>,
        options: &AuditOptions,
        metrics: &AuditMetrics,
        route: &Route,
    ) -> Result<Option<Arc<Self>>, AuditError> {
        let Some(policy) = policy else {
            if options.log.audit_log_path.is_some() || options.webhook.audit_webhook_config_file.is_some() {
                tracing::warn!(
                    "no audit policy file provided (--audit-policy-file), no events will be recorded"
                );
            }
            return Ok(None);
        };
        let Some(backends) = Backends::start(options, metrics, route)? else {
            tracing::warn!(
                "neither --audit-log-path nor --audit-webhook-config-file is given, no events will be recorded"
            );
            return Ok(None);
        };
        Ok(Some(Arc::new(Self { policy, backends: Arc::new(backends), metrics: metrics.clone() })))
    }

    /// Begins to record a request of this user, if the policy says so.
    ///
    /// # Errors
    /// Returns the response to a request that must be refused because it cannot be audited.
    pub(crate) async fn begin(
        &self,
        origin: Origin<'_>,
        user: &UserInfo,
    ) -> Result<Option<Box<Recording>>, Response> {
        let Some(mut recording) = self.record(origin, user, Stage::ResponseComplete) else { return Ok(None) };
        if recording.receive().await {
            return Ok(Some(recording));
        }
        self.metrics.rejected();
        recording.abandon();
        let uri = origin.uri();
        let text = format!("Internal Server Error: {uri:?}: failed to store audit event\n");
        Err(responses::text(StatusCode::INTERNAL_SERVER_ERROR, text))
    }

    /// Begins to record a request that is refused before its user is known. It has a single event, when the response
    /// starts.
    pub(crate) fn begin_refused(&self, origin: Origin<'_>) -> Option<Box<Recording>> {
        self.record(origin, &UserInfo::default(), Stage::ResponseStarted)
    }

    fn record(&self, origin: Origin<'_>, user: &UserInfo, last: Stage) -> Option<Box<Recording>> {
        let verdict = self.policy.evaluate(&Attributes::from_request(user, origin.info));
        self.metrics.level(verdict.level);
        if verdict.level == AuditLevel::None {
            return None;
        }
        Some(Box::new(Recording::new(self.backends.clone(), verdict, origin, user, last)))
    }

    /// Delivers what is queued, within bounded time. Later events are lost.
    pub(crate) async fn stop(&self) {
        self.backends.stop().await;
    }
}
