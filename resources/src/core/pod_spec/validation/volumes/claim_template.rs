//! Claims that are created for a pod, from a template in its spec.

use registry_core::api::FieldError;
use registry_core::api::validation::object_meta::{validate_annotations, validate_labels};
use registry_core::api::validation::{ErrorList, names};
use registry_core::schema::Quantity;
use serde_json::Value;

use crate::core::pod_spec::totals;
use crate::support::field::Field;
use crate::support::label_selector;

const ALONE: &str = "ReadWriteOncePod";
const MODES: &[&str] = &["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", ALONE];
const CLAIM: &str = "PersistentVolumeClaim";

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
    check_claim_spec(&template.get("spec"), errors);
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

/// Checks the spec of a claim.
fn check_claim_spec(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let modes = spec.get("accessModes");
    if modes.is_empty() {
        errors.push(modes.required("at least 1 access mode is required"));
    }
    label_selector::check(&spec.get("selector"), errors);
    check_modes(&modes, errors);
    check_storage(spec, errors);
    spec.get("storageClassName").check_if_set(names::dns_subdomain, errors);
    spec.get("volumeMode").check_one_of(&["Block", "Filesystem"], errors);
    for source in ["dataSource", "dataSourceRef"] {
        check_source(&spec.get(source), errors);
    }
    check_sources_agree(spec, errors);
    spec.get("volumeAttributesClassName").check_if_set(names::dns_subdomain, errors);
}

/// Checks the access modes; one of them must be the only one. Errors are reported at the list.
fn check_modes(modes: &Field<'_, '_>, errors: &mut ErrorList) {
    let mut is_alone = false;
    let mut has_others = false;
    for mode in modes.elements() {
        match mode.text() {
            ALONE => is_alone = true,
            text if MODES.contains(&text) => has_others = true,
            text => errors.push(FieldError::not_supported(modes.path(), text, MODES)),
        }
    }
    if is_alone && has_others {
        errors.push(modes.forbidden("may not use ReadWriteOncePod with other access modes"));
    }
}

fn check_storage(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let resources = spec.get("resources");
    let path = resources.path().key("storage");
    let requests = resources.get("requests");
    let storage = requests.get("storage");
    if !storage.exists() {
        errors.push(FieldError::required(path, ""));
    } else if let Some(amount) = storage.value().and_then(totals::parse)
        && !amount.compare(&Quantity::whole(0)).is_gt()
    {
        errors.push(FieldError::invalid(path, amount.to_string(), "must be greater than zero"));
    }
}

/// Checks the object that a volume begins as a copy of.
fn check_source(source: &Field<'_, '_>, errors: &mut ErrorList) {
    if !source.exists() {
        return;
    }
    source.get("name").check_present(errors);
    let kind = source.get("kind");
    kind.check_present(errors);
    let group = source.get("apiGroup");
    if group.text().is_empty() && kind.text() != CLAIM {
        let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        errors.push(FieldError::invalid(source.path(), kind.text(), detail));
    }
    group.check_if_set(names::dns_subdomain, errors);
    source.get("namespace").check_if_set(names::dns_label, errors);
}

/// Checks that the older and the newer field name the same object.
fn check_sources_agree(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let (older, newer) = (spec.get("dataSource"), spec.get("dataSourceRef"));
    if !older.exists() || !newer.exists() {
        return;
    }
    let same = ["apiGroup", "kind", "name"].iter().all(|field| {
        let (one, other) = (older.get(field), newer.get(field));
        one.text() == other.text() && (*field != "apiGroup" || one.exists() == other.exists())
    });
    let detail = if !newer.get("namespace").text().is_empty() {
        "may not be specified when dataSourceRef.namespace is specified"
    } else if same {
        return;
    } else {
        "must match dataSourceRef"
    };
    errors.push(FieldError::invalid(spec.path(), Value::Null, detail).shown_as("{}"));
}
