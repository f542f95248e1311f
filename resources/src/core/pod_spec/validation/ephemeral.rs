//! Ephemeral containers: what they may have, which is less than others.

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;

use crate::field::Field;

const NOT_HERE: &str = "cannot be set for an Ephemeral Container";

/// Fields a container that nobody relies on has no use for.
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

/// Checks one ephemeral container beyond what is checked of all.
pub(super) fn validate(container: &Field<'_, '_>, spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let target = container.get("targetContainerName");
    let is_there = |list: &str| {
        let list = spec.get(list);
        list.elements().any(|one| one.get("name").value() == target.value())
    };
    if !target.text().is_empty() && !is_there("containers") && !is_there("initContainers") {
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
