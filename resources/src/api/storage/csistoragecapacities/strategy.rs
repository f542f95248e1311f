//! Rules of CSIStorageCapacities.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, names};
use registry_core::resource::ObjectStrategy;
use resource_views::storage::v1::CSIStorageCapacity;

use crate::api::core::node_selector;
use crate::support::field::ShownAsGo as _;
use crate::support::label_selector;

/// Topology and class are immutable.
pub(super) struct CSIStorageCapacityStrategy;

impl ObjectStrategy for CSIStorageCapacityStrategy {
    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        check(object, false)
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let topology = CSIStorageCapacity(old).node_topology();
        let mut errors = ErrorList::default();
        label_selector::check(&topology, &mut errors);
        let mut errors = check(new, !errors.is_empty());
        let new_topology = CSIStorageCapacity(new).node_topology();
        new_topology.check_immutable_as("*<metav1.LabelSelector>", &topology, &mut errors);
        let class = CSIStorageCapacity(new).storage_class_name();
        class.check_immutable(&CSIStorageCapacity(old).storage_class_name(), &mut errors);
        errors
    }

    fn warnings(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        let mut warnings = Vec::new();
        node_selector::warn_of_labels(&CSIStorageCapacity(object).node_topology(), &mut warnings);
        warnings
    }
}

fn check(object: &Object, tolerates_values: bool) -> ErrorList {
    let mut errors = ErrorList::default();
    let topology = CSIStorageCapacity(object).node_topology();
    if tolerates_values {
        label_selector::check_except_values(&topology, &mut errors);
    } else {
        label_selector::check(&topology, &mut errors);
    }
    CSIStorageCapacity(object).storage_class_name().check(names::dns_subdomain, &mut errors);
    let amount = CSIStorageCapacity(object).capacity();
    if amount.quantity().is_some_and(|quantity| quantity.is_negative()) {
        errors.push(amount.invalid("must be greater than or equal to 0"));
    }
    errors
}
