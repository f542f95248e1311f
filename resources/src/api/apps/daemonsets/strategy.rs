//! Rules of DaemonSets.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::{GatedField, ObjectStrategy};
use resource_views::apps::v1::{DaemonSet, DaemonSetMut, DaemonSetUpdateStrategy};

use crate::api::core::pod_spec::{defaults, gated, warnings};
use crate::api::core::workload::{self, Workload};
use crate::support::amount;
use crate::support::defaulting::fill_at;
use crate::support::field::ShownAsGo as _;

/// Counts the changes of the template; formerly a field of the spec.
const TEMPLATE_GENERATION: [&str; 3] =
    ["metadata", "annotations", "deprecated.daemonset.template.generation"];

/// Defaults and validation; the selector is immutable.
pub(super) struct DaemonSetStrategy;

impl ObjectStrategy for DaemonSetStrategy {
    fn gated_fields(&self) -> Vec<GatedField> {
        gated::spec("spec.template.spec")
    }

    fn field_annotations(&self) -> &'static [&'static str] {
        const { &[TEMPLATE_GENERATION[2]] }
    }

    fn apply_defaults(&self, object: &mut Object) {
        let mut spec = DaemonSetMut(object).spec().or_new();
        spec.revision_history_limit().or(10);
        let mut rollout = spec.update_strategy().or_new();
        rollout.r#type().or("RollingUpdate");
        if rollout.r#type().is("RollingUpdate") {
            let mut rolling = rollout.rolling_update().or_new();
            rolling.max_unavailable().or_if_absent(1);
            rolling.max_surge().or_if_absent(0);
        }
        defaults::apply_to_template(spec.template());
        // The server sets the number; the annotation exists only if the client sets it.
        fill_at(object, &TEMPLATE_GENERATION, "0");
    }

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        let generation = template_generation(object).max(1);
        object.set(&TEMPLATE_GENERATION, generation.to_string().into());
    }

    fn prepare_for_status_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        // The number is a field of the spec, which the status does not change.
        new.copy_field(old, &TEMPLATE_GENERATION);
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        let template = DaemonSet(new).spec().template().value();
        let changed = template != DaemonSet(old).spec().template().value();
        let generation = template_generation(old) + i64::from(changed);
        new.set(&TEMPLATE_GENERATION, generation.to_string().into());
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        errors_of(context, object, None)
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = errors_of(context, new, Some(old));
        let (new, old) = (DaemonSet(new).spec(), DaemonSet(old).spec());
        new.selector().check_immutable_as(workload::SELECTOR, &old.selector(), &mut errors);
        errors
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        warnings::template_warnings(&DaemonSet(object).spec().template())
    }

    fn warnings_on_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> Vec<String> {
        warnings::changed_workload_warnings(new, old, &DaemonSet(new).spec().template())
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let status = DaemonSet(new).status();
        for number in [
            status.current_number_scheduled(),
            status.number_misscheduled(),
            status.desired_number_scheduled(),
            status.number_ready(),
            status.observed_generation(),
            status.updated_number_scheduled(),
            status.number_available(),
            status.number_unavailable(),
        ] {
            number.check_not_negative(&mut errors);
        }
        let before = DaemonSet(old).status();
        workload::check_collisions(&status.collision_count(), &before.collision_count(), &mut errors);
        errors
    }
}

/// Returns the errors of an object; `old` is what it was before an update.
fn errors_of(context: &RequestContext, object: &Object, old: Option<&Object>) -> ErrorList {
    let mut errors = ErrorList::default();
    let spec = DaemonSet(object).spec();
    let old = old.map(|old| DaemonSet(old).spec());
    let old = old.as_ref().map(resource_views::apps::v1::DaemonSetSpec::template);
    let template = spec.template();
    if Workload::DAEMON_SET.check_selector(&spec.selector(), &template, &mut errors) {
        Workload::DAEMON_SET.check_template(context, &template, old.as_ref(), &mut errors);
    }
    spec.min_ready_seconds().check_not_negative(&mut errors);
    check_update_strategy(&spec.update_strategy(), &mut errors);
    spec.revision_history_limit().check_not_negative(&mut errors);
    errors
}

fn template_generation(object: &Object) -> i64 {
    object.get_str(&TEMPLATE_GENERATION).and_then(|text| text.parse().ok()).unwrap_or_default()
}

fn check_update_strategy(strategy: &DaemonSetUpdateStrategy<'_, '_>, errors: &mut ErrorList) {
    match strategy.r#type().text() {
        "OnDelete" => {}
        "RollingUpdate" => {
            let rolling = strategy.rolling_update();
            let surge = rolling.max_surge();
            let unavailable = rolling.max_unavailable();
            for field in [&surge, &unavailable] {
                amount::check(field, errors);
                amount::check_at_most_all(field, errors);
            }
            match (!amount::is_some(&unavailable), !amount::is_some(&surge)) {
                (false, false) => {
                    errors.push(surge.invalid("may not be set when maxUnavailable is non-zero"));
                }
                (true, true) => errors.push(unavailable.required("cannot be 0 when maxSurge is 0")),
                _ => {}
            }
        }
        _ => {
            let error = strategy.unsupported(&["RollingUpdate", "OnDelete"]);
            errors.push(error.shown_as(strategy.go_text("<apps.DaemonSetUpdateStrategy>")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_new_template_is_a_new_generation() {
        let context = RequestContext::default();
        let made = |image: &str| {
            Object::from_value(json!({"spec": {"template": {"spec": {"image": image}}}})).unwrap()
        };
        let mut first = made("a");
        DaemonSetStrategy.prepare_for_create(&context, &mut first);
        assert_eq!(first.get_str(&TEMPLATE_GENERATION), Some("1"));
        for (image, expected) in [("a", "1"), ("b", "2")] {
            let mut next = made(image);
            DaemonSetStrategy.prepare_for_update(&context, &mut next, &first);
            assert_eq!(next.get_str(&TEMPLATE_GENERATION), Some(expected));
        }
    }
}
