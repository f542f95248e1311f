//! Rules of Deployments.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;
use serde_json::json;

use crate::apps::workload::{self, Workload};
use crate::core::pod_spec::{defaults, warnings};
use crate::support::defaulting::{fill_absent_at, fill_at};
use crate::support::field::{Field, ShownAsGo as _};
use crate::support::go_text::{GoShape, OPTIONAL, TEXT};

/// Defaults and validation; the selector is immutable.
pub(super) struct DeploymentStrategy;

impl ObjectStrategy for DeploymentStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        let defaults = [
            (&["spec", "replicas"][..], json!(1)),
            (&["spec", "revisionHistoryLimit"], json!(10)),
            (&["spec", "progressDeadlineSeconds"], json!(600)),
            (&["spec", "strategy", "type"], json!("RollingUpdate")),
        ];
        for (path, value) in defaults {
            fill_at(object, path, value);
        }
        if object.get_str(&["spec", "strategy", "type"]) == Some("RollingUpdate") {
            for field in ["maxSurge", "maxUnavailable"] {
                fill_absent_at(object, &["spec", "strategy", "rollingUpdate", field], json!("25%"));
            }
        }
        defaults::apply_to_template(object, &["spec", "template"]);
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        errors_of(context, object, None)
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = errors_of(context, new, Some(old));
        let new = Field::of(new, "spec");
        let old = Field::of(old, "spec");
        new.get("selector").check_immutable_as(workload::SELECTOR, &old.get("selector"), &mut errors);
        errors
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        // Annotations control rollouts, so a change of them increments the generation.
        const ANNOTATIONS: [&str; 2] = ["metadata", "annotations"];
        if new.get(&ANNOTATIONS) != old.get(&ANNOTATIONS) {
            new.set(&["metadata", "generation"], (old.generation() + 1).into());
        }
    }

    fn prepare_for_status_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        new.copy_field(old, &["metadata", "labels"]);
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        warnings::of_new_workload(object, &["spec", "template"])
    }

    fn warnings_on_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> Vec<String> {
        warnings::of_changed_workload(new, old, &["spec", "template"])
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let counts = ["updatedReplicas", "readyReplicas", "availableReplicas"];
        workload::check_status(
            new,
            &counts,
            &["unavailableReplicas", "terminatingReplicas"],
            "readyReplicas",
            &mut errors,
        );
        workload::check_collisions(new, old, &mut errors);
        errors
    }
}

/// The form of a rollout strategy in messages.
const STRATEGY: GoShape = GoShape::Struct(&[
    ("Type", "type", TEXT),
    (
        "RollingUpdate",
        "rollingUpdate",
        GoShape::Pointer(&GoShape::Struct(&[
            ("MaxUnavailable", "maxUnavailable", OPTIONAL),
            ("MaxSurge", "maxSurge", OPTIONAL),
        ])),
    ),
]);

/// Returns the errors of an object; `old` is what it was before an update.
fn errors_of(context: &RequestContext, object: &Object, old: Option<&Object>) -> ErrorList {
    let mut errors = ErrorList::default();
    let spec = Field::of(object, "spec");
    spec.get("replicas").check_not_negative(&mut errors);
    workload::check_selector_and_template(context, object, old, Workload::DEPLOYMENT, &mut errors);
    check_rollout(&spec.get("strategy"), &mut errors);
    for number in ["minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"] {
        spec.get(number).check_not_negative(&mut errors);
    }
    let deadline = spec.get("progressDeadlineSeconds");
    let ready = spec.get("minReadySeconds").integer().unwrap_or_default();
    if deadline.integer().is_some_and(|deadline| deadline <= ready) {
        errors.push(deadline.invalid("must be greater than minReadySeconds"));
    }
    errors
}

fn check_rollout(strategy: &Field<'_, '_>, errors: &mut ErrorList) {
    let rolling = strategy.get("rollingUpdate");
    match strategy.get("type").text() {
        "Recreate" if rolling.exists() => {
            errors.push(rolling.forbidden("may not be specified when strategy `type` is 'Recreate'"));
        }
        "RollingUpdate" => check_rolling_update(&rolling, errors),
        "Recreate" => {}
        _ => {
            let error = strategy.unsupported(&["Recreate", "RollingUpdate"]);
            errors.push(error.shown_as(strategy.go_text(STRATEGY)));
        }
    }
}

fn check_rolling_update(rolling: &Field<'_, '_>, errors: &mut ErrorList) {
    let surge = rolling.get("maxSurge");
    let unavailable = rolling.get("maxUnavailable");
    for field in [&unavailable, &surge] {
        workload::check_amount(field, errors);
    }
    if !workload::is_some(&surge) && !workload::is_some(&unavailable) {
        errors.push(unavailable.invalid("may not be 0 when `maxSurge` is 0"));
    }
    if workload::percent(&unavailable).is_some_and(|percent| percent > 100) {
        errors.push(unavailable.invalid("must not be greater than 100%"));
    }
}
