//! Objects that are stored as `apps/v1beta1` or `extensions/v1beta1`, whose defaults are others than those of `v1`.
//!
//! Kubernetes concept: the conversions and defaults of `pkg/apis/apps` and `pkg/apis/extensions`.

#![expect(clippy::unnecessary_wraps, reason = "functions that renew objects have one signature")]

use registry_core::api::Object;
use registry_core::budget::{Budget, Exhausted};
use resource_views::apps;
use resource_views::apps::v1::{DaemonSetMut, DeploymentMut, StatefulSetMut};
use resource_views::extensions;
use resource_views::slot::is_unset;
use serde_json::{Value, json};

use crate::support::defaulting;

/// The revision to which a deployment was asked to return; formerly a field of the spec.
const ROLLBACK_TO: [&str; 3] = ["metadata", "annotations", "deprecated.deployment.rollback.to"];
/// The number of changes of a daemon set's template; formerly a field of the spec.
const TEMPLATE_GENERATION: [&str; 3] =
    ["metadata", "annotations", "deprecated.daemonset.template.generation"];
/// A limit that means none.
const UNLIMITED: i64 = 0x7fff_ffff;

/// Changes a deployment of `apps/v1beta1`.
pub(super) fn renew_deployment(deployment: &mut Object, _: &Budget) -> Result<(), Exhausted> {
    label_like_template(deployment);
    keep_rollback(deployment);
    DeploymentMut(deployment).spec().or_new().revision_history_limit().or(2);
    Ok(())
}

/// Changes a deployment of `extensions/v1beta1`.
pub(super) fn renew_deployment_of_extensions(deployment: &mut Object, _: &Budget) -> Result<(), Exhausted> {
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
    Ok(())
}

/// Changes a replica set of `extensions/v1beta1`.
pub(super) fn renew_replica_set(replica_set: &mut Object, _: &Budget) -> Result<(), Exhausted> {
    label_like_template(replica_set);
    Ok(())
}

/// Changes a daemon set of `extensions/v1beta1`.
pub(super) fn renew_daemon_set(daemon_set: &mut Object, _: &Budget) -> Result<(), Exhausted> {
    label_like_template(daemon_set);
    let mut spec = extensions::v1beta1::DaemonSetMut(daemon_set).spec().or_new();
    let generation = spec.template_generation().integer().unwrap_or_default();
    spec.template_generation().remove();
    daemon_set.set(&TEMPLATE_GENERATION, generation.to_string().into());
    DaemonSetMut(daemon_set).spec().or_new().update_strategy().or_new().r#type().or("OnDelete");
    Ok(())
}

/// Changes a stateful set of `apps/v1beta1`.
pub(super) fn renew_stateful_set(stateful_set: &mut Object, _: &Budget) -> Result<(), Exhausted> {
    label_like_template(stateful_set);
    StatefulSetMut(stateful_set).spec().or_new().update_strategy().or_new().r#type().or("OnDelete");
    Ok(())
}

/// Sets the labels and the selector to those of the template, unless there are any.
fn label_like_template(object: &mut Object) {
    let labels = object.get(&["spec", "template", "metadata", "labels"]);
    let Some(labels) = labels.filter(|labels| !defaulting::is_empty(Some(labels))).cloned() else { return };
    if is_unset(object.get(&["spec", "selector"])) {
        object.set(&["spec", "selector"], json!({ "matchLabels": labels }));
    }
    if defaulting::is_empty_at(object, &["metadata", "labels"]) {
        object.set(&["metadata", "labels"], labels);
    }
}

/// Moves the revision to which a deployment was asked to return into its annotation, which has no other source.
fn keep_rollback(deployment: &mut Object) {
    let spec = apps::v1beta1::DeploymentMut(deployment).spec().present();
    match spec.and_then(|mut spec| spec.rollback_to().remove()) {
        Some(Value::Object(rollback)) => {
            let revision = rollback.get("revision").and_then(Value::as_i64).unwrap_or_default();
            deployment.set(&ROLLBACK_TO, revision.to_string().into());
        }
        _ => drop(deployment.remove(&ROLLBACK_TO)),
    }
}
