//! Validation of object metadata on creation and update.
//!
//! Kubernetes concept: `ValidateObjectMetaAccessor` and `ValidateObjectMetaAccessorUpdate` of
//! `k8s.io/apimachinery/pkg/api/validation`.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::Object;
use crate::go_text::{code_point, is_printable, quote};
use crate::time::moment::{Layout, Moment};

use super::names::{self, NameRule};
use super::{ErrorList, FieldError, FieldPath};

/// Maximum total size of an object's annotations, keys and values, in bytes.
pub const MAX_ANNOTATIONS_BYTES: usize = 256 * 1024;

/// Maximum length of a field manager's name, in bytes.
pub const MAX_FIELD_MANAGER_BYTES: usize = 128;

const MAX_SUBRESOURCE_BYTES: usize = 256;
/// Finalizer of an object whose dependents lose it as their owner before it is deleted.
pub const FINALIZER_ORPHAN: &str = "orphan";
/// Finalizer of an object that is deleted after its dependents.
pub const FINALIZER_FOREGROUND: &str = "foregroundDeletion";
const STANDARD_FINALIZERS: [&str; 3] = [FINALIZER_ORPHAN, FINALIZER_FOREGROUND, "kubernetes"];
const IMMUTABLE: &str = "field is immutable";

/// Validates the metadata of a new object. `generateName` must have been resolved already.
pub fn validate_object_meta(
    object: &Object,
    namespaced: bool,
    name_rule: NameRule,
    path: &FieldPath,
) -> ErrorList {
    let mut errors = ErrorList::default();
    let generate_name = object.get_str(&["metadata", "generateName"]).unwrap_or_default();
    if !generate_name.is_empty() {
        complain(
            &mut errors,
            &path.child("generateName"),
            generate_name,
            name_rule.check_prefix(generate_name),
        );
    }
    let name = object.name();
    if name.is_empty() {
        errors.push(FieldError::required(path.child("name"), "name or generateName is required"));
    } else {
        complain(&mut errors, &path.child("name"), name, name_rule.check(name));
    }
    validate_namespace(object.namespace(), namespaced, &path.child("namespace"), &mut errors);
    if object.generation() < 0 {
        let text = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(path.child("generation"), object.generation(), text));
    }
    validate_common(object, path, &mut errors);
    validate_finalizers(object, &path.child("finalizers"), &mut errors);
    validate_managed_fields(object, &path.child("managedFields"), &mut errors);
    errors
}

/// Validates a change of an object's metadata.
pub fn validate_object_meta_update(new: &Object, old: &Object, path: &FieldPath) -> ErrorList {
    let mut errors = ErrorList::default();
    if old.deletion_timestamp().is_some() {
        validate_no_new_finalizers(new, old, &path.child("finalizers"), &mut errors);
    }
    if new.resource_version().is_empty() {
        let text = "must be specified for an update";
        errors.push(FieldError::invalid(path.child("resourceVersion"), "", text));
    }
    if new.generation() < old.generation() {
        let text = "must not be decremented";
        errors.push(FieldError::invalid(path.child("generation"), new.generation(), text));
    }
    for field in ["name", "namespace", "uid"] {
        let [new, old] = [new, old].map(|object| object.get_str(&["metadata", field]).unwrap_or_default());
        if new != old {
            errors.push(FieldError::invalid(path.child(field), new, IMMUTABLE));
        }
    }
    for field in ["creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let [new, old] =
            [new, old].map(|object| object.get(&["metadata", field]).cloned().unwrap_or_default());
        if new != old && !same_moment(&new, &old) {
            errors.push(FieldError::invalid(path.child(field), new, IMMUTABLE));
        }
    }
    validate_common(new, path, &mut errors);
    validate_managed_fields(new, &path.child("managedFields"), &mut errors);
    errors
}

/// Validates labels.
pub fn validate_labels<'a>(labels: impl Iterator<Item = (&'a str, &'a str)>, path: &FieldPath) -> ErrorList {
    let mut errors = ErrorList::default();
    for (key, value) in labels {
        complain(&mut errors, path, key, names::qualified_name(key));
        complain(&mut errors, path, value, names::label_value(value));
    }
    errors
}

/// Validates annotations.
pub fn validate_annotations<'a>(
    annotations: impl Iterator<Item = (&'a str, &'a str)>,
    path: &FieldPath,
) -> ErrorList {
    let mut errors = ErrorList::default();
    let mut total_bytes = 0;
    for (key, value) in annotations {
        // Annotation keys follow the rule of label keys, but case-insensitively.
        complain(&mut errors, path, key, names::qualified_name(&key.to_lowercase()));
        total_bytes += key.len() + value.len();
    }
    if total_bytes > MAX_ANNOTATIONS_BYTES {
        errors.push(FieldError::too_long(path.clone(), MAX_ANNOTATIONS_BYTES));
    }
    errors
}

/// Validates a field manager's name.
pub fn validate_field_manager(manager: &str, path: &FieldPath) -> ErrorList {
    let mut errors = ErrorList::default();
    if manager.len() > MAX_FIELD_MANAGER_BYTES {
        errors.push(FieldError::too_long(path.clone(), MAX_FIELD_MANAGER_BYTES));
    }
    for (position, letter) in manager.char_indices() {
        if !is_printable(letter) {
            let text = format!("invalid character {} (at position {position})", code_point(letter));
            errors.push(FieldError::invalid(path.clone(), manager, text));
        }
    }
    errors
}

/// Checks that finalizers are qualified by a domain or are Kubernetes' own.
pub fn validate_finalizer_names(object: &Object, path: &FieldPath) -> ErrorList {
    let is_known = |name: &str| name.contains('/') || STANDARD_FINALIZERS.contains(&name);
    let unknown = object.finalizers().enumerate().filter(|(_, finalizer)| !is_known(finalizer));
    let detail = "name is neither a standard finalizer name nor is it fully qualified";
    unknown.map(|(at, finalizer)| FieldError::invalid(path.index(at), finalizer, detail)).collect()
}

fn complain(errors: &mut ErrorList, path: &FieldPath, value: &str, complaints: Vec<String>) {
    for complaint in complaints {
        errors.push(FieldError::invalid(path.clone(), value, complaint));
    }
}

// === one field each ===

fn validate_namespace(namespace: &str, namespaced: bool, path: &FieldPath, errors: &mut ErrorList) {
    match (namespaced, namespace.is_empty()) {
        (true, true) => errors.push(FieldError::required(path.clone(), "")),
        (true, false) => complain(errors, path, namespace, names::dns_label(namespace)),
        (false, true) => {}
        (false, false) => errors.push(FieldError::forbidden(path.clone(), "not allowed on this type")),
    }
}

/// Checks common to creation and update.
fn validate_common(object: &Object, path: &FieldPath, errors: &mut ErrorList) {
    errors.append(validate_labels(object.labels(), &path.child("labels")));
    errors.append(validate_annotations(object.annotations(), &path.child("annotations")));
    validate_owner_references(object, &path.child("ownerReferences"), errors);
}

fn validate_owner_references(object: &Object, path: &FieldPath, errors: &mut ErrorList) {
    let all = object.get(&["metadata", "ownerReferences"]).unwrap_or(&Value::Null);
    let mut controller: Option<String> = None;
    for reference in all.as_array().into_iter().flatten() {
        validate_owner_reference(reference, path, errors);
        if reference.get("controller") != Some(&Value::Bool(true)) {
            continue;
        }
        let own = format!("{}/{}", text(reference, "kind"), text(reference, "name"));
        match &controller {
            None => controller = Some(own),
            Some(first) => {
                let detail = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for \
                     {first} and {own}"
                );
                let error = FieldError::invalid(path.clone(), all.clone(), detail);
                errors.push(error.shown_as(owner_references_text(all)));
            }
        }
    }
}

/// Formats owner references with the fields in Kubernetes' order.
fn owner_references_text(all: &Value) -> String {
    const FIELDS: [&str; 6] = ["apiVersion", "kind", "name", "uid", "controller", "blockOwnerDeletion"];
    let reference_text = |reference: &Value| {
        let set = FIELDS.iter().filter_map(|field| Some((field, reference.get(*field)?)));
        let texts: Vec<String> = set.map(|(field, value)| format!("{field:?}:{value}")).collect();
        format!("{{{}}}", texts.join(","))
    };
    let texts: Vec<String> = all.as_array().into_iter().flatten().map(reference_text).collect();
    format!("[{}]", texts.join(","))
}

fn validate_owner_reference(reference: &Value, path: &FieldPath, errors: &mut ErrorList) {
    let api_version = text(reference, "apiVersion");
    let (group, version) = split_api_version(api_version);
    if version.is_empty() {
        errors.push(FieldError::invalid(path.child("apiVersion"), api_version, "version must not be empty"));
    }
    for field in ["kind", "name", "uid"] {
        if text(reference, field).is_empty() {
            errors.push(FieldError::invalid(path.child(field), "", "must not be empty"));
        }
    }
    let kind = text(reference, "kind");
    if (group, version, kind) == ("", "v1", "Event") {
        let text = format!("{group}/{version}, Kind={kind} is disallowed from being an owner");
        errors.push(FieldError::invalid(path.clone(), reference.clone(), text));
    }
}

/// Splits into group and version; both are empty if there is more than one slash.
fn split_api_version(api_version: &str) -> (&str, &str) {
    match api_version.split_once('/') {
        None => ("", api_version),
        Some((_, version)) if version.contains('/') => ("", ""),
        Some(parts) => parts,
    }
}

fn validate_finalizers(object: &Object, path: &FieldPath, errors: &mut ErrorList) {
    for finalizer in object.finalizers() {
        complain(errors, path, finalizer, names::qualified_name(finalizer));
    }
    let has = |name| object.finalizers().any(|finalizer| finalizer == name);
    if has(FINALIZER_ORPHAN) && has(FINALIZER_FOREGROUND) {
        let all: Vec<&str> = object.finalizers().collect();
        let text = format!("finalizer {FINALIZER_ORPHAN} and {FINALIZER_FOREGROUND} cannot be both set");
        errors.push(FieldError::invalid(path.clone(), all, text));
    }
}

fn validate_no_new_finalizers(new: &Object, old: &Object, path: &FieldPath, errors: &mut ErrorList) {
    let before: BTreeSet<&str> = old.finalizers().collect();
    let added: BTreeSet<&str> = new.finalizers().filter(|finalizer| !before.contains(finalizer)).collect();
    if !added.is_empty() {
        let added: Vec<String> = added.iter().map(|finalizer| quote(finalizer)).collect();
        let text = format!(
            "no new finalizers can be added if the object is being deleted, found new finalizers \
             []string{{{}}}",
            added.join(", ")
        );
        errors.push(FieldError::forbidden(path.clone(), text));
    }
}

fn validate_managed_fields(object: &Object, path: &FieldPath, errors: &mut ErrorList) {
    let entries = object.get(&["metadata", "managedFields"]).and_then(Value::as_array);
    for (at, entry) in entries.into_iter().flatten().enumerate() {
        let path = path.index(at);
        let operation = text(entry, "operation");
        if !matches!(operation, "Apply" | "Update") {
            let wanted = "must be `Apply` or `Update`";
            errors.push(FieldError::invalid(path.child("operation"), operation, wanted));
        }
        let fields_type = text(entry, "fieldsType");
        if !matches!(fields_type, "" | "FieldsV1") {
            errors.push(FieldError::invalid(path.child("fieldsType"), fields_type, "must be `FieldsV1`"));
        }
        errors.append(validate_field_manager(text(entry, "manager"), &path.child("manager")));
        if text(entry, "subresource").len() > MAX_SUBRESOURCE_BYTES {
            errors.push(FieldError::too_long(path.child("subresource"), MAX_SUBRESOURCE_BYTES));
        }
    }
}

/// Compares times; the same time can be written in several ways.
fn same_moment(left: &Value, right: &Value) -> bool {
    let moment = |value: &Value| Moment::parse(value.as_str()?, Layout::Seconds).ok();
    matches!((moment(left), moment(right)), (Some(left), Some(right)) if left == right)
}

fn text<'v>(value: &'v Value, field: &str) -> &'v str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
