//! What differs between an update of the main resource and one through a subresource.

use serde_json::Value;

use crate::api::{ErrorList, Object};
use crate::context::RequestContext;
use crate::resource::ResourceType;

/// How one path of a resource changes its objects. The store does what all paths share (names, namespaces,
/// metadata, conflicts, retries); a subresource of an author's own brings its rules to
/// [`Store::update_by`](super::Store::update_by).
///
/// Kubernetes concept: `rest.RESTUpdateStrategy`, one per path.
pub trait UpdateRules: Send + Sync {
    /// Brings a changed object into shape: takes back from `old` whatever this path may not change.
    fn prepare(&self, resource: &ResourceType, context: &RequestContext, new: &mut Object, old: &Object);

    /// What is wrong with the change.
    fn validate(
        &self,
        resource: &ResourceType,
        context: &RequestContext,
        new: &Object,
        old: &Object,
    ) -> ErrorList;

    /// What its author should know although it is accepted.
    fn warnings(
        &self,
        _resource: &ResourceType,
        _context: &RequestContext,
        _new: &Object,
        _old: &Object,
    ) -> Vec<String> {
        Vec::new()
    }

    /// The only fields that writes through this path change, as paths on which `*` is any element of a list: nobody
    /// manages others through it. `None`: whatever the resource lets it.
    fn changes_only(&self) -> Option<&'static [&'static [&'static str]]> {
        None
    }

    /// Whether this path may create an absent object.
    fn may_create(&self) -> bool {
        false
    }
}

/// The main resource: all but the status may change, and the generation counts it.
#[derive(Clone, Copy, Debug, Default)]
pub struct MainRules;

/// The `status` subresource: only the status may change, and what the kind allows of metadata.
#[derive(Clone, Copy, Debug, Default)]
pub struct StatusRules;

// === impl MainRules ===

impl UpdateRules for MainRules {
    fn prepare(&self, resource: &ResourceType, context: &RequestContext, new: &mut Object, old: &Object) {
        if resource.has_status {
            new.copy_field(old, &["status"]);
        }
        resource.strategy.prepare_for_update(context, new, old);
        // A strategy that counts by rules of its own has set another generation by now.
        let uncounted = new.generation() == old.generation();
        if resource.has_generation && uncounted && differs_beyond_metadata(resource, new, old) {
            new.set(&["metadata", "generation"], (old.generation() + 1).into());
        }
    }

    fn validate(
        &self,
        resource: &ResourceType,
        context: &RequestContext,
        new: &Object,
        old: &Object,
    ) -> ErrorList {
        resource.strategy.validate_update(context, new, old)
    }

    fn warnings(
        &self,
        resource: &ResourceType,
        context: &RequestContext,
        new: &Object,
        old: &Object,
    ) -> Vec<String> {
        resource.strategy.warnings_on_update(context, new, old)
    }

    fn may_create(&self) -> bool {
        true
    }
}

// === impl StatusRules ===

impl UpdateRules for StatusRules {
    fn prepare(&self, resource: &ResourceType, context: &RequestContext, new: &mut Object, old: &Object) {
        let asked = std::mem::replace(new, old.clone());
        new.copy_field(&asked, &["status"]);
        if resource.is_builtin {
            new.copy_field(&asked, &["metadata"]);
        } else {
            new.copy_field(&asked, &["metadata", "managedFields"]);
        }
        resource.strategy.prepare_for_status_update(context, new, old);
    }

    fn validate(
        &self,
        resource: &ResourceType,
        context: &RequestContext,
        new: &Object,
        old: &Object,
    ) -> ErrorList {
        resource.strategy.validate_status_update(context, new, old)
    }
}

/// Whether anything counted by the generation differs.
fn differs_beyond_metadata(resource: &ResourceType, new: &Object, old: &Object) -> bool {
    !counted_fields(resource, new).eq(counted_fields(resource, old))
}

fn counted_fields<'a>(
    resource: &ResourceType,
    object: &'a Object,
) -> impl Iterator<Item = (&'a String, &'a Value)> + use<'a> {
    let has_status = resource.has_status;
    object.0.iter().filter(move |(field, _)| match field.as_str() {
        "apiVersion" | "kind" | "metadata" => false,
        "status" => !has_status,
        _ => true,
    })
}
