//! Rules of CSIStorageCapacities.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::api::validation::names;
use registry_core::resource::ObjectStrategy;

use crate::field::Field;
use crate::label_selector;

/// Where and of which class never changes.
pub(super) struct CSIStorageCapacityStrategy;

impl ObjectStrategy for CSIStorageCapacityStrategy {
    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        Field::of(object, "storageClassName").check(names::dns_subdomain, &mut errors);
        label_selector::check(&Field::of(object, "nodeTopology"), &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        Field::of(new, "nodeTopology").check_immutable(&Field::of(old, "nodeTopology"), &mut errors);
        Field::of(new, "storageClassName").check_immutable(&Field::of(old, "storageClassName"), &mut errors);
        errors
    }
}
