//! What is special about one resource's objects: hooks around create, update and delete.
//!
//! Authors implement the typed [`Strategy`]; the engine calls the erased [`ObjectStrategy`], which every typed
//! one is. A resource that has to touch an object without reading it whole implements the erased one itself.
//!
//! Kubernetes concept: `rest.RESTCreateStrategy`, `RESTUpdateStrategy`, `RESTDeleteStrategy`,
//! `RESTGracefulDeleteStrategy`, `ResetFieldsStrategy`.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::api::validation::names::NameRule;
use crate::api::validation::{ErrorList, FieldError, FieldPath};
use crate::api::{DeleteOptions, Object, PropagationPolicy};
use crate::context::RequestContext;

/// Hooks over the in-flight object. Every hook has a default, so a strategy says only what is special.
///
/// The engine itself already does what all kinds share: names, namespaces, uid, timestamps, generation,
/// metadata validation, and keeping `status` out of reach of the main resource (and all else out of reach of
/// the `status` subresource).
pub trait ObjectStrategy: Send + Sync + 'static {
    /// Fills in defaults the schema cannot express (they depend on other fields). Runs on every decoded object.
    fn apply_defaults(&self, _object: &mut Object) {}

    /// Brings a new object into shape: clears what a client may not set, fills in what the server decides.
    fn prepare_for_create(&self, _context: &RequestContext, _object: &mut Object) {}

    /// What is wrong with a new object.
    fn validate(&self, _context: &RequestContext, _object: &Object) -> ErrorList {
        ErrorList::default()
    }

    /// What its author should know although it is accepted.
    fn warnings_on_create(&self, _context: &RequestContext, _object: &Object) -> Vec<String> {
        Vec::new()
    }

    /// Brings a changed object into shape.
    fn prepare_for_update(&self, _context: &RequestContext, _new: &mut Object, _old: &Object) {}

    /// What is wrong with a change. Defaults to what would be wrong with a new object.
    fn validate_update(&self, context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        self.validate(context, new)
    }

    /// What the author of a change should know although it is accepted.
    fn warnings_on_update(&self, _context: &RequestContext, _new: &Object, _old: &Object) -> Vec<String> {
        Vec::new()
    }

    /// Brings a change through the `status` subresource into shape.
    fn prepare_for_status_update(&self, _context: &RequestContext, _new: &mut Object, _old: &Object) {}

    /// What is wrong with a change through the `status` subresource.
    fn validate_status_update(&self, _context: &RequestContext, _new: &Object, _old: &Object) -> ErrorList {
        ErrorList::default()
    }

    /// Writes an accepted object in its one normal form.
    fn canonicalize(&self, _object: &mut Object) {}

    /// What `metadata.name` may look like.
    fn name_rule(&self) -> NameRule {
        NameRule::DnsSubdomain
    }

    /// Whether finalizers have to belong to a domain (`example.com/name`) or be Kubernetes' own.
    fn requires_qualified_finalizers(&self) -> bool {
        true
    }

    /// Whether a client is told twice what is wrong with the metadata of a change: most kinds of Kubernetes check it
    /// once more by themselves.
    fn repeats_metadata_errors(&self) -> bool {
        true
    }

    /// Whether an update of an absent object creates it.
    fn allow_create_on_update(&self) -> bool {
        false
    }

    /// Whether an update may come without a resource version.
    fn allow_unconditional_update(&self) -> bool {
        true
    }

    /// What becomes of dependents when a deletion does not say.
    fn default_propagation_policy(&self) -> PropagationPolicy {
        PropagationPolicy::Background
    }

    /// Whether objects may wait for the garbage collector: those that have no dependents by nature (events) never
    /// get its finalizers. (`rest.Unsupported`.)
    fn supports_garbage_collection(&self) -> bool {
        true
    }

    /// What the author of a deletion should know, whether or not it succeeds.
    fn warnings_on_delete(&self, _options: &DeleteOptions) -> Vec<String> {
        Vec::new()
    }

    /// What every client that uses the kind should know: that there is something better by now.
    fn deprecation(&self) -> Option<&'static str> {
        None
    }

    /// What a client is told that selects by a field the kind has no such selector for.
    fn unknown_field_label(&self, label: &str) -> String {
        format!("field label not supported: {label}")
    }

    /// Whether a new object brings its status with it: nodes report on themselves from the start.
    fn keeps_status_on_create(&self) -> bool {
        false
    }

    /// Whether something still has to be done before an object may go: its finalizers.
    fn is_held(&self, object: &Object) -> bool {
        object.finalizers().next().is_some()
    }

    /// Shows that an object waits for its end, beside the deletion timestamp it has by now.
    fn mark_as_deleting(&self, _object: &mut Object) {}

    /// How an object is to be deleted: at once, or after a grace period set in `options`.
    fn check_graceful_delete(
        &self,
        _context: &RequestContext,
        _object: &Object,
        _options: &mut DeleteOptions,
    ) -> Deletion {
        Deletion::Immediate
    }

    /// Fields the main resource resets, as paths: no manager owns them.
    fn reset_fields(&self) -> &'static [&'static [&'static str]] {
        &[]
    }

    /// Fields the `status` subresource resets, as paths.
    fn reset_status_fields(&self) -> &'static [&'static [&'static str]] {
        &[]
    }
}

/// How an object is to be deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    /// At once (finalizers permitting).
    Immediate,
    /// After `options.grace_period_seconds`: until then it carries a deletion timestamp.
    Graceful,
}

/// The same hooks over a typed object: what authors implement.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a strategy",
    note = "implement `registry_core::resource::Strategy` for it; every hook has a default"
)]
pub trait Strategy: Send + Sync + 'static {
    /// The object's type.
    type Object: Serialize + DeserializeOwned;

    /// What `metadata.name` may look like.
    fn name_rule(&self) -> NameRule {
        NameRule::DnsSubdomain
    }

    /// Fills in defaults that depend on other fields.
    fn apply_defaults(&self, _object: &mut Self::Object) {}

    /// Brings a new object into shape.
    fn prepare_for_create(&self, _context: &RequestContext, _object: &mut Self::Object) {}

    /// What is wrong with a new object.
    fn validate(&self, _context: &RequestContext, _object: &Self::Object) -> ErrorList {
        ErrorList::default()
    }

    /// Brings a changed object into shape.
    fn prepare_for_update(&self, _context: &RequestContext, _new: &mut Self::Object, _old: &Self::Object) {}

    /// What is wrong with a change. Defaults to what would be wrong with a new object.
    fn validate_update(
        &self,
        context: &RequestContext,
        new: &Self::Object,
        _old: &Self::Object,
    ) -> ErrorList {
        self.validate(context, new)
    }

    /// What is wrong with a change through the `status` subresource.
    fn validate_status_update(
        &self,
        _context: &RequestContext,
        _new: &Self::Object,
        _old: &Self::Object,
    ) -> ErrorList {
        ErrorList::default()
    }

    /// What the author of an object should know although it is accepted.
    fn warnings(&self, _context: &RequestContext, _object: &Self::Object) -> Vec<String> {
        Vec::new()
    }
}

/// Nothing special.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoStrategy;

impl ObjectStrategy for NoStrategy {
    fn requires_qualified_finalizers(&self) -> bool {
        false
    }

    fn repeats_metadata_errors(&self) -> bool {
        false
    }
}

// === every typed strategy is an erased one ===

impl<S: Strategy> ObjectStrategy for S {
    fn requires_qualified_finalizers(&self) -> bool {
        false
    }

    fn repeats_metadata_errors(&self) -> bool {
        false
    }

    fn name_rule(&self) -> NameRule {
        Strategy::name_rule(self)
    }

    fn apply_defaults(&self, object: &mut Object) {
        edit::<S::Object>(object, |typed| Strategy::apply_defaults(self, typed));
    }

    fn prepare_for_create(&self, context: &RequestContext, object: &mut Object) {
        edit::<S::Object>(object, |typed| Strategy::prepare_for_create(self, context, typed));
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        match object.view() {
            Ok(typed) => Strategy::validate(self, context, &typed),
            Err(mismatch) => unreadable(&mismatch),
        }
    }

    fn warnings_on_create(&self, context: &RequestContext, object: &Object) -> Vec<String> {
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
            (Err(mismatch), _) | (_, Err(mismatch)) => unreadable(&mismatch),
        }
    }

    fn warnings_on_update(&self, context: &RequestContext, new: &Object, _old: &Object) -> Vec<String> {
        self.warnings_on_create(context, new)
    }

    fn validate_status_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        match (new.view(), old.view()) {
            (Ok(new), Ok(old)) => Strategy::validate_status_update(self, context, &new, &old),
            (Err(mismatch), _) | (_, Err(mismatch)) => unreadable(&mismatch),
        }
    }
}

/// Runs a typed edit on an object. One that cannot be read is left alone: validation refuses it next.
fn edit<T: Serialize + DeserializeOwned>(object: &mut Object, change: impl FnOnce(&mut T)) {
    let Ok(mut typed) = object.view::<T>() else { return };
    change(&mut typed);
    if let Ok(mut edited) = Object::from_typed(&typed) {
        edited.set_type(object.api_version(), object.kind());
        *object = edited;
    }
}

fn unreadable(mismatch: &crate::api::object::ViewError) -> ErrorList {
    FieldError::invalid(FieldPath::root(), serde_json::Value::Null, mismatch.to_string()).into()
}
