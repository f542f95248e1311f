//! Rules of Deployments.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::{GatedField, ObjectStrategy};
use resource_views::apps::v1::{
    Deployment, DeploymentMut, DeploymentStrategy as Rollout, RollingUpdateDeployment,
};

use crate::api::core::pod_spec::{defaults, warnings};
use crate::api::core::workload::{self, Counts, Workload};
use crate::support::amount;
use crate::support::field::ShownAsGo as _;

/// Defaults and validation; the selector is immutable.
pub(super) struct DeploymentStrategy;

impl ObjectStrategy for DeploymentStrategy {
    fn gated_fields(&self) -> Vec<GatedField> {
        workload::gated_fields()
    }

    fn apply_defaults(&self, object: &mut Object) {
        let mut spec = DeploymentMut(object).spec().or_new();
        spec.replicas().or(1);
        spec.revision_history_limit().or(10);
        spec.progress_deadline_seconds().or(600);
        let mut rollout = spec.strategy().or_new();
        rollout.r#type().or("RollingUpdate");
        if rollout.r#type().is("RollingUpdate") {
            let mut rolling = rollout.rolling_update().or_new();
            rolling.max_surge().or_if_absent("25%");
            rolling.max_unavailable().or_if_absent("25%");
        }
        defaults::apply_to_template(spec.template());
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        errors_of(context, object, None)
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = errors_of(context, new, Some(old));
        let (new, old) = (Deployment(new).spec(), Deployment(old).spec());
        new.selector().check_immutable_as(workload::SELECTOR, &old.selector(), &mut errors);
        errors
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        // Annotations control rollouts, so a change of them increments the generation.
        let annotations = Deployment(new).metadata().annotations().value();
        if annotations != Deployment(old).metadata().annotations().value() {
            new.set(&["metadata", "generation"], (old.generation() + 1).into());
        }
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        warnings::new_workload_warnings(object, &Deployment(object).spec().template())
    }

    fn warnings_on_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> Vec<String> {
        warnings::changed_workload_warnings(new, old, &Deployment(new).spec().template())
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let status = Deployment(new).status();
        let counts = Counts {
            replicas: status.replicas(),
            observed_generation: status.observed_generation(),
            ready: status.ready_replicas(),
            available: status.available_replicas(),
            shares: &[status.updated_replicas(), status.ready_replicas(), status.available_replicas()],
            others: &[status.unavailable_replicas(), status.terminating_replicas()],
        };
        counts.check("readyReplicas", &mut errors);
        let before = Deployment(old).status();
        workload::check_collisions(&status.collision_count(), &before.collision_count(), &mut errors);
        errors
    }
}

/// Returns the errors of an object; `old` is what it was before an update.
fn errors_of(context: &RequestContext, object: &Object, old: Option<&Object>) -> ErrorList {
    let mut errors = ErrorList::default();
    let spec = Deployment(object).spec();
    spec.replicas().check_not_negative(&mut errors);
    let old = old.map(|old| Deployment(old).spec());
    let old = old.as_ref().map(resource_views::apps::v1::DeploymentSpec::template);
    let template = spec.template();
    if Workload::DEPLOYMENT.check_selector(&spec.selector(), &template, &mut errors) {
        Workload::DEPLOYMENT.check_template(context, &template, old.as_ref(), &mut errors);
    }
    check_rollout(&spec.strategy(), &mut errors);
    for number in [spec.min_ready_seconds(), spec.revision_history_limit(), spec.progress_deadline_seconds()]
    {
        number.check_not_negative(&mut errors);
    }
    let deadline = spec.progress_deadline_seconds();
    let ready = spec.min_ready_seconds().integer().unwrap_or_default();
    if deadline.integer().is_some_and(|deadline| deadline <= ready) {
        errors.push(deadline.invalid("must be greater than minReadySeconds"));
    }
    errors
}

fn check_rollout(strategy: &Rollout<'_, '_>, errors: &mut ErrorList) {
    let rolling = strategy.rolling_update();
    match strategy.r#type().text() {
        "Recreate" if rolling.exists() => {
            errors.push(rolling.forbidden("may not be specified when strategy `type` is 'Recreate'"));
        }
        "RollingUpdate" => check_rolling_update(&rolling, errors),
        "Recreate" => {}
        _ => {
            let error = strategy.unsupported(&["Recreate", "RollingUpdate"]);
            errors.push(error.shown_as(strategy.go_text("<apps.DeploymentStrategy>")));
        }
    }
}

fn check_rolling_update(rolling: &RollingUpdateDeployment<'_, '_>, errors: &mut ErrorList) {
    let surge = rolling.max_surge();
    let unavailable = rolling.max_unavailable();
    for field in [&unavailable, &surge] {
        amount::check(field, errors);
    }
    if !amount::is_some(&surge) && !amount::is_some(&unavailable) {
        errors.push(unavailable.invalid("may not be 0 when `maxSurge` is 0"));
    }
    amount::check_at_most_all(&unavailable, errors);
}
