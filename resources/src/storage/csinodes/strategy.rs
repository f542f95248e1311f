//! Rules of CSINodes.

use std::collections::{HashMap, HashSet};

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::validation::names;
use registry_core::api::{FieldError, Object};
use registry_core::resource::ObjectStrategy;

use crate::support::field::Field;

/// Maximum length of a driver's node ID, in bytes.
const MAX_NODE_ID_BYTES: usize = 256;

/// Drivers are unique and have a node ID.
pub(super) struct CSINodeStrategy;

impl ObjectStrategy for CSINodeStrategy {
    fn allow_unconditional_update(&self) -> bool {
        false
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::of(object, "spec");
        let mut drivers = HashSet::new();
        for driver in spec.get("drivers").elements() {
            let name = driver.get("name");
            let node = driver.get("nodeID");
            if name.check_present(&mut errors) {
                name.check(names::dns_subdomain, &mut errors);
            }
            if node.check_present(&mut errors) && node.text().len() > MAX_NODE_ID_BYTES {
                errors.push(node.invalid(format!("must be {MAX_NODE_ID_BYTES} characters or less")));
            }
            let mut keys = HashSet::new();
            for key in driver.get("topologyKeys").elements() {
                if keys.contains(&key.text()) {
                    errors.push(FieldError::duplicate(driver.path(), key.text()));
                }
                keys.insert(key.text());
                key.check(names::qualified_name, &mut errors);
            }
            driver.get("allocatable").get("count").check_not_negative(&mut errors);
            if drivers.contains(&name.text()) {
                errors.push(FieldError::duplicate(driver.path(), name.text()));
            }
            drivers.insert(name.text());
        }
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        // Drivers may be added and removed, but not changed.
        let new = Field::of(new, "spec");
        let old = Field::of(old, "spec");
        let new = new.get("drivers");
        let old = old.get("drivers");
        let mut by_name = HashMap::new();
        for driver in old.elements() {
            by_name.entry(driver.get("name").text()).or_insert(driver.value());
        }
        for driver in new.elements() {
            let Some(before) = by_name.get(driver.get("name").text()).copied().flatten() else { continue };
            let is_same =
                |field: &str| before.get(field).filter(|one| !one.is_null()) == driver.get(field).value();
            if !["nodeID", "topologyKeys"].into_iter().all(is_same) {
                errors.push(driver.invalid("field is immutable"));
            }
        }
        errors
    }
}
