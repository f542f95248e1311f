//! `namespaces/finalize`: the removal of finalizers from an empty namespace.

use std::sync::Arc;

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::capabilities;
use registry_core::registry::{Services, Store, Subresource, SubresourceStore, UpdateRules};
use registry_core::resource::ResourceType;
use registry_core::rest::Capabilities;
use resource_views::core::v1::Namespace;

use super::Namespaces;
use super::strategy;

/// The `finalize` subresource of namespaces: metadata and `spec.finalizers` change, the status does not.
pub struct Finalize;

impl Subresource for Finalize {
    type Parent = Namespaces;
    type Storage = SubresourceStore;
    const NAME: &'static str = "finalize";

    fn install(parent: &Arc<Store>, _: &Services) -> Capabilities {
        capabilities!(SubresourceStore::new(parent.clone(), &FinalizeRules); updater)
    }
}

struct FinalizeRules;

impl UpdateRules for FinalizeRules {
    fn changes_only(&self) -> Option<&'static [&'static [&'static str]]> {
        Some(&[&["metadata"], &["spec"]])
    }

    fn prepare(&self, _: &ResourceType, _: &RequestContext, new: &mut Object, old: &Object) {
        new.copy_field(old, &["status"]);
        if Namespace(new)
            .spec()
            .finalizers()
            .value()
            .is_some_and(|finalizers| finalizers.as_array().is_some_and(Vec::is_empty))
        {
            new.remove(&["spec", "finalizers"]);
        }
    }

    fn validate(&self, _: &ResourceType, _: &RequestContext, new: &Object, _: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Namespace(new).spec();
        for finalizer in spec.finalizers().elements() {
            strategy::check_finalizer(&finalizer.path(), finalizer.text(), &mut errors);
        }
        errors
    }
}
