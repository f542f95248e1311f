//! Which webhooks a write is sent to.
//!
//! Kubernetes concept: `ShouldCallHook` in `k8s.io/apiserver/pkg/admission/plugin/webhook/generic`.

use std::time::Instant;

use registry_core::RequestContext;
use registry_core::api::{Object, StatusError};

use crate::admission::Attributes;
use crate::admission::conditions::Verdict;
use crate::admission::expressions;
use crate::admission::matching::{Matched, MatchedObjects, VersionedObjects};
use crate::metrics::WebhookKind;

use super::Dependencies;
use super::configuration::Webhook;

/// A write, as the plug-ins receive it.
#[derive(Clone, Copy)]
pub(super) struct Write<'a> {
    pub(super) context: &'a RequestContext,
    pub(super) attributes: &'a Attributes<'a>,
    pub(super) kind: WebhookKind,
}

// === impl Write ===

impl Write<'_> {
    /// Returns in which version a webhook is called for the write; `None` if it is not.
    ///
    /// # Errors
    /// Fails if this cannot be decided: the namespace is missing, or a condition cannot be evaluated.
    pub(super) async fn selects(
        &self,
        dependencies: &Dependencies,
        webhook: &Webhook,
        versions: &mut VersionedObjects<'_>,
        object: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<Option<Matched>, StatusError> {
        let Self { context, attributes, .. } = *self;
        let Some(criteria) = &webhook.criteria else { return Ok(None) };
        let matched = dependencies.matcher.matches(criteria, context, attributes, object, old).await?;
        let Some(matched) = matched else { return Ok(None) };
        if webhook.conditions.is_empty() {
            return Ok(Some(matched));
        }
        let objects = versions.in_version(&matched, object, old).await?;
        let verdict = self.conditions_of(dependencies, webhook, &matched, &objects).await;
        match verdict {
            Verdict::Match => Ok(Some(matched)),
            Verdict::NoMatch { .. } => Ok(None),
            Verdict::Failed(_) if webhook.ignores_failures => Ok(None),
            Verdict::Failed(why) => {
                let resource = attributes.resource.group_resource();
                Err(StatusError::forbidden(resource, attributes.name, why))
            }
        }
    }

    async fn conditions_of(
        &self,
        dependencies: &Dependencies,
        webhook: &Webhook,
        matched: &Matched,
        objects: &MatchedObjects<'_>,
    ) -> Verdict {
        let write = expressions::Write::new(self.context, self.attributes, &dependencies.access);
        let subject = expressions::Subject {
            object: objects.object.as_deref(),
            old_object: objects.old.as_deref(),
            resource: matched.resource(self.attributes),
            kind: matched.kind(self.attributes),
            params: None,
            namespace: None,
        };
        let began = Instant::now();
        let verdict = webhook.conditions.check(&write, &subject, None).await;
        let metrics = &dependencies.metrics;
        let operation = self.attributes.operation.as_str();
        let labels = (webhook.name.as_str(), self.kind, operation);
        verdict.count(metrics, "webhook", labels, began.elapsed(), webhook.ignores_failures);
        verdict
    }
}
