//! Claims that are created for a pod, from a template in its spec.

use registry_core::api::validation::ErrorList;
use registry_core::api::validation::object_meta::{validate_annotations, validate_labels};

use crate::core::volume_claim::{self, Tolerated};
use crate::support::field::Field;

/// The metadata that a template does not have, and the names in errors.
const NOT_IN_TEMPLATES: [(&str, &str); 13] = [
    ("name", "name"),
    ("generateName", "generateName"),
    ("namespace", "namespace"),
    ("selfLink", "selfLink"),
    ("uid", "uID"),
    ("resourceVersion", "resourceVersion"),
    ("generation", "generation"),
    ("creationTimestamp", "creationTimestamp"),
    ("deletionTimestamp", "deletionTimestamp"),
    ("deletionGracePeriodSeconds", "deletionGracePeriodSeconds"),
    ("ownerReferences", "ownerReferences"),
    ("finalizers", "finalizers"),
    ("managedFields", "managedFields"),
];

/// Checks a template.
pub(super) fn check(template: &Field<'_, '_>, errors: &mut ErrorList) {
    check_metadata(&template.get("metadata"), errors);
    volume_claim::check_spec(&template.get("spec"), Tolerated::default(), errors);
}

/// Checks the metadata of what is made from a template, which has labels and annotations only.
pub(crate) fn check_metadata(metadata: &Field<'_, '_>, errors: &mut ErrorList) {
    if metadata.is_empty() {
        return;
    }
    let annotations = metadata.get("annotations");
    errors.append(validate_annotations(annotations.texts(), &annotations.path()));
    let labels = metadata.get("labels");
    errors.append(validate_labels(labels.texts(), &labels.path()));
    for (name, reported) in NOT_IN_TEMPLATES {
        let field = metadata.get(name).called(reported);
        let is_zero = field.optional_text() == Some("") || name == "generation" && field.number() == 0;
        if field.exists() && !is_zero {
            errors.push(field.forbidden("cannot be set"));
        }
    }
}
