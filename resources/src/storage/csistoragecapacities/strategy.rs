//! Rules of CSIStorageCapacities.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::api::validation::names;
use registry_core::resource::ObjectStrategy;
use registry_core::schema::Quantity;

use crate::core::node_selector;
use crate::support::field::{Field, ShownAsGo as _};
use crate::support::label_selector;

/// Topology and class are immutable.
pub(super) struct CSIStorageCapacityStrategy;

impl ObjectStrategy for CSIStorageCapacityStrategy {
    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        check(object, false)
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let topology = Field::of(old, "nodeTopology");
        let mut errors = ErrorList::default();
        label_selector::check(&topology, &mut errors);
        let mut errors = check(new, !errors.is_empty());
        let new_topology = Field::of(new, "nodeTopology");
        new_topology.check_immutable_as("*<metav1.LabelSelector>", &topology, &mut errors);
        Field::of(new, "storageClassName").check_immutable(&Field::of(old, "storageClassName"), &mut errors);
        errors
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        let mut warnings = Vec::new();
        node_selector::warn_of_labels(&Field::of(object, "nodeTopology"), &mut warnings);
        warnings
    }

    fn warnings_on_update(&self, context: &RequestContext, new: &Object, _old: &Object) -> Vec<String> {
        self.warnings_on_create(context, new)
    }
}

fn check(object: &Object, tolerates_values: bool) -> ErrorList {
    let mut errors = ErrorList::default();
    let topology = Field::of(object, "nodeTopology");
    if tolerates_values {
        label_selector::check_except_values(&topology, &mut errors);
    } else {
        label_selector::check(&topology, &mut errors);
    }
    Field::of(object, "storageClassName").check(names::dns_subdomain, &mut errors);
    let amount = Field::of(object, "capacity");
    if Quantity::parse(amount.text()).is_ok_and(|quantity| quantity.nanos() < Some(0)) {
        errors.push(amount.invalid("must be greater than or equal to 0"));
    }
    errors
}
