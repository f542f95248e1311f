//! Conditions in the status of flow schemas and priority levels.

use std::collections::HashSet;

use registry_core::api::validation::ErrorList;

use crate::support::field::Field;

/// Checks that each condition has a type, and that types are unique.
pub(super) fn check(status: &Field<'_, '_>, errors: &mut ErrorList) {
    let mut seen = HashSet::new();
    for condition in status.get("conditions").elements() {
        let kind = condition.get("type");
        if !seen.insert(kind.text()) {
            errors.push(kind.duplicate());
        }
        if kind.text().is_empty() {
            errors.push(kind.required(""));
        }
    }
}
