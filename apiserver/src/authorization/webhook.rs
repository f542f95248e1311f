//! Asks another service whether a request is allowed: by a SubjectAccessReview, whose answers are kept for a time.
//!
//! A request is authorized before it has a seat, so seats do not bound the calls. Therefore each user has a number of calls
//! at once, and a share of the queue for further ones: nobody waits for the calls of others.
//!
//! Kubernetes concept: [webhook mode](https://kubernetes.io/docs/reference/access-authn-authz/webhook/).

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;
use clients::{Bounds, CallFailure, Client, with_retries};
use parking_lot::Mutex;
use registry_core::context::UserInfo;
use registry_core::rest::access::AccessRules;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::metrics::{AuthorizationWebhookMetrics, CallResult};
use crate::shares::{QueueFull, TurnBounds, Turns, holder_of};

use super::conditions::{ConditionsFailure, MatchConditions};
use super::review_spec::{ReviewVersion, spec_of};
use super::{Attributes, Authorizer, Decision};

/// Maximum number of kept answers.
const MAX_KEPT: usize = 8_192;
/// Maximum size of the question of a kept answer.
const MAX_KEPT_QUESTION: usize = 10_000;
/// Maximum size of an answer.
const MAX_ANSWER_BYTES: usize = 1 << 20;
/// Calls at once for each user, and calls that are made or wait for their turn.
const CALLS: TurnBounds = TurnBounds { at_once: 64, queued: 16_384 };
/// Time before the second attempt after a failure that may pass.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

/// The settings of the calls of a webhook.
#[derive(Clone, Debug)]
pub(super) struct WebhookSettings {
    /// Time for which a permission is kept; not at all if zero.
    pub(super) authorized_ttl: Duration,
    /// Time for which a refusal is kept; not at all if zero.
    pub(super) unauthorized_ttl: Duration,
    /// Maximum time of a call.
    pub(super) timeout: Duration,
    /// The version of the review.
    pub(super) version: ReviewVersion,
    /// Whether a request is refused when there is no answer; other authorizers are asked otherwise.
    pub(super) denies_on_failure: bool,
}

/// Asks a webhook.
pub(super) struct WebhookAuthorizer {
    client: Client,
    settings: WebhookSettings,
    conditions: MatchConditions,
    metrics: AuthorizationWebhookMetrics,
    /// The calls by user.
    calls: Turns<String>,
    kept: Mutex<Kept>,
}

/// Answers by their questions.
#[derive(Default)]
struct Kept {
    answers: HashMap<Arc<[u8]>, (Status, Instant)>,
    /// The questions, the oldest first.
    order: VecDeque<Arc<[u8]>>,
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Status {
    allowed: bool,
    denied: bool,
    reason: String,
}

/// Error of a question without a usable answer.
#[derive(Debug, thiserror::Error)]
enum ReviewError {
    #[error(transparent)]
    Call(#[from] CallFailure),
    #[error("this user has {0} calls of this webhook already, and none ended in time")]
    NoTurn(usize),
    #[error(transparent)]
    QueueFull(#[from] QueueFull),
    #[error("the answer is not a SubjectAccessReview: {0}")]
    Json(#[from] serde_json::Error),
    #[error("the answer has no status")]
    NoStatus,
    #[error("the answer's status.{field} is {value}")]
    NoFlag { field: &'static str, value: Value },
}

// === impl WebhookAuthorizer ===

impl WebhookAuthorizer {
    /// Creates an authorizer that asks this service about the requests that meet the conditions.
    pub(super) fn new(
        client: Client,
        settings: WebhookSettings,
        conditions: MatchConditions,
        metrics: AuthorizationWebhookMetrics,
    ) -> Self {
        let (client, calls) = (client.without_call_limit(), Turns::new(CALLS));
        Self { client, settings, conditions, metrics, calls, kept: Mutex::default() }
    }

    /// Asks about a request of this user.
    async fn ask(&self, user: &str, spec: &Value) -> Result<Status, ReviewError> {
        let review = json!({
            "apiVersion": self.settings.version.api_version(),
            "kind": "SubjectAccessReview",
            "metadata": {},
            "spec": spec,
            "status": { "allowed": false },
        });
        let body = Bytes::from(review.to_string());
        let holder = holder_of(user);
        with_retries(FIRST_PAUSE, ReviewError::is_temporary, || self.call(holder, body.clone())).await
    }

    async fn call(&self, holder: &str, body: Bytes) -> Result<Status, ReviewError> {
        let begun = Instant::now();
        let answered = self.answer(holder, body).await;
        let result = answered.as_ref().map_or_else(ReviewError::result, |_| CallResult::Success);
        self.metrics.called(result, begun.elapsed());
        answered
    }

    /// Makes a call when it is the turn of its holder. The time of both is limited together.
    async fn answer(&self, holder: &str, body: Bytes) -> Result<Status, ReviewError> {
        let limit = self.settings.timeout;
        let begun = Instant::now();
        let turn = timeout(limit, self.calls.take(holder)).await;
        let _turn = turn.map_err(|_late| ReviewError::NoTurn(self.calls.bounds().at_once))??;
        let bounds =
            Bounds { timeout: limit.saturating_sub(begun.elapsed()), max_answer_bytes: MAX_ANSWER_BYTES };
        Status::parse(&self.client.post(body, bounds).await?)
    }

    /// Returns whether the conditions hold.
    fn is_asked(&self, attributes: &Attributes<'_>) -> Result<bool, ConditionsFailure> {
        if self.conditions.is_empty() {
            return Ok(true);
        }
        let begun = Instant::now();
        let outcome = self.conditions.hold(attributes);
        self.metrics
            .evaluated_conditions(begun.elapsed(), outcome.as_ref().map(|holds| *holds).map_err(|_| ()));
        outcome
    }

    fn kept(&self, question: &[u8]) -> Option<Status> {
        let kept = self.kept.lock();
        let (status, until) = kept.answers.get(question)?;
        (*until > Instant::now()).then(|| status.clone())
    }

    fn keep(&self, question: Vec<u8>, status: &Status) {
        let settings = &self.settings;
        let time = if status.allowed { settings.authorized_ttl } else { settings.unauthorized_ttl };
        if question.len() > MAX_KEPT_QUESTION || time.is_zero() {
            return;
        }
        let question: Arc<[u8]> = question.into();
        let mut kept = self.kept.lock();
        let answer = (status.clone(), Instant::now() + time);
        if kept.answers.insert(question.clone(), answer).is_none() {
            kept.order.push_back(question);
        }
        if kept.order.len() > MAX_KEPT
            && let Some(oldest) = kept.order.pop_front()
        {
            kept.answers.remove(&oldest);
        }
    }

    fn failed(&self, error: String) -> Decision {
        let (reason, error) = (Cow::Borrowed(""), Cow::Owned(error));
        if self.settings.denies_on_failure {
            Decision::Deny { reason, error }
        } else {
            Decision::NoOpinion { reason, error }
        }
    }
}

#[async_trait]
impl Authorizer for WebhookAuthorizer {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        match self.is_asked(attributes) {
            Ok(true) => {}
            Ok(false) => return Decision::no_opinion(""),
            Err(failure) => return self.failed(failure.to_string()),
        }
        let spec = spec_of(attributes, self.settings.version);
        let question = spec.to_string().into_bytes();
        if let Some(status) = self.kept(&question) {
            return status.decision();
        }
        match self.ask(&attributes.user.name, &spec).await {
            Ok(status) => {
                self.keep(question, &status);
                status.decision()
            }
            Err(failure) => {
                tracing::warn!("a webhook does not say whether a request is allowed: {failure}");
                if !self.settings.denies_on_failure {
                    self.metrics.failed_open(failure.result());
                }
                self.failed(failure.to_string())
            }
        }
    }

    fn rules_of(&self, _user: &UserInfo, _namespace: &str) -> AccessRules {
        let error = "webhook authorizer does not support user rule resolution".to_owned();
        AccessRules { incomplete: true, error, ..AccessRules::default() }
    }
}

// === impl ReviewError ===

impl ReviewError {
    fn is_temporary(&self) -> bool {
        matches!(self, Self::Call(failure) if failure.is_temporary())
    }

    fn result(&self) -> CallResult {
        match self {
            Self::Call(failure) if failure.is_timeout() => CallResult::Timeout,
            Self::NoTurn(_) => CallResult::Timeout,
            _ => CallResult::Error,
        }
    }
}

// === impl Status ===

impl Status {
    fn parse(answer: &[u8]) -> Result<Self, ReviewError> {
        let review: Value = serde_json::from_slice(answer)?;
        let status = review.get("status").filter(|status| status.is_object()).ok_or(ReviewError::NoStatus)?;
        let flag = |field: &'static str| match status.get(field) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(value) => Err(ReviewError::NoFlag { field, value: value.clone() }),
        };
        let reason = status.get("reason").and_then(Value::as_str).unwrap_or_default().to_owned();
        Ok(Self { allowed: flag("allowed")?, denied: flag("denied")?, reason })
    }

    fn decision(self) -> Decision {
        let reason = Cow::Owned(self.reason);
        match (self.allowed, self.denied) {
            (true, true) => Decision::Deny {
                reason,
                error: "webhook subject access review returned both allow and deny response".into(),
            },
            (true, false) => Decision::Allow { reason },
            (false, true) => Decision::Deny { reason, error: "".into() },
            (false, false) => Decision::NoOpinion { reason, error: "".into() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_strictly() {
        let decision = |answer: Value| Status::parse(answer.to_string().as_bytes()).map(Status::decision);
        let read = |status: Value| decision(json!({ "status": status })).unwrap();
        let allowed = Decision::Allow { reason: "so".into() };
        assert_eq!(read(json!({ "allowed": true, "reason": "so" })), allowed);
        assert_eq!(read(json!({ "allowed": false })), Decision::no_opinion(""));
        let denied = Decision::Deny { reason: "".into(), error: "".into() };
        assert_eq!(read(json!({ "allowed": false, "denied": true })), denied);
        let both = read(json!({ "allowed": true, "denied": true }));
        assert!(matches!(both, Decision::Deny { error, .. } if !error.is_empty()));
        for wrong in
            [json!({}), json!([]), json!({ "status": { "allowed": "true" } }), json!({ "status": null })]
        {
            assert!(decision(wrong.clone()).is_err(), "{wrong}");
        }
    }
}
