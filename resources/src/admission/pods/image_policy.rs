//! `ImagePolicyWebhook`: a service outside of the server decides whether the images of a pod may be used.

mod backend;
mod settings;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use parking_lot::Mutex;
use registry_core::RequestContext;
use registry_core::admission::{ObjectWrite, Operation, ValidatingAdmission};
use registry_core::api::{Object, StatusError};
use registry_core::resource::Resource;
use registry_core::rest::webhook::WebhookCaller;
use resource_views::Typed as _;
use resource_views::core::v1::Container;
use serde_json::{Map, Value, json};

use crate::admission::refusal::forbidden;
use crate::api::core::pods::Pods;
use backend::{AskError, Backend, Verdict};
pub(crate) use settings::ImagePolicySettings;

/// Pods pass information to the service by annotations that contain this.
const ANNOTATION_PART: &str = ".image-policy.k8s.io/";
const AUDIT_PREFIX: &str = "imagepolicywebhook.image-policy.k8s.io/";
/// Maximum number of verdicts that are remembered.
const MAX_VERDICTS: usize = 1024;

/// The plug-in.
pub(super) struct ImagePolicy {
    backend: Option<Backend>,
    verdicts: Mutex<HashMap<String, (Instant, Verdict)>>,
}

impl ImagePolicy {
    /// Creates the plug-in. Without settings, which it is not enabled without, it refuses all pods.
    pub(super) fn new(settings: Option<ImagePolicySettings>, webhooks: Arc<dyn WebhookCaller>) -> Self {
        let backend = settings.map(|settings| Backend { settings, webhooks });
        Self { backend, verdicts: Mutex::default() }
    }

    /// Returns the verdict on a question, a recent one if there is one.
    async fn verdict(&self, backend: &Backend, question: Value) -> Result<Verdict, AskError> {
        let key = question.to_string();
        let now = Instant::now();
        let known = self.verdicts.lock().get(&key).cloned();
        if let Some((_, verdict)) = known.filter(|(until, _)| *until > now) {
            return Ok(verdict);
        }
        let verdict = backend.ask(question).await?;
        let lasts = if verdict.allowed { backend.settings.allow_ttl } else { backend.settings.deny_ttl };
        let mut verdicts = self.verdicts.lock();
        if verdicts.len() >= MAX_VERDICTS {
            verdicts.retain(|_, (until, _)| *until > now);
        }
        if verdicts.len() >= MAX_VERDICTS {
            verdicts.clear();
        }
        if !lasts.is_zero() {
            verdicts.insert(key, (now + lasts, verdict.clone()));
        }
        Ok(verdict)
    }
}

#[async_trait]
impl ValidatingAdmission for ImagePolicy {
    async fn validate(&self, context: &RequestContext, write: ObjectWrite<'_>) -> Result<(), StatusError> {
        let Some(pod) = write.object else { return Ok(()) };
        let is_pod = write.attributes.resource.group_resource() == Pods::TYPE.group_resource()
            && Operation::WRITES.contains(&write.attributes.operation);
        let lists: &[&str] = match write.attributes.subresource {
            "" => &["containers", "initContainers"],
            "ephemeralcontainers" => &["ephemeralContainers"],
            _ => return Ok(()),
        };
        if !is_pod {
            return Ok(());
        }
        let Some(backend) = &self.backend else {
            return Err(forbidden(write.attributes, write.object, "no image policy backend is configured"));
        };
        match self.verdict(backend, question(pod, lists, &context.namespace)).await {
            Ok(verdict) => {
                for (key, value) in &verdict.audit {
                    context.annotate(format!("{AUDIT_PREFIX}{key}"), value.clone());
                }
                match verdict.refusal() {
                    Some(why) => Err(forbidden(write.attributes, write.object, why)),
                    None => Ok(()),
                }
            }
            Err(_) if backend.settings.default_allow => {
                context.annotate(format!("{AUDIT_PREFIX}failed-open"), "true");
                Ok(())
            }
            Err(error) => Err(forbidden(write.attributes, write.object, error)),
        }
    }
}

/// Returns the specification of the review of a pod's images.
fn question(pod: &Object, lists: &[&str], namespace: &str) -> Value {
    let containers = lists.iter().filter_map(|list| pod.get(&["spec", list]).and_then(Value::as_array));
    let containers: Vec<Value> = containers
        .flatten()
        .map(|container| json!({"image": Container::from_value(container).image().text()}))
        .collect();
    let annotations = pod.annotations().filter(|(key, _)| key.contains(ANNOTATION_PART));
    let annotations: Map<String, Value> =
        annotations.map(|(key, value)| (key.to_owned(), value.into())).collect();
    if annotations.is_empty() {
        return json!({"containers": containers, "namespace": namespace});
    }
    json!({"containers": containers, "annotations": annotations, "namespace": namespace})
}

#[cfg(test)]
mod tests;
