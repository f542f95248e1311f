//! Rules of CSINodes.

use std::collections::{HashMap, HashSet};

use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, Object};
use registry_core::resource::ObjectStrategy;
use serde_json::Value;

use crate::core::persistentvolumes::sources;
use crate::support::field::Field;
use crate::support::go_text::internal;
use crate::support::semantic;

/// Maximum length of a driver's node ID, in bytes.
const MAX_NODE_ID_BYTES: usize = 256;

/// Drivers are unique and have a node ID.
pub(super) struct CSINodeStrategy;

impl ObjectStrategy for CSINodeStrategy {
    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let mut names = HashSet::new();
        for driver in Field::of(object, "spec").get("drivers").elements() {
            check_driver(&driver, &mut errors);
            let name = driver.get("name");
            if !names.insert(name.text()) {
                errors.push(name.duplicate());
            }
            check_topology_keys(&driver, &mut errors);
        }
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        let spec = Field::of(new, "spec");
        let after = spec.get("drivers");
        let spec = Field::of(old, "spec");
        let mut by_name = HashMap::new();
        for driver in after.elements() {
            by_name.entry(driver.get("name").text()).or_insert(driver.value());
        }
        // Drivers may be added and removed, but only their number of volumes may change.
        for driver in spec.get("drivers").elements() {
            let Some(now) = by_name.get(driver.get("name").text()).copied().flatten() else { continue };
            let is_same = |field: &str| semantic::equal(now.get(field), driver.get(field).value());
            if !["nodeID", "topologyKeys"].into_iter().all(is_same) {
                let mut shown = now.clone();
                shown.as_object_mut().and_then(|fields| fields.remove("allocatable"));
                let error = FieldError::invalid(after.path(), Value::Null, "field is immutable");
                errors.push(error.shown_as(internal::text(Some(&shown), "<storage.CSINodeDriver>")));
            }
        }
        errors
    }
}

fn check_driver(driver: &Field<'_, '_>, errors: &mut ErrorList) {
    sources::check_driver_name(&driver.get("name"), errors);
    let node = driver.get("nodeID");
    node.check_present(errors);
    if node.text().len() > MAX_NODE_ID_BYTES {
        errors.push(node.invalid(format!("must be {MAX_NODE_ID_BYTES} characters or less")));
    }
    driver.get("allocatable").get("count").check_not_negative(errors);
}

/// Checks the labels that a driver reads from its nodes. Errors are about the driver.
fn check_topology_keys(driver: &Field<'_, '_>, errors: &mut ErrorList) {
    let mut seen = HashSet::new();
    for key in driver.get("topologyKeys").elements() {
        let key = key.text();
        if key.is_empty() {
            errors.push(driver.required(""));
        }
        if !seen.insert(key) {
            errors.push(FieldError::duplicate(driver.path(), key));
        }
        for complaint in names::qualified_name(key) {
            errors.push(FieldError::invalid(driver.path(), key, complaint));
        }
    }
}
