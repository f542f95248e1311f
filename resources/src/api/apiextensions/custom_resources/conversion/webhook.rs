//! Conversion by a webhook.
//!
//! What the webhook returns is checked: it converts the objects it was asked for, and of their metadata it changes only
//! labels and annotations. Nothing of a failure is kept: the next request asks again.
//!
//! Kubernetes concept: `webhookConverter` in `k8s.io/apiextensions-apiserver/pkg/apiserver/conversion`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use registry_core::api::Object;
use registry_core::budget::{Budget, memory};
use registry_core::resource::conversion::{ConversionError, RemoteConverter};
use registry_core::rest::webhook::{WebhookCall, WebhookCaller, WebhookError};

use crate::api::apiextensions::customresourcedefinitions::definition::ConversionWebhook;

use super::metadata::{Complaint, Original};
use super::review::{AnswerError, Review, ReviewVersion};

/// Maximum time for a call.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum size of an answer, beyond a multiple of the request: a converted object may be larger, but not more than a
/// stored one can be.
const ANSWER_BYTES: usize = 4 << 20;
/// Maximum memory of the objects in an answer, beyond a multiple of those in the request.
const ANSWER_MEMORY: usize = 48 << 20;
/// Maximum size of an answer as a multiple of the request.
const ANSWER_FACTOR: usize = 4;

/// Converts objects by calling a webhook.
pub(super) struct WebhookConverter {
    webhook: ConversionWebhook,
    caller: Arc<dyn WebhookCaller>,
}

/// An object of a conversion.
enum Place {
    /// It is in the wanted version already.
    Kept(Object),
    /// It is sent to the webhook.
    Sent(Original),
}

/// The type of the objects that are sent, for error messages: `example.com/v1, Kind=Foo`.
#[derive(Clone, Debug)]
struct Subject {
    api_version: String,
    kind: String,
}

/// Error of a conversion by a webhook. The texts are Kubernetes'.
#[derive(Debug, thiserror::Error)]
enum ConversionFailure {
    #[error("no supported conversion review versions")]
    ReviewVersions,
    #[error("conversion webhook for {subject} failed: {source}")]
    Call { subject: Subject, source: WebhookError },
    #[error("conversion webhook for {subject} failed: {source}")]
    Answer { subject: Subject, source: AnswerError },
    #[error("conversion webhook for {subject} returned {found} objects, expected {expected}")]
    Number { subject: Subject, found: usize, expected: usize },
    #[error("conversion webhook for {subject} returned {}", complaint.about(*index))]
    Object { subject: Subject, index: Option<usize>, complaint: Complaint },
}

// === impl WebhookConverter ===

impl WebhookConverter {
    /// Creates the converter of a definition.
    pub(super) fn new(webhook: ConversionWebhook, caller: Arc<dyn WebhookCaller>) -> Self {
        Self { webhook, caller }
    }

    /// Sends objects, and returns the webhook's, unchecked.
    async fn ask(
        &self,
        subject: &Subject,
        sent: &[Object],
        api_version: &str,
    ) -> Result<Vec<serde_json::Value>, ConversionFailure> {
        let version = ReviewVersion::first_of(&self.webhook.review_versions)
            .ok_or(ConversionFailure::ReviewVersions)?;
        let review = Review::new(version);
        let body = review.request(sent, api_version);
        let call = WebhookCall {
            config: &self.webhook.client,
            // Conversions are bounded by the requests that need them.
            user: None,
            max_answer_bytes: ANSWER_BYTES + body.len().saturating_mul(ANSWER_FACTOR),
            body,
            timeout: TIMEOUT,
        };
        let answer = self.caller.call(call).await;
        let answer = answer.map_err(|source| ConversionFailure::Call { subject: subject.clone(), source })?;
        let memory_of_sent: usize =
            sent.iter().flat_map(|object| object.0.values()).map(memory::value_bytes).sum();
        let budget = Budget::with_bytes(ANSWER_MEMORY + ANSWER_FACTOR.saturating_mul(memory_of_sent));
        let converted = review
            .converted(&answer, &budget)
            .map_err(|source| ConversionFailure::Answer { subject: subject.clone(), source })?;
        if converted.len() != sent.len() {
            let subject = subject.clone();
            return Err(ConversionFailure::Number { subject, found: converted.len(), expected: sent.len() });
        }
        Ok(converted)
    }
}

#[async_trait]
impl RemoteConverter for WebhookConverter {
    async fn convert(&self, objects: Vec<Object>, api_version: &str) -> Result<Vec<Object>, ConversionError> {
        let is_one = objects.len() == 1;
        let Some(subject) =
            objects.iter().find(|object| is_sent(object, api_version)).map(Subject::from_object)
        else {
            return Ok(objects.into_iter().map(|object| in_version(object, api_version)).collect());
        };
        let mut places = Vec::with_capacity(objects.len());
        let mut sent = Vec::new();
        for object in objects {
            if is_sent(&object, api_version) {
                places.push(Place::Sent(Original::from_object(&object)));
                sent.push(object);
            } else {
                places.push(Place::Kept(in_version(object, api_version)));
            }
        }
        let converted = self.ask(&subject, &sent, api_version).await.map_err(ConversionError::outside)?;
        drop(sent);
        let mut converted = converted.into_iter().enumerate();
        let mut all = Vec::with_capacity(places.len());
        for place in places {
            all.push(match place {
                Place::Kept(object) => object,
                Place::Sent(original) => {
                    let (index, converted) = converted.next().unwrap_or_default();
                    original.checked(converted, api_version).map_err(|complaint| {
                        let index = if is_one { None } else { Some(index) };
                        let subject = subject.clone();
                        ConversionError::outside(ConversionFailure::Object { subject, index, complaint })
                    })?
                }
            });
        }
        Ok(all)
    }
}

/// Whether a webhook has something to convert: the object is in another version, and has more than its type.
fn is_sent(object: &Object, api_version: &str) -> bool {
    object.api_version() != api_version && object.0.keys().any(|key| key != "apiVersion" && key != "kind")
}

fn in_version(mut object: Object, api_version: &str) -> Object {
    if object.api_version() != api_version {
        object.0.insert("apiVersion".to_owned(), api_version.into());
    }
    object
}

// === impl Subject ===

impl Subject {
    fn from_object(object: &Object) -> Self {
        Self { api_version: object.api_version().to_owned(), kind: object.kind().to_owned() }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, Kind={}", self.api_version, self.kind)
    }
}
