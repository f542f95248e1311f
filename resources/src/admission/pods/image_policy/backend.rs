//! The service that decides about images.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use registry_core::rest::webhook::{WebhookCall, WebhookCaller, WebhookError};
use serde::Deserialize;
use serde_json::{Value, json};

use super::settings::ImagePolicySettings;

/// Maximum time of one call.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Number of times that the service is called if it fails.
const ATTEMPTS: u32 = 3;
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// The service.
pub(super) struct Backend {
    pub(super) settings: ImagePolicySettings,
    pub(super) webhooks: Arc<dyn WebhookCaller>,
}

/// The answer of the service.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Verdict {
    pub(super) allowed: bool,
    reason: String,
    #[serde(rename = "auditAnnotations")]
    pub(super) audit: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Review {
    #[serde(default)]
    status: Verdict,
}

/// Error of a question that the service does not answer. Retryable.
#[derive(Debug, thiserror::Error)]
pub(super) enum AskError {
    #[error(transparent)]
    Call(#[from] WebhookError),
    #[error("the answer of the image policy webhook is not an ImageReview: {0}")]
    Answer(#[from] serde_json::Error),
}

// === impl Backend ===

impl Backend {
    /// Asks the service about the images of a pod.
    ///
    /// # Errors
    /// The service cannot be reached, or its answer is not one; the text is the reason.
    pub(super) async fn ask(&self, spec: Value) -> Result<Verdict, AskError> {
        let review = json!({
            "kind": "ImageReview", "apiVersion": "imagepolicy.k8s.io/v1alpha1",
            "metadata": {"creationTimestamp": null}, "spec": spec, "status": {"allowed": false},
        });
        let body = bytes::Bytes::from(review.to_string());
        let mut pause = self.settings.retry_backoff;
        let mut attempt = 1;
        loop {
            let call = WebhookCall {
                config: &self.settings.webhook,
                // A service of its own, whose client bounds its calls.
                user: None,
                body: body.clone(),
                timeout: TIMEOUT,
                max_answer_bytes: MAX_ANSWER_BYTES,
            };
            match self.webhooks.call(call).await {
                Ok(answer) => {
                    let review: Review = serde_json::from_slice(&answer)?;
                    return Ok(review.status);
                }
                Err(failure) if attempt == ATTEMPTS => return Err(failure.into()),
                Err(_) => {}
            }
            attempt += 1;
            tokio::time::sleep(pause).await;
            pause = pause.mul_f32(1.5);
        }
    }
}

// === impl Verdict ===

impl Verdict {
    /// Returns why the images are refused, if they are.
    pub(super) fn refusal(&self) -> Option<String> {
        match (self.allowed, self.reason.as_str()) {
            (true, _) => None,
            (false, "") => Some("one or more images rejected by webhook backend".to_owned()),
            (false, reason) => {
                Some(format!("image policy webhook backend denied one or more images: {reason}"))
            }
        }
    }
}
