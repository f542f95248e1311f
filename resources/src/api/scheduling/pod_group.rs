//! The rules that the templates of a Workload and PodGroups share.

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;
use serde_json::Value;

use crate::support::defaulting::{self, Fields};
use crate::support::field::Field;
use crate::support::semantic;

/// Fields of features that are off: topology-aware scheduling, shared resource claims, and preemption of groups.
const DISABLED: [&str; 5] =
    ["schedulingConstraints", "resourceClaims", "disruptionMode", "priorityClassName", "priority"];

/// Drops the fields of features that are off, unless they were used before.
pub(super) fn drop_disabled_fields(fields: &mut Fields, old: Option<&Value>) {
    for name in DISABLED {
        if defaulting::is_empty(old.and_then(|old| old.get(name))) {
            fields.remove(name);
        }
    }
}

/// Checks that exactly one policy is set.
pub(super) fn check_policy(policy: &Field<'_, '_>, errors: &mut ErrorList) {
    let basic = policy.get("basic");
    let gang = policy.get("gang");
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
        let count = gang.get("minCount");
        match count.number() {
            0 => errors.push(count.required("")),
            number if number < 1 => errors.push(count.invalid("must be greater than or equal to 1")),
            _ => {}
        }
    }
}

/// Adds an error if a field differs from the old one.
pub(super) fn check_immutable(field: &Field<'_, '_>, old: &Field<'_, '_>, errors: &mut ErrorList) {
    if !semantic::equal(field.value(), old.value()) {
        errors.push(FieldError::invalid(field.path(), Value::Null, "field is immutable"));
    }
}
