//! Ephemeral containers, which support fewer fields than others.

use std::collections::HashSet;

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;

use crate::support::field::Field;

const NOT_HERE: &str = "cannot be set for an Ephemeral Container";

/// Fields that ephemeral containers do not support.
const FORBIDDEN: [&str; 8] = [
    "ports",
    "resources",
    "resizePolicy",
    "restartPolicy",
    "lifecycle",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
];

/// Returns the names of the containers that an ephemeral one may target.
pub(super) fn targets<'v>(spec: &Field<'v, '_>) -> HashSet<&'v str> {
    let main = spec.get("containers");
    let init = spec.get("initContainers");
    main.elements().chain(init.elements()).map(|one| one.get("name").text()).collect()
}

/// Checks the rules that only apply to ephemeral containers.
pub(super) fn validate(container: &Field<'_, '_>, targets: &HashSet<&str>, errors: &mut ErrorList) {
    let target = container.get("targetContainerName");
    if !target.text().is_empty() && !targets.contains(target.text()) {
        errors.push(FieldError::not_found(target.path(), target.text()));
    }
    for field in FORBIDDEN {
        let field = container.get(field);
        let is_empty =
            field.value().is_some_and(|value| value.as_object().is_some_and(serde_json::Map::is_empty));
        if field.exists() && !is_empty {
            errors.push(field.forbidden(NOT_HERE));
        }
    }
    for mount in container.get("volumeMounts").elements() {
        for field in ["subPath", "subPathExpr"] {
            let field = mount.get(field);
            if !field.text().is_empty() {
                errors.push(field.forbidden(NOT_HERE));
            }
        }
    }
}
