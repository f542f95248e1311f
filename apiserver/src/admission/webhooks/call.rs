//! One call of a webhook, and how it fails.

use std::time::{Duration, Instant};

use registry_core::RequestContext;
use registry_core::api::StatusError;
use registry_core::api::validation::names;
use registry_core::budget::{Budget, memory};
use registry_core::registry::store::new_uid;
use registry_core::rest::webhook::WebhookCall;

use crate::admission::matching::{Matched, MatchedObjects};
use crate::metrics::{WebhookKind, WebhookOutcome};

use super::Dependencies;
use super::answer::{Answer, Fault};
use super::configuration::{SideEffects, Webhook};
use super::review::Subject;
use super::selection::Write;

/// Maximum size of an answer, beyond a multiple of the request: a patch may enlarge an object.
const ANSWER_BYTES: usize = 4 << 20;
/// Maximum size of an answer as a multiple of the request.
const ANSWER_FACTOR: usize = 4;
/// The code of a failed call for which there is no better one, in metrics.
const UNAVAILABLE: u16 = 503;
/// The code of a call that cannot be made, in metrics.
const BAD_REQUEST: u16 = 400;

/// A call of a webhook.
pub(super) struct Call<'a> {
    pub(super) write: Write<'a>,
    pub(super) webhook: &'a Webhook,
    pub(super) matched: &'a Matched,
    pub(super) objects: &'a MatchedObjects<'a>,
}

/// Why a call does not admit a write.
#[derive(Debug)]
pub(super) enum Failure {
    /// The webhook did not answer as it should. Its failure policy decides.
    Calling {
        /// The reason.
        reason: String,
        /// The code, in metrics.
        code: u16,
    },
    /// The webhook refuses the write.
    Refused(StatusError),
    /// The server cannot do what the webhook asks for.
    Unusable(StatusError),
}

// === impl Call ===

impl Call<'_> {
    /// Asks the webhook, and passes its warnings and annotations on.
    ///
    /// # Errors
    /// Fails unless the webhook allows the write.
    pub(super) async fn ask(&self, dependencies: &Dependencies) -> Result<Answer, Failure> {
        let Self { write, webhook, .. } = self;
        if write.attributes.dry_run.is_on() {
            webhook.check_dry_run()?;
        }
        let answer = self.answer(dependencies).await?;
        let context = write.context;
        for (key, value) in &answer.audit_annotations {
            annotate(context, format!("{}/{key}", webhook.name), value);
        }
        for warning in &answer.warnings {
            context.warn(warning.as_str());
        }
        if answer.is_allowed {
            return Ok(answer);
        }
        Err(Failure::Refused(answer.result.unwrap_or_default().into_error(&webhook.name)))
    }

    async fn answer(&self, dependencies: &Dependencies) -> Result<Answer, Failure> {
        let Self { write, webhook, matched, objects } = self;
        let Some(version) = webhook.review_version else {
            let reason = "could not create admission objects: webhook does not accept known AdmissionReview versions (v1, v1beta1)";
            return Err(Failure::Calling { reason: reason.to_owned(), code: BAD_REQUEST });
        };
        let config = webhook.client.as_ref().map_err(|error| Failure::Calling {
            reason: format!("could not get REST client: {error}"),
            code: 500,
        })?;
        let uid = new_uid();
        let subject = Subject { context: write.context, attributes: write.attributes, matched };
        let (object, old) = (objects.object.as_deref(), objects.old.as_deref());
        let body = subject.body(version, &uid, object, old).map_err(|error| Failure::Calling {
            reason: format!("could not create admission objects: {error}"),
            code: BAD_REQUEST,
        })?;
        let call = WebhookCall {
            config,
            user: Some(&write.context.user.name),
            max_answer_bytes: ANSWER_BYTES.saturating_add(body.len().saturating_mul(ANSWER_FACTOR)),
            body,
            timeout: webhook.timeout.min(time_left(write.context)),
        };
        let failed = |reason: String| Failure::Calling {
            reason: format!("failed to call webhook: {reason}"),
            code: UNAVAILABLE,
        };
        let answer = dependencies.caller.call(call).await.map_err(|error| failed(error.to_string()))?;
        let is_mutating = write.kind == WebhookKind::Mutating;
        // A budget of its own: what a webhook answers is not the client's fault, and the answer is not kept.
        let too_large = |_| {
            failed("couldn't get version/kind; json parse error: the answer is too large decoded".to_owned())
        };
        Budget::default().take_bytes(memory::json_bytes(&answer)).map_err(too_large)?;
        Answer::read(&answer, version, &uid, is_mutating).map_err(|fault| match fault {
            Fault::Undecodable(error) => failed(error.to_string()),
            Fault::Invalid(error) => Failure::Calling {
                reason: format!("received invalid webhook response: {error}"),
                code: UNAVAILABLE,
            },
        })
    }

    /// Counts a call, and returns its result; `None` if it failed and the write goes on.
    ///
    /// # Errors
    /// Fails if the write does not go on.
    pub(super) fn settle<T>(
        &self,
        dependencies: &Dependencies,
        result: Result<T, Failure>,
        time: Duration,
    ) -> Result<Option<T>, StatusError> {
        let Self { write, webhook, .. } = self;
        let ignores = webhook.ignores_failures;
        let outcome = match &result {
            Ok(_) => WebhookOutcome::Admitted,
            Err(Failure::Calling { code, .. }) if ignores => WebhookOutcome::FailedOpen(*code),
            Err(Failure::Calling { code, .. }) => WebhookOutcome::Failed(*code),
            Err(Failure::Refused(error)) => WebhookOutcome::Refused(error.code),
            Err(Failure::Unusable(_)) => WebhookOutcome::Unusable,
        };
        let labels = (webhook.name.as_str(), write.kind, write.attributes.operation.as_str());
        dependencies.metrics.called(labels, time, outcome);
        match result {
            Ok(done) => Ok(Some(done)),
            Err(Failure::Refused(error) | Failure::Unusable(error)) => Err(error),
            Err(Failure::Calling { reason, .. }) => {
                let text = format!("failed calling webhook {:?}: {reason}", webhook.name);
                if !ignores {
                    tracing::warn!("failing closed: {text}");
                    return Err(StatusError::internal(text));
                }
                tracing::warn!("failing open: {text}");
                if time_left(write.context).is_zero() {
                    return Err(StatusError::timeout("request did not complete within requested timeout", 0));
                }
                Ok(None)
            }
        }
    }
}

// === impl Webhook ===

impl Webhook {
    /// Checks that the webhook can be called for a dry run.
    fn check_dry_run(&self) -> Result<(), Failure> {
        match self.side_effects {
            SideEffects::NotOnDryRun => Ok(()),
            SideEffects::Some => {
                let text = format!("admission webhook {:?} does not support dry run", self.name);
                Err(Failure::Unusable(StatusError::bad_request(text)))
            }
            SideEffects::Unspecified => {
                Err(Failure::Calling { reason: "Webhook SideEffects is nil".to_owned(), code: BAD_REQUEST })
            }
        }
    }
}

/// Returns how long the client still waits.
fn time_left(context: &RequestContext) -> Duration {
    context
        .budget
        .deadline()
        .map_or(Duration::MAX, |deadline| deadline.saturating_duration_since(Instant::now()))
}

/// Adds an annotation, unless its key, which a webhook chooses, is malformed.
fn annotate(context: &RequestContext, key: String, value: &str) {
    if key.matches('/').count() == 1 && names::qualified_name(&key).is_empty() {
        context.annotate(key, value.to_owned());
    } else {
        tracing::warn!(key, "the key of a webhook's audit annotation is malformed");
    }
}
