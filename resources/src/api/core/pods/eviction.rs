//! `pods/eviction`: a deletion that respects the pod's disruption budget.
//!
//! Kubernetes concept: [API-initiated eviction](https://kubernetes.io/docs/concepts/scheduling-eviction/api-eviction/).

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::{
    CreateOptions, DeleteOptions, GroupResource, GroupVersion, GroupVersionKind, Object, Preconditions,
    Scope, StatusError, UpdateOptions, time,
};
use registry_core::capabilities;
use registry_core::registry::{Services, StatusRules, Store, Stores, Subresource};
use registry_core::resource::Resource;
use registry_core::rest::{
    AdmitAll, Answer, Capabilities, GracefulDeleter, NamedCreater, Storage, SuccessStatus, UpdatedObject,
    ValidateObject,
};
use registry_core::schema::Schema;
use resource_views::core::v1::Pod;
use serde_json::json;

use super::Pods;
use super::conditions::set_condition;
use crate::support::lookup::read_newest;

mod budget;
mod options;

use budget::{Budgets, Verdict, violates};
use options::delete_options;

const EVICTION: GroupVersionKind = GroupVersionKind { group: "policy", version: "v1", kind: "Eviction" };

/// Maximum number of attempts to delete a pod without a budget that changes concurrently.
const ATTEMPTS: usize = 20;

/// The `eviction` subresource of pods.
pub struct PodEviction {
    pods: Arc<Store>,
    stores: Stores,
}

impl Subresource for PodEviction {
    type Parent = Pods;
    type Storage = Self;
    const NAME: &'static str = "eviction";

    fn install(parent: &Arc<Store>, services: &Services) -> Capabilities {
        let eviction = Self { pods: parent.clone(), stores: services.stores.clone() };
        capabilities!(Arc::new(eviction); named_creater)
    }
}

impl Storage for PodEviction {
    fn group_resource(&self) -> GroupResource {
        Pods::TYPE.group_resource()
    }

    fn kind(&self) -> GroupVersionKind {
        EVICTION
    }

    fn other_versions(&self) -> &'static [GroupVersion] {
        &[GroupVersion { group: "policy", version: "v1beta1" }]
    }

    fn scope(&self) -> Scope {
        Scope::Namespaced
    }

    fn schema(&self) -> Schema {
        crate::schema::built_in_kind(EVICTION)
    }
}

#[async_trait]
impl NamedCreater for PodEviction {
    async fn create_named(
        &self,
        context: &RequestContext,
        name: &str,
        object: Object,
        admission: &dyn ValidateObject,
        options: &CreateOptions,
    ) -> Result<Answer, StatusError> {
        if object.name() != name {
            return Err(StatusError::bad_request("name in URL does not match name in Eviction object"));
        }
        let deletion = delete_options(&object, options)?;
        admission.validate(context, Some(&object), None).await?;
        match self.evict_unguarded(context, name, &deletion).await? {
            None => {}
            Some(pod) => self.evict_guarded(context, &pod, deletion).await?,
        }
        Ok(Answer::Success(SuccessStatus { details: None, code: Some(201) }))
    }
}

// === impl PodEviction ===

impl PodEviction {
    /// Deletes a pod whose state makes budgets irrelevant; returns a pod that a budget may protect.
    async fn evict_unguarded(
        &self,
        context: &RequestContext,
        name: &str,
        options: &DeleteOptions,
    ) -> Result<Option<Object>, StatusError> {
        let is_pinned = options.preconditions.resource_version.is_some();
        let mut attempts = if is_pinned { 1 } else { ATTEMPTS };
        loop {
            let pod = read_newest(&self.pods, context, name).await?;
            if !is_beyond_budgets(&pod) {
                return Ok(Some(pod));
            }
            let mut options = options.clone();
            // A pod that has not started may become ready, and thus protected, in between.
            if !is_pinned && !is_over(&pod) {
                options.preconditions.resource_version = Some(pod.resource_version().to_owned());
            }
            attempts -= 1;
            match self.delete(context, name, options).await {
                Err(failure) if failure.is_conflict() && attempts > 0 => {}
                outcome => return outcome.map(|()| None),
            }
        }
    }

    /// Deletes a pod if its budget allows it.
    async fn evict_guarded(
        &self,
        context: &RequestContext,
        pod: &Object,
        mut options: DeleteOptions,
    ) -> Result<(), StatusError> {
        let budgets = Budgets::within(&self.stores)?;
        let verdict = budgets.spend(&context.namespace, pod, options.dry_run).await?;
        // An unhealthy pod costs no disruption, provided that it does not change before its deletion.
        let mut free_of_charge = None;
        if let Verdict::CostsNothing { budget } = verdict
            && options.preconditions.resource_version.is_none()
        {
            options.preconditions.resource_version = Some(pod.resource_version().to_owned());
            free_of_charge = Some(budget);
        }
        match (self.delete(context, pod.name(), options).await, free_of_charge) {
            (Err(failure), Some(budget)) if failure.is_conflict() => Err(violates(&budget)),
            (outcome, _) => outcome,
        }
    }

    /// Sets the pod's disruption condition, and deletes the pod.
    async fn delete(
        &self,
        context: &RequestContext,
        name: &str,
        mut options: DeleteOptions,
    ) -> Result<(), StatusError> {
        if !options.dry_run.is_on() {
            let mut announcement = Announcement { preconditions: &options.preconditions };
            let update = UpdateOptions::default();
            let (announced, _) = self
                .pods
                .with_rules(&StatusRules)
                .update(context, name, &mut announcement, &AdmitAll, &update)
                .await?;
            // This request made the write itself, so the client's preconditions refer to the state before it.
            if let (Answer::Stored(entry), Some(revision)) =
                (announced, &mut options.preconditions.resource_version)
            {
                *revision = entry.revision.to_string();
            }
        }
        self.pods.delete(context, name, &AdmitAll, &options).await.map(|_| ())
    }
}

/// Sets the condition that a pod is about to be evicted.
struct Announcement<'a> {
    preconditions: &'a Preconditions,
}

#[async_trait]
impl UpdatedObject for Announcement<'_> {
    async fn updated_object(
        &mut self,
        _context: &RequestContext,
        current: Option<&Object>,
    ) -> Result<Object, StatusError> {
        let Some(pod) = current else {
            return Err(StatusError::internal("a pod was to be evicted that is not there"));
        };
        self.check(pod)?;
        let mut marked = pod.clone();
        let condition = json!({
            "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
            "message": "Eviction API: evicting", "lastProbeTime": null, "lastTransitionTime": time::now(),
        });
        set_condition(&mut marked, condition);
        Ok(marked)
    }
}

// === impl Announcement ===

impl Announcement<'_> {
    /// Names the kind instead of the resource, as kube-apiserver does here.
    fn check(&self, pod: &Object) -> Result<(), StatusError> {
        let kind = GroupResource { group: "", resource: "Pod" };
        let refuse = |what: &str, wanted: &str, found: &str, hint: &str| {
            let why = format!(
                "the {what} in the precondition ({wanted}) does not match the {what} in record ({found}). {hint}"
            );
            Err(StatusError::conflict(kind, pod.name(), why))
        };
        if let Some(wanted) = self.preconditions.uid.as_deref().filter(|wanted| *wanted != pod.uid()) {
            let hint = "The object might have been deleted and then recreated";
            return refuse("UID", wanted, pod.uid(), hint);
        }
        let found = pod.resource_version();
        match self.preconditions.resource_version.as_deref().filter(|wanted| *wanted != found) {
            Some(wanted) => refuse("ResourceVersion", wanted, found, "The object might have been modified"),
            None => Ok(()),
        }
    }
}

/// Whether budgets do not apply to the pod's state: it has terminated, is terminating, or has not started.
fn is_beyond_budgets(pod: &Object) -> bool {
    is_over(pod) || Pod(pod).status().phase().optional_text() == Some("Pending")
}

/// Whether the pod has terminated or is terminating.
fn is_over(pod: &Object) -> bool {
    let phase = Pod(pod).status().phase().text();
    matches!(phase, "Succeeded" | "Failed") || pod.deletion_timestamp().is_some()
}
