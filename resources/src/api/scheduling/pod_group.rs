//! The rules that the templates of a Workload and PodGroups share.

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;
use registry_core::resource::GatedField;
use resource_views::View;
use resource_views::scheduling::v1alpha2::PodGroupSchedulingPolicy;
use serde_json::Value;

use crate::support::semantic;

/// The fields of shared resource claims, and of the preemption of groups.
const UNSUPPORTED: [&str; 4] = ["resourceClaims", "disruptionMode", "priorityClassName", "priority"];

/// Returns the fields of a group or template at this path that exist only while a feature is enabled, given that of
/// topology-aware scheduling.
pub(super) fn gated_fields(parent: &'static str, constraints: GatedField) -> Vec<GatedField> {
    let others = UNSUPPORTED.map(GatedField::unsupported);
    others.into_iter().chain([constraints]).map(|field| field.below(parent)).collect()
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
