//! Rules of namespaces, which are removed only once they are empty.

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::validation::names;
use registry_core::api::{FieldError, FieldPath, Object};
use registry_core::resource::ObjectStrategy;
use resource_views::Typed as _;
use resource_views::core::v1::Namespace;
use serde_json::Value;

/// The finalizer every namespace gets: the namespace controller removes it when the namespace is empty.
const KUBERNETES: &str = "kubernetes";

/// The label with the namespace's name.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";

/// Finalizers in the spec, phases, and the label with the name.
pub(super) struct NamespaceStrategy;

impl ObjectStrategy for NamespaceStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        let name = object.name().to_owned();
        if !name.is_empty() {
            object.set(&["metadata", "labels", NAME_LABEL], name.into());
        }
        crate::support::defaulting::fill_at(object, &["status", "phase"], "Active");
    }

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        object.set(&["status"], serde_json::json!({"phase": "Active"}));
        let mut finalizers = match object.remove(&["spec", "finalizers"]) {
            Some(Value::Array(finalizers)) => finalizers,
            _ => Vec::new(),
        };
        if !finalizers.iter().any(|finalizer| finalizer == KUBERNETES) {
            finalizers.push(KUBERNETES.into());
        }
        object.set(&["spec", "finalizers"], finalizers.into());
        self.apply_defaults(object);
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        new.copy_field(old, &["spec", "finalizers"]);
    }

    fn is_held(&self, object: &Object) -> bool {
        let own = Namespace(object).spec().finalizers().value().and_then(Value::as_array);
        object.finalizers().next().is_some() || own.is_some_and(|own| !own.is_empty())
    }

    fn failed_precondition(&self, field: &str, wanted: &str, found: &str) -> Option<String> {
        Some(format!(
            "Precondition failed: {field} in precondition: {wanted}, {field} in object meta: {found}"
        ))
    }

    fn mark_as_deleting(&self, object: &mut Object) {
        object.set(&["status", "phase"], "Terminating".into());
        object.remove(&["metadata", "deletionGracePeriodSeconds"]);
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let finalizers = Namespace(object).spec();
        let finalizers = finalizers.finalizers();
        for finalizer in finalizers.elements() {
            check_finalizer(&finalizers.path(), finalizer.text(), &mut errors);
        }
        errors
    }

    fn validate_update(&self, _context: &RequestContext, _new: &Object, _old: &Object) -> ErrorList {
        ErrorList::default()
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let status = Namespace(new).status();
        let phase = status.phase().shown_as("Phase");
        let deleting = new.deletion_timestamp().is_some();
        if deleting && phase.text() != "Terminating" {
            errors.push(phase.invalid("may only be 'Terminating' if `deletionTimestamp` is not empty"));
        } else if !deleting && !matches!(phase.text(), "" | "Active") {
            errors.push(phase.invalid("may only be 'Active' if `deletionTimestamp` is empty"));
        }
        errors
    }
}

/// Checks a finalizer of the spec: a well-known name or a qualified one.
pub(super) fn check_finalizer(path: &FieldPath, finalizer: &str, errors: &mut ErrorList) {
    for complaint in names::qualified_name(finalizer) {
        errors.push(FieldError::invalid(path.clone(), finalizer, complaint));
    }
    if !finalizer.contains('/') && finalizer != KUBERNETES {
        let detail = "name is neither a standard finalizer name nor is it fully qualified";
        errors.push(FieldError::invalid(path.clone(), finalizer, detail));
    }
}
