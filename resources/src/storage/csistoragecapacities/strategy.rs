//! Rules of CSIStorageCapacities.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::api::validation::names;
use registry_core::resource::ObjectStrategy;
use registry_core::schema::Quantity;

use crate::support::field::Field;
use crate::support::label_selector;

/// Topology and class are immutable.
pub(super) struct CSIStorageCapacityStrategy;

impl ObjectStrategy for CSIStorageCapacityStrategy {
    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        Field::of(object, "storageClassName").check(names::dns_subdomain, &mut errors);
        label_selector::check(&Field::of(object, "nodeTopology"), &mut errors);
        for amount in ["capacity", "maximumVolumeSize"] {
            let amount = Field::of(object, amount);
            if Quantity::parse(amount.text()).is_ok_and(|quantity| quantity.nanos() < Some(0)) {
                errors.push(amount.invalid("must be greater than or equal to 0"));
            }
        }
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        Field::of(new, "nodeTopology").check_immutable(&Field::of(old, "nodeTopology"), &mut errors);
        Field::of(new, "storageClassName").check_immutable(&Field::of(old, "storageClassName"), &mut errors);
        errors
    }
}
