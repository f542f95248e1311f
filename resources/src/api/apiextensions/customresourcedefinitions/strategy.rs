//! Rules of CustomResourceDefinitions.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;
use resource_views::apiextensions::v1::{CustomResourceDefinition, CustomResourceDefinitionMut};
use serde_json::Value;

use crate::support::defaulting;

use super::conditions::{self, StatusChange};
use super::view::{self, Spec};
use super::{defaults, formats, validation};

/// Defaults, preparation and validation of definitions.
pub(super) struct DefinitionStrategy;

impl ObjectStrategy for DefinitionStrategy {
    /// The first deletion only marks a definition, so there is nothing for the garbage collector to wait for.
    fn supports_garbage_collection(&self) -> bool {
        false
    }

    fn apply_defaults(&self, object: &mut Object) {
        defaults::apply(object);
    }

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        add_stored_version(object);
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, _old: &Object) {
        add_stored_version(new);
    }

    fn validate(&self, context: &RequestContext, object: &Object) -> ErrorList {
        validation::validate(object, &context.budget)
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        validation::validate_update(new, old, &context.budget)
    }

    fn validate_status_update(&self, context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        validation::validate_status_update(new, &context.budget)
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        formats::warnings(&Spec::from_object(object), None)
    }

    fn warnings_on_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> Vec<String> {
        formats::warnings(&Spec::from_object(new), Some(&Spec::from_object(old)))
    }

    /// A definition is removed after its custom resources: until then its own finalizer holds it, which
    /// [`mark_as_deleting`](Self::mark_as_deleting) adds.
    fn is_held(&self, object: &Object) -> bool {
        object.deletion_timestamp().is_none() || object.finalizers().next().is_some()
    }

    fn mark_as_deleting(&self, object: &mut Object) {
        let terminating = conditions::deletion_pending();
        if view::has_condition(object, terminating.kind, terminating.status) {
            return;
        }
        // As in Kubernetes, the first deletion sets no grace period and is not counted as a change.
        object.metadata_mut().remove("deletionGracePeriodSeconds");
        object.set(&["metadata", "generation"], (object.generation() - 1).max(1).into());
        defaulting::add_finalizer(object, conditions::CLEANUP_FINALIZER);
        StatusChange::from_condition(terminating).apply(object);
    }
}

/// Notes that objects are stored in the version that is the storage version now.
fn add_stored_version(object: &mut Object) {
    let storage = view::storage_version(object).map(Value::from);
    let mut stored = CustomResourceDefinition(object).status().stored_versions().values().to_vec();
    if let Some(storage) = storage.filter(|storage| !stored.contains(storage)) {
        stored.push(storage);
        CustomResourceDefinitionMut(object).status().or_new().stored_versions().set_value(stored.into());
    }
}
