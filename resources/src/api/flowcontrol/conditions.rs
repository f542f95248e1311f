//! Conditions in the status of flow schemas and priority levels.

use std::collections::HashSet;

use registry_core::api::validation::ErrorList;
use resource_views::List;
use resource_views::flowcontrol::v1::FlowSchemaCondition;

/// Checks that each condition has a type, and that types are unique.
pub(super) fn check(conditions: &List<FlowSchemaCondition<'_, '_>>, errors: &mut ErrorList) {
    let mut seen = HashSet::new();
    for condition in conditions.elements() {
        let kind = condition.r#type();
        if !seen.insert(kind.text()) {
            errors.push(kind.duplicate());
        }
        if kind.text().is_empty() {
            errors.push(kind.required(""));
        }
    }
}
