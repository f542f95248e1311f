//! `ValidatingAdmissionWebhook`: webhooks that only allow or refuse a write, called at the same time.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/admission/plugin/webhook/validating`.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use registry_core::RequestContext;
use registry_core::api::{Object, StatusError};
use registry_core::registry::InformerTask;

use crate::admission::matching::{Matched, MatchedObjects, VersionedObjects};
use crate::admission::{AdmissionPlugin, ObjectWrite, ValidatingAdmission};
use crate::metrics::WebhookKind;

use super::Dependencies;
use super::call::Call;
use super::configuration::{Configurations, Webhook};
use super::selection::Write;

/// The plug-in.
pub(super) struct ValidatingAdmissionWebhook {
    configurations: Configurations,
    dependencies: Arc<Dependencies>,
}

/// A webhook that is called.
struct Selected<'a> {
    webhook: &'a Webhook,
    matched: Matched,
    objects: MatchedObjects<'a>,
}

// === impl ValidatingAdmissionWebhook ===

impl ValidatingAdmissionWebhook {
    pub(super) fn new(configurations: Configurations, dependencies: Arc<Dependencies>) -> Self {
        Self { configurations, dependencies }
    }

    async fn selected<'o>(
        &self,
        write: Write<'_>,
        webhooks: &'o [Arc<Webhook>],
        object: Option<&'o Object>,
        old: Option<&'o Object>,
    ) -> Result<Vec<Selected<'o>>, StatusError> {
        let mut versions = VersionedObjects::new(write.attributes);
        let mut selected = Vec::new();
        for webhook in webhooks {
            let matched = write.selects(&self.dependencies, webhook, &mut versions, object, old).await?;
            if let Some(matched) = matched {
                let objects = versions.in_version(&matched, object, old).await?;
                selected.push(Selected { webhook, matched, objects });
            }
        }
        Ok(selected)
    }

    async fn call(&self, write: Write<'_>, index: usize, selected: &Selected<'_>) -> Result<(), StatusError> {
        let Selected { webhook, matched, objects } = selected;
        let call = Call { write, webhook, matched, objects };
        let began = Instant::now();
        let result = call.ask(&self.dependencies).await;
        if call.settle(&self.dependencies, result, began.elapsed())?.is_none() {
            let key = format!("failed-open.validating.webhook.admission.k8s.io/round_0_index_{index}");
            write.context.annotate(key, webhook.name.clone());
        }
        Ok(())
    }
}

impl AdmissionPlugin for ValidatingAdmissionWebhook {
    fn name(&self) -> &'static str {
        "ValidatingAdmissionWebhook"
    }

    fn informers(&self) -> Vec<InformerTask> {
        self.configurations.informer().into_iter().collect()
    }
}

#[async_trait]
impl ValidatingAdmission for ValidatingAdmissionWebhook {
    async fn validate(&self, context: &RequestContext, write: ObjectWrite<'_>) -> Result<(), StatusError> {
        let ObjectWrite { attributes, object, old } = write;
        let Some(webhooks) = self.configurations.webhooks(attributes).await? else { return Ok(()) };
        let write = Write { context, attributes, kind: WebhookKind::Validating };
        let selected = self.selected(write, &webhooks, object, old).await?;
        let calls = selected.iter().enumerate().map(|(index, selected)| self.call(write, index, selected));
        let mut calls: FuturesUnordered<_> = calls.collect();
        // All are called to the end, for their audit annotations; the first refusal is the answer.
        let mut first = Ok(());
        while let Some(result) = calls.next().await {
            first = first.and(result);
        }
        first
    }
}
