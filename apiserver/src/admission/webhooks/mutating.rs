//! `MutatingAdmissionWebhook`: webhooks that may change an object, called one after the other.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/admission/plugin/webhook/mutating`.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::Reinvocation;
use registry_core::api::{Object, StatusError};
use registry_core::context::AuditLevel;
use registry_core::registry::InformerTask;
use serde_json::{Value, json};

use crate::admission::matching::{Matched, MatchedObjects, VersionedObjects};
use crate::admission::{AdmissionPlugin, MutatingAdmission, ObjectWriteMut};
use crate::metrics::WebhookKind;

use super::Dependencies;
use super::call::{Call, Failure};
use super::configuration::{Configurations, Webhook};
use super::patch::{Change, change, check_managers};
use super::selection::Write;

const NAME: &str = "MutatingAdmissionWebhook";
const MANAGED_FIELDS: &[&str] = &["metadata", "managedFields"];

/// The plug-in.
pub(super) struct MutatingAdmissionWebhook {
    configurations: Configurations,
    dependencies: Arc<Dependencies>,
}

/// The state that is kept between the two runs of the mutating plug-ins.
#[derive(Default)]
struct Kept {
    /// The webhooks that were called and are called again if the object changes.
    called: HashSet<String>,
    /// The webhooks that the second run calls.
    again: HashSet<String>,
    /// The object after the last run; only known if a webhook was called that may be called again.
    output: Option<Object>,
}

/// One webhook in one run.
#[derive(Clone, Copy)]
struct Turn<'a> {
    write: Write<'a>,
    webhook: &'a Webhook,
    /// The webhook's place among all webhooks.
    index: usize,
}

// === impl MutatingAdmissionWebhook ===

impl MutatingAdmissionWebhook {
    pub(super) fn new(configurations: Configurations, dependencies: Arc<Dependencies>) -> Self {
        Self { configurations, dependencies }
    }

    async fn run(
        &self,
        write: Write<'_>,
        webhooks: &[Arc<Webhook>],
        mut object: Option<&mut Object>,
        old: Option<&Object>,
    ) -> Result<(), StatusError> {
        let managers = object.as_deref().and_then(|object| object.get(MANAGED_FIELDS)).cloned();
        let mut versions = VersionedObjects::new(write.attributes);
        for (index, webhook) in webhooks.iter().enumerate() {
            let turn = Turn { write, webhook, index };
            let Some(changed) = self.take(turn, &mut versions, object.as_deref(), old).await? else {
                continue;
            };
            if let Some(object) = object.as_deref_mut() {
                *object = changed;
                versions.changed();
            }
        }
        if let Some(object) = object {
            keep_managers(write.context, managers, object);
        }
        Ok(())
    }

    /// Calls a webhook if it is to be called. Returns the object if it was changed.
    async fn take(
        &self,
        turn: Turn<'_>,
        versions: &mut VersionedObjects<'_>,
        object: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<Option<Object>, StatusError> {
        let Turn { write, webhook, .. } = turn;
        let dependencies = &*self.dependencies;
        let matched = write.selects(dependencies, webhook, versions, object, old).await?;
        let Some(matched) = matched.filter(|_| turn.is_due()) else { return Ok(None) };
        let objects = versions.in_version(&matched, object, old).await?;
        let call = Call { write, webhook, matched: &matched, objects: &objects };
        let began = Instant::now();
        let result = match call.ask(dependencies).await {
            Ok(answer) => changed(&turn, versions, (&matched, &objects), object, &answer).await,
            Err(failure) => Err(failure),
        };
        let is_changed = matches!(&result, Ok(Some(_)));
        turn.annotate_mutation(is_changed);
        turn.remember(is_changed);
        let settled = call.settle(dependencies, result, began.elapsed())?;
        if settled.is_none() {
            turn.annotate_failed_open();
        }
        Ok(settled.flatten())
    }
}

/// Returns the object of the request as an answer changes it; `None` if it stays the same.
async fn changed(
    turn: &Turn<'_>,
    versions: &VersionedObjects<'_>,
    (matched, objects): (&Matched, &MatchedObjects<'_>),
    object: Option<&Object>,
    answer: &super::answer::Answer,
) -> Result<Option<Object>, Failure> {
    let budget = &turn.write.context.budget;
    let change = change(answer, &turn.webhook.name, objects.object.as_deref(), budget)?;
    let Some(Change { patch, object: patched }) = change else { return Ok(None) };
    let restored = versions.restored(matched, patched, budget).await.map_err(Failure::Unusable)?;
    turn.annotate_patch(&patch);
    Ok((object != Some(&restored)).then_some(restored))
}

/// Restores the managers of fields if webhooks have made them malformed.
fn keep_managers(context: &RequestContext, before: Option<Value>, object: &mut Object) {
    let after = object.get(MANAGED_FIELDS);
    if after == before.as_ref() {
        return;
    }
    let Err(reason) = check_managers(after) else { return };
    context.warn(format!(
        ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating \
         admission controller; please fix your requests: {reason}"
    ));
    match before {
        Some(before) => object.set(MANAGED_FIELDS, before),
        None => {
            object.remove(MANAGED_FIELDS);
        }
    }
}

impl AdmissionPlugin for MutatingAdmissionWebhook {
    fn name(&self) -> &'static str {
        NAME
    }

    fn informers(&self) -> Vec<InformerTask> {
        self.configurations.informer().into_iter().collect()
    }
}

#[async_trait]
impl MutatingAdmission for MutatingAdmissionWebhook {
    async fn admit(&self, context: &RequestContext, write: ObjectWriteMut<'_>) -> Result<(), StatusError> {
        let ObjectWriteMut { attributes, mut object, old } = write;
        let Some(webhooks) = self.configurations.webhooks(attributes).await? else { return Ok(()) };
        let reinvocation = attributes.reinvocation;
        if reinvocation.is_some_and(Reinvocation::is_second_run) {
            with_kept(reinvocation, |kept| kept.begin_again(object.as_deref()));
        }
        let write = Write { context, attributes, kind: WebhookKind::Mutating };
        let result = self.run(write, &webhooks, object.as_deref_mut(), old).await;
        with_kept(reinvocation, |kept| kept.end(object.as_deref()));
        result
    }
}

// === impl Turn ===

impl Turn<'_> {
    /// Whether the webhook is called in this run: in a second run only if it was called before, wants to be called again, and
    /// the object has changed since.
    fn is_due(&self) -> bool {
        if self.round() == 0 {
            return true;
        }
        with_kept(self.write.attributes.reinvocation, |kept| kept.again.contains(&self.webhook.id))
            .unwrap_or(true)
    }

    /// Remembers that the webhook was called, and whether it has changed the object.
    fn remember(&self, is_changed: bool) {
        let reinvocation = self.write.attributes.reinvocation;
        if let (Some(reinvocation), true) = (reinvocation, is_changed) {
            reinvocation.request();
        }
        if !is_changed && !self.webhook.is_reinvoked {
            return;
        }
        with_kept(reinvocation, |kept| {
            if is_changed {
                kept.require_called();
            }
            if self.webhook.is_reinvoked {
                kept.called.insert(self.webhook.id.clone());
            }
        });
    }

    fn round(&self) -> u8 {
        self.write.attributes.reinvocation.is_some_and(Reinvocation::is_second_run).into()
    }

    fn key(&self, prefix: &str) -> String {
        format!("{prefix}webhook.admission.k8s.io/round_{}_index_{}", self.round(), self.index)
    }

    fn annotate_mutation(&self, is_changed: bool) {
        let context = self.write.context;
        if context.audits(AuditLevel::Metadata) {
            let Webhook { configuration, name, .. } = self.webhook;
            // In the order of Kubernetes' struct.
            let text = format!(
                "{{\"configuration\":{},\"webhook\":{},\"mutated\":{is_changed}}}",
                json!(configuration),
                json!(name)
            );
            context.annotate(self.key("mutation."), text);
        }
    }

    fn annotate_patch(&self, patch: &Value) {
        let context = self.write.context;
        if context.audits(AuditLevel::Request) {
            let Webhook { configuration, name, .. } = self.webhook;
            let text = format!(
                "{{\"configuration\":{},\"webhook\":{},\"patch\":{patch},\"patchType\":\"JSONPatch\"}}",
                json!(configuration),
                json!(name)
            );
            context.annotate(self.key("patch."), text);
        }
    }

    fn annotate_failed_open(&self) {
        self.write.context.annotate(self.key("failed-open.mutation."), self.webhook.name.clone());
    }
}

// === impl Kept ===

impl Kept {
    /// Begins the second run with this object. If other plug-ins have changed it since the first one, webhooks are called
    /// again.
    fn begin_again(&mut self, object: Option<&Object>) {
        if !self.called.is_empty() && self.output.as_ref() != object {
            self.require_called();
        }
    }

    fn end(&mut self, object: Option<&Object>) {
        self.output = if self.called.is_empty() { None } else { object.cloned() };
    }

    fn require_called(&mut self) {
        self.again.extend(self.called.drain());
    }
}

fn with_kept<R>(reinvocation: Option<&Reinvocation>, function: impl FnOnce(&mut Kept) -> R) -> Option<R> {
    reinvocation.map(|reinvocation| reinvocation.with_kept(NAME, function))
}
