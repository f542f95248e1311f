//! Differences between an update of the main resource and one through a subresource.

use serde_json::{Map, Value};

use crate::api::{ErrorList, Object};
use crate::context::RequestContext;
use crate::resource::ResourceType;

/// The rules by which a path of a resource changes its objects. The store implements the rules that all paths share (names,
/// namespaces, metadata, conflicts, retries); a custom subresource passes its rules to
/// [`Store::with_rules`](super::Store::with_rules).
///
/// Kubernetes concept: `rest.RESTUpdateStrategy`, one per path.
pub trait UpdateRules: Send + Sync {
    /// Normalises a changed object: restores from `old` everything that this path must not change.
    fn prepare(&self, resource: &ResourceType, context: &RequestContext, new: &mut Object, old: &Object);

    /// Validates the change.
    fn validate(
        &self,
        resource: &ResourceType,
        context: &RequestContext,
        new: &Object,
        old: &Object,
    ) -> ErrorList;

    /// Returns warnings about an accepted change.
    fn warnings(
        &self,
        _resource: &ResourceType,
        _context: &RequestContext,
        _new: &Object,
        _old: &Object,
    ) -> Vec<String> {
        Vec::new()
    }

    /// Returns the only fields that writes through this path change, as paths in which `*` matches any list element; no
    /// other fields get a manager through it. `None` means all fields that the resource allows.
    fn changes_only(&self) -> Option<&'static [&'static [&'static str]]> {
        None
    }

    /// Whether this path is the `status` subresource.
    fn is_status(&self) -> bool {
        false
    }

    /// Whether this path can create an absent object.
    fn may_create(&self) -> bool {
        false
    }
}

/// The main resource: everything except the status can change, and changes increment the generation.
#[derive(Clone, Copy, Debug, Default)]
pub struct MainRules;

/// The `status` subresource: only the status can change, and the metadata that the kind allows.
#[derive(Clone, Copy, Debug, Default)]
pub struct StatusRules;

// === impl MainRules ===

impl UpdateRules for MainRules {
    fn prepare(&self, resource: &ResourceType, context: &RequestContext, new: &mut Object, old: &Object) {
        if resource.has_status {
            new.copy_field(old, &["status"]);
        }
        resource.strategy.prepare_for_update(context, new, old);
        // A strategy with its own counting rules has already set another generation.
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
        restore_all_but(&["metadata", "status"], &mut new.0, &old.0);
        let reset = resource.write_rules.reset_by_status;
        let keeps_metadata = !resource.is_builtin || reset.iter().any(|path| matches!(path, ["metadata"]));
        if keeps_metadata && let Some(old) = old.metadata() {
            restore_all_but(&["managedFields"], new.metadata_mut(), old);
        }
        for path in reset.iter().filter(|path| matches!(path, ["metadata", _, ..])) {
            new.copy_field(old, path);
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

    fn is_status(&self) -> bool {
        true
    }
}

/// Restores all fields but these from the old object. Most are unchanged, and comparing them costs less than copying.
fn restore_all_but(kept: &[&str], new: &mut Map<String, Value>, old: &Map<String, Value>) {
    let is_kept = |field: &str| kept.contains(&field);
    new.retain(|field, _| is_kept(field) || old.contains_key(field));
    for (field, value) in old.iter().filter(|(field, _)| !is_kept(field)) {
        match new.get_mut(field) {
            Some(own) if own == value => {}
            Some(own) => *own = value.clone(),
            None => {
                new.insert(field.clone(), value.clone());
            }
        }
    }
}

/// Whether any field counted by the generation differs.
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
