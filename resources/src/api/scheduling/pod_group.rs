//! The rules that the templates of a Workload and PodGroups share.

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;
use resource_views::View;
use resource_views::scheduling::v1alpha2::{PodGroupSchedulingPolicy, PodGroupTemplate, PodGroupTemplateMut};
use serde_json::Value;

use crate::support::defaulting;
use crate::support::semantic;

/// Drops the fields of features that are off, unless they were used before: topology-aware scheduling, shared resource
/// claims, and preemption of groups. Those of a group are the same as those of a template.
pub(super) fn drop_disabled_fields(
    mut fields: PodGroupTemplateMut<'_>,
    old: Option<&PodGroupTemplate<'_, '_>>,
) {
    let was_unset = |field: fn(&PodGroupTemplate<'_, '_>) -> bool| old.is_none_or(field);
    if was_unset(|old| defaulting::is_empty(old.scheduling_constraints().value())) {
        fields.scheduling_constraints().remove();
    }
    if was_unset(|old| old.resource_claims().is_empty()) {
        fields.resource_claims().remove();
    }
    if was_unset(|old| defaulting::is_empty(old.disruption_mode().value())) {
        fields.disruption_mode().remove();
    }
    if was_unset(|old| old.priority_class_name().text().is_empty()) {
        fields.priority_class_name().remove();
    }
    if was_unset(|old| !old.priority().exists()) {
        fields.priority().remove();
    }
}

/// Checks that exactly one policy is set.
pub(super) fn check_policy(policy: &PodGroupSchedulingPolicy<'_, '_>, errors: &mut ErrorList) {
    let basic = policy.basic();
    let gang = policy.gang();
    match (basic.exists(), gang.exists()) {
        (false, false) => {
            errors.push(FieldError::invalid(policy.path(), "", "must specify one of: `basic`, `gang`"));
        }
        (true, true) => {
            let detail = "must specify exactly one of: `basic`, `gang`";
            errors.push(FieldError::invalid(policy.path(), "{`basic`, `gang`}", detail));
        }
        (true, false) | (false, true) => {}
    }
    if gang.exists() {
        let count = gang.min_count();
        match count.number() {
            0 => errors.push(count.required("")),
            number if number < 1 => errors.push(count.invalid("must be greater than or equal to 1")),
            _ => {}
        }
    }
}

/// Adds an error if a field differs from the old one.
pub(super) fn check_immutable(field: &View<'_, '_>, old: &View<'_, '_>, errors: &mut ErrorList) {
    if semantic::differ(field, old) {
        errors.push(FieldError::invalid(field.path(), Value::Null, "field is immutable"));
    }
}
