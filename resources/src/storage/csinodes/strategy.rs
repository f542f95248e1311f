//! Rules of CSINodes.

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::validation::names;
use registry_core::api::{FieldError, Object};
use registry_core::resource::ObjectStrategy;

use crate::field::Field;

/// How long a driver's name of a node may be.
const MOST_NODE_ID_BYTES: usize = 256;

/// Each driver is there once and knows the node.
pub(super) struct CSINodeStrategy;

impl ObjectStrategy for CSINodeStrategy {
    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::of(object, "spec");
        let mut drivers = Vec::new();
        for driver in spec.get("drivers").elements() {
            let (name, node) = (driver.get("name"), driver.get("nodeID"));
            if name.check_present(&mut errors) {
                name.check(names::dns_subdomain, &mut errors);
            }
            if node.check_present(&mut errors) && node.text().len() > MOST_NODE_ID_BYTES {
                errors.push(node.invalid(format!("must be {MOST_NODE_ID_BYTES} characters or less")));
            }
            driver.get("allocatable").get("count").check_not_negative(&mut errors);
            if drivers.contains(&name.text()) {
                errors.push(FieldError::duplicate(driver.path(), name.text()));
            }
            drivers.push(name.text());
        }
        errors
    }
}
