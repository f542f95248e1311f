//! `enclosures/handover`: another keeper takes an enclosure over.
//!
//! A subresource has permissions of its own: who may `update` `enclosures/handover` changes the keeper and nothing else.

use std::sync::Arc;

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, FieldError, FieldPath};
use registry_core::capabilities;
use registry_core::registry::{Services, Store, Subresource, SubresourceStore, UpdateRules};
use registry_core::resource::ResourceType;
use registry_core::rest::Capabilities;

use super::Enclosure;

const KEEPER: &[&str] = &["spec", "keeper"];

/// The `handover` subresource of enclosures.
pub struct Handover;

// ANCHOR: subresource
impl Subresource for Handover {
    type Parent = Enclosure;
    // Reads return the enclosure, and writes change it by the rules below.
    type Storage = SubresourceStore;
    const NAME: &'static str = "handover";

    fn install(parent: &Arc<Store>, _: &Services) -> Capabilities {
        capabilities!(SubresourceStore::new(parent.clone(), &HandoverRules); getter, updater, patcher)
    }
}
// ANCHOR_END: subresource

// ANCHOR: rules
/// The rules of writes through the subresource.
struct HandoverRules;

impl UpdateRules for HandoverRules {
    fn changes_only(&self) -> Option<&'static [&'static [&'static str]]> {
        Some(&[KEEPER])
    }

    /// Restores everything but the keeper.
    fn prepare(&self, _: &ResourceType, _: &RequestContext, new: &mut Object, old: &Object) {
        let keeper = new.get(KEEPER).cloned();
        for path in [
            &["spec"][..],
            &["status"],
            &["metadata", "labels"],
            &["metadata", "annotations"],
            &["metadata", "finalizers"],
            &["metadata", "ownerReferences"],
        ] {
            new.copy_field(old, path);
        }
        match keeper {
            Some(keeper) => new.set(KEEPER, keeper),
            None => {
                new.remove(KEEPER);
            }
        }
        if new.get(KEEPER) != old.get(KEEPER) {
            new.set(&["metadata", "generation"], (old.generation() + 1).into());
        }
    }

    fn validate(&self, _: &ResourceType, _: &RequestContext, new: &Object, _: &Object) -> ErrorList {
        if new.get_str(KEEPER).is_some_and(|keeper| !keeper.is_empty()) {
            return ErrorList::default();
        }
        FieldError::required(FieldPath::new("spec").child("keeper"), "somebody has to take it over").into()
    }
}
// ANCHOR_END: rules
