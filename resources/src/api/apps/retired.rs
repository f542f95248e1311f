//! Objects that are stored as `apps/v1beta1` or `extensions/v1beta1`, whose defaults are others than those of `v1`.
//!
//! Kubernetes concept: the conversions and defaults of `pkg/apis/apps` and `pkg/apis/extensions`.

use registry_core::api::Object;
use resource_views::apps::v1::{DaemonSetMut, Deployment, DeploymentMut, StatefulSetMut};
use resource_views::apps::v1beta1;
use resource_views::extensions::v1beta1 as extensions;
use serde_json::{Value, json};

use crate::support::defaulting;

/// The annotation with the revision to which a deployment was asked to return; formerly a field of the spec.
const ROLLBACK_TO: &str = "deprecated.deployment.rollback.to";
/// The annotation with the number of changes of a daemon set's template; formerly a field of the spec.
const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";
/// A limit that means none.
const UNLIMITED: i64 = 0x7fff_ffff;

/// Changes a deployment of `apps/v1beta1`.
pub(super) fn renew_deployment(deployment: &mut Object) {
    label_like_template(deployment);
    keep_rollback(deployment);
    DeploymentMut(deployment).spec().or_new().revision_history_limit().or(2);
}

/// Changes a deployment of `extensions/v1beta1`.
pub(super) fn renew_deployment_of_extensions(deployment: &mut Object) {
    label_like_template(deployment);
    keep_rollback(deployment);
    let mut spec = DeploymentMut(deployment).spec().or_new();
    spec.revision_history_limit().or(UNLIMITED);
    spec.progress_deadline_seconds().or(UNLIMITED);
    let mut rollout = spec.strategy().or_new();
    rollout.r#type().or("RollingUpdate");
    if rollout.r#type().is("RollingUpdate") || !rollout.rolling_update().is_absent() {
        let mut rolling = rollout.rolling_update().or_new();
        rolling.max_unavailable().or_if_absent(1);
        rolling.max_surge().or_if_absent(1);
    }
}

/// Changes a daemon set of `extensions/v1beta1`.
pub(super) fn renew_daemon_set(daemon_set: &mut Object) {
    label_like_template(daemon_set);
    let mut spec = extensions::DaemonSetMut(daemon_set).spec().or_new();
    let generation = spec.template_generation().integer().unwrap_or_default();
    spec.template_generation().remove();
    let mut metadata = DaemonSetMut(daemon_set).metadata().or_new();
    let annotations = metadata.annotations().or_new_entries();
    annotations.insert(TEMPLATE_GENERATION.to_owned(), generation.to_string().into());
    DaemonSetMut(daemon_set).spec().or_new().update_strategy().or_new().r#type().or("OnDelete");
}

/// Changes a stateful set of `apps/v1beta1`.
pub(super) fn renew_stateful_set(stateful_set: &mut Object) {
    label_like_template(stateful_set);
    StatefulSetMut(stateful_set).spec().or_new().update_strategy().or_new().r#type().or("OnDelete");
}

/// Sets the labels and the selector to those of the template, unless there are any. All workloads have these fields where a
/// deployment has them. Nothing else differs in a replica set of `extensions/v1beta1`.
pub(super) fn label_like_template(workload: &mut Object) {
    let labels = Deployment(workload).spec().template().metadata().labels().value().cloned();
    let Some(labels) = labels.filter(|labels| !defaulting::is_empty(Some(labels))) else { return };
    DeploymentMut(workload).spec().or_new().selector().or_value(|| json!({ "matchLabels": labels }));
    DeploymentMut(workload).metadata().or_new().labels().or_if_empty(|| labels);
}

/// Moves the revision to which a deployment was asked to return into its annotation, which has no other source.
fn keep_rollback(deployment: &mut Object) {
    let spec = v1beta1::DeploymentMut(deployment).spec().present();
    let rollback = spec.and_then(|mut spec| spec.rollback_to().remove());
    let mut metadata = DeploymentMut(deployment).metadata().or_new();
    if let Some(Value::Object(mut rollback)) = rollback {
        let revision = v1beta1::RollbackConfigMut(&mut rollback).revision().integer().unwrap_or_default();
        let annotations = metadata.annotations().or_new_entries();
        annotations.insert(ROLLBACK_TO.to_owned(), revision.to_string().into());
    } else if let Some(annotations) = metadata.annotations().entries() {
        annotations.remove(ROLLBACK_TO);
    }
}
