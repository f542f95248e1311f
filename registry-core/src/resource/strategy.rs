//! Strategies: hooks around create, update and delete of a resource's objects.
//!
//! Authors implement the typed [`Strategy`]; the engine calls the untyped [`ObjectStrategy`], which is implemented for
//! every typed one. A resource that needs to modify an object without deserialising it implements the untyped trait
//! directly.
//!
//! Kubernetes concept: `rest.RESTCreateStrategy`, `RESTUpdateStrategy`, `RESTDeleteStrategy`,
//! `RESTGracefulDeleteStrategy`, `ResetFieldsStrategy`.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::api::object::ViewError;
use crate::api::validation::names::NameRule;
use crate::api::validation::{ErrorList, FieldError, FieldPath};
use crate::api::{DeleteOptions, Object, PropagationPolicy};
use crate::context::RequestContext;
use crate::features::Features;

use super::gated::GatedField;
use super::typed::{check, edit};

/// Hooks that operate on the untyped object. Every hook has a default, so a strategy implements only what differs.
///
/// The engine itself implements what all kinds share: names, namespaces, uid, timestamps, generation, metadata
/// validation, and protecting `status` from writes through the main resource (and everything else from writes through
/// the `status` subresource).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a strategy",
    note = "implement `registry_core::resource::Strategy` for it; every hook has a default"
)]
pub trait ObjectStrategy: Send + Sync + 'static {
    /// Returns the rules on a server with these features; `None` if they are the same with any.
    fn for_features(&self, _features: Features) -> Option<Arc<dyn ObjectStrategy>> {
        None
    }

    /// Returns the fields that exist only while a feature is enabled: writes without the feature drop them, unless the
    /// stored object has them.
    fn gated_fields(&self) -> Vec<GatedField> {
        Vec::new()
    }

    /// Sets defaults that the schema cannot express because they depend on other fields. Called for every decoded
    /// object.
    fn apply_defaults(&self, _object: &mut Object) {}

    /// Normalises a new object: clears fields that clients must not set, and sets fields that the server determines.
    fn prepare_for_create(&self, _context: &RequestContext, _object: &mut Object) {}

    /// Whether the hooks can read an object. One that they cannot read is only validated by its schema, which says what is
    /// wrong with it.
    fn can_read(&self, _object: &Object) -> bool {
        true
    }

    /// Validates a new object.
    fn validate(&self, _context: &RequestContext, _object: &Object) -> ErrorList {
        ErrorList::default()
    }

    /// Returns warnings about an accepted object, new or changed.
    fn warnings(&self, _context: &RequestContext, _object: &Object) -> Vec<String> {
        Vec::new()
    }

    /// Returns warnings about an accepted new object. Defaults to [`warnings`](Self::warnings).
    fn warnings_on_create(&self, context: &RequestContext, object: &Object) -> Vec<String> {
        self.warnings(context, object)
    }

    /// Normalises a changed object.
    fn prepare_for_update(&self, _context: &RequestContext, _new: &mut Object, _old: &Object) {}

    /// Validates a change. Defaults to [`validate`](Self::validate) of the new object.
    fn validate_update(&self, context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        self.validate(context, new)
    }

    /// Returns warnings about an accepted change. Defaults to [`warnings`](Self::warnings) about the new object.
    fn warnings_on_update(&self, context: &RequestContext, new: &Object, _old: &Object) -> Vec<String> {
        self.warnings(context, new)
    }

    /// Normalises a change through the `status` subresource.
    fn prepare_for_status_update(&self, _context: &RequestContext, _new: &mut Object, _old: &Object) {}

    /// Validates a change through the `status` subresource.
    fn validate_status_update(&self, _context: &RequestContext, _new: &Object, _old: &Object) -> ErrorList {
        ErrorList::default()
    }

    /// Whether [`validate_value`](Self::validate_value) checks anything.
    fn validates_values(&self) -> bool {
        false
    }

    /// Validates a write by a schema, in addition to the other hooks and after them. The objects are lent as JSON values,
    /// because copying large ones would cost more than their validation.
    fn validate_value(&self, _context: &RequestContext, _write: WrittenValue<'_>) -> ErrorList {
        ErrorList::default()
    }

    /// Converts an accepted object to its canonical form.
    fn canonicalize(&self, _object: &mut Object) {}

    /// Sets fields of a stored object that requests set elsewhere than by defaults, and that it lacks because a server
    /// stored it before they existed. Called after [`apply_defaults`](Self::apply_defaults) for objects that are not
    /// stored in the canonical form, such as those of kube-apiserver.
    fn complete_stored(&self, _object: &mut Object) {}

    /// Returns the format of `metadata.name` in place of the declared one, if a feature changes it.
    fn name_rule(&self) -> Option<NameRule> {
        None
    }

    /// Whether `metadata.generateName` is completed to a unique name. If not, it is the name.
    fn completes_generated_names(&self) -> bool {
        true
    }

    /// Returns the annotations that represent internal fields in the whole object. Metadata alone do not have them.
    fn field_annotations(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the conflict's message if a precondition of a deletion does not hold and the kind has one of its own.
    fn failed_precondition(&self, _field: &str, _wanted: &str, _found: &str) -> Option<String> {
        None
    }

    /// Returns the propagation policy of deletions that do not specify one.
    fn default_propagation_policy(&self) -> PropagationPolicy {
        PropagationPolicy::Background
    }

    /// Whether the garbage collector's finalizers are supported: kinds that never have dependents (events) do not get
    /// them. (`rest.Unsupported`.)
    fn supports_garbage_collection(&self) -> bool {
        true
    }

    /// Returns the reason for which the object of this name cannot be deleted by itself. The deletion of a collection does
    /// not ask.
    fn forbids_deletion(&self, _name: &str) -> Option<&'static str> {
        None
    }

    /// Returns warnings about a deletion, whether or not it succeeds.
    fn warnings_on_delete(&self, _options: &DeleteOptions) -> Vec<String> {
        Vec::new()
    }

    /// Returns the selectable fields that this version offers in addition to the name and the namespace; `None` if they are
    /// all that the resource has. The stored version has the fields of all versions.
    fn selectable_fields(&self) -> Option<&[&'static str]> {
        None
    }

    /// Returns the message for a field selector that the kind does not support.
    fn unknown_field_label(&self, label: &str) -> String {
        format!("field label not supported: {label}")
    }

    /// Whether a new object keeps its status: nodes set it on creation.
    fn keeps_status_on_create(&self) -> bool {
        false
    }

    /// Whether finalizers prevent the removal of an object.
    fn is_held(&self, object: &Object) -> bool {
        object.finalizers().next().is_some()
    }

    /// Marks an object as being deleted, in addition to the deletion timestamp.
    fn mark_as_deleting(&self, _object: &mut Object) {}

    /// Decides how to delete an object: immediately, or after a grace period set in `options`.
    fn check_graceful_delete(
        &self,
        _context: &RequestContext,
        _object: &Object,
        _options: &mut DeleteOptions,
    ) -> Deletion {
        Deletion::Immediate
    }
}

/// An object that is about to be written, as a JSON value.
#[derive(Clone, Copy, Debug)]
pub struct WrittenValue<'a> {
    /// The object.
    pub new: &'a Value,
    /// The object that it replaces; `None` if it is created.
    pub old: Option<&'a Value>,
    /// Whether it is written through the `status` subresource.
    pub is_status: bool,
    /// The errors that were found in it before, such as those of its metadata.
    pub errors: &'a ErrorList,
}

/// The way in which an object is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// Immediately (unless there are finalizers).
    Immediate,
    /// After `options.grace_period_seconds`; until then it has a deletion timestamp.
    Graceful,
}

/// The same hooks with a typed object, for authors.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a strategy",
    note = "implement `registry_core::resource::Strategy` for it; every hook has a default"
)]
pub trait Strategy: Send + Sync + 'static {
    /// The type of the object.
    type Object: Serialize + DeserializeOwned;

    /// Sets defaults that depend on other fields.
    fn apply_defaults(&self, _object: &mut Self::Object) {}

    /// Normalises a new object.
    fn prepare_for_create(&self, _context: &RequestContext, _object: &mut Self::Object) {}

    /// Validates a new object.
    fn validate(&self, _context: &RequestContext, _object: &Self::Object) -> ErrorList {
        ErrorList::default()
    }

    /// Normalises a changed object.
    fn prepare_for_update(&self, _context: &RequestContext, _new: &mut Self::Object, _old: &Self::Object) {}

    /// Validates a change. Defaults to [`validate`](Self::validate) of the new object.
    fn validate_update(
        &self,
        context: &RequestContext,
        new: &Self::Object,
        _old: &Self::Object,
    ) -> ErrorList {
        self.validate(context, new)
    }

    /// Validates a change through the `status` subresource.
    fn validate_status_update(
        &self,
        _context: &RequestContext,
        _new: &Self::Object,
        _old: &Self::Object,
    ) -> ErrorList {
        ErrorList::default()
    }

    /// Returns warnings about an accepted object.
    fn warnings(&self, _context: &RequestContext, _object: &Self::Object) -> Vec<String> {
        Vec::new()
    }
}

/// A strategy with the default hooks.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoStrategy;

impl ObjectStrategy for NoStrategy {}

/// The strategy of a version that has the defaults of its hub, whose rules apply anyway.
pub struct HubDefaults(pub Arc<dyn ObjectStrategy>);

impl ObjectStrategy for HubDefaults {
    fn apply_defaults(&self, object: &mut Object) {
        self.0.apply_defaults(object);
    }

    fn unknown_field_label(&self, label: &str) -> String {
        self.0.unknown_field_label(label)
    }
}

// === every typed strategy is an erased one ===

impl<S: Strategy> ObjectStrategy for S {
    fn apply_defaults(&self, object: &mut Object) {
        edit::<S::Object>(object, |typed| Strategy::apply_defaults(self, typed));
    }

    fn prepare_for_create(&self, context: &RequestContext, object: &mut Object) {
        edit::<S::Object>(object, |typed| Strategy::prepare_for_create(self, context, typed));
    }

    fn can_read(&self, object: &Object) -> bool {
        object.view::<S::Object>().is_ok()
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        match object.view() {
            Ok(typed) => Strategy::validate(self, context, &typed),
            Err(mismatch) => unreadable::<S::Object>(object, &mismatch),
        }
    }

    fn warnings(&self, context: &RequestContext, object: &Object) -> Vec<String> {
        object.view().map(|typed| Strategy::warnings(self, context, &typed)).unwrap_or_default()
    }

    fn prepare_for_update(&self, context: &RequestContext, new: &mut Object, old: &Object) {
        if let Ok(old) = old.view() {
            edit::<S::Object>(new, |typed| Strategy::prepare_for_update(self, context, typed, &old));
        }
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        match (new.view(), old.view()) {
            (Ok(new), Ok(old)) => Strategy::validate_update(self, context, &new, &old),
            (Err(mismatch), _) => unreadable::<S::Object>(new, &mismatch),
            (_, Err(mismatch)) => unreadable::<S::Object>(old, &mismatch),
        }
    }

    fn validate_status_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        match (new.view(), old.view()) {
            (Ok(new), Ok(old)) => Strategy::validate_status_update(self, context, &new, &old),
            (Err(mismatch), _) => unreadable::<S::Object>(new, &mismatch),
            (_, Err(mismatch)) => unreadable::<S::Object>(old, &mismatch),
        }
    }
}

/// Returns the error of an object that cannot be deserialised, although the kind's schema accepts it.
fn unreadable<T: DeserializeOwned>(object: &Object, mismatch: &ViewError) -> ErrorList {
    let errors = check::<T>(&Value::Object(object.0.clone()));
    if errors.is_empty() {
        return FieldError::invalid(FieldPath::root(), Value::Null, mismatch.to_string()).into();
    }
    errors
}
