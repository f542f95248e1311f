//! Rules of CSINodes.

use std::collections::{HashMap, HashSet};

use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, Object};
use registry_core::resource::ObjectStrategy;
use resource_views::storage::v1::{CSINode, CSINodeDriver};
use serde_json::Value;

use crate::api::core::pod_spec::validation::check_driver_name;
use crate::support::go_text;
use crate::support::semantic;

/// Maximum length of a driver's node ID, in bytes.
const MAX_NODE_ID_BYTES: usize = 256;

/// Drivers are unique and have a node ID.
pub(super) struct CSINodeStrategy;

impl ObjectStrategy for CSINodeStrategy {
    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let mut names = HashSet::new();
        for driver in CSINode(object).spec().drivers().elements() {
            check_driver(&driver, &mut errors);
            let name = driver.name();
            if !names.insert(name.text()) {
                errors.push(name.duplicate());
            }
            check_topology_keys(&driver, &mut errors);
        }
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        let spec = CSINode(new).spec();
        let after = spec.drivers();
        let spec = CSINode(old).spec();
        let mut by_name = HashMap::new();
        for driver in after.elements() {
            by_name.entry(driver.name().text()).or_insert(driver);
        }
        // Drivers may be added and removed, but only their number of volumes may change.
        for driver in spec.drivers().elements() {
            let Some(now) = by_name.get(driver.name().text()) else { continue };
            if !semantic::equal(now.node_id().value(), driver.node_id().value())
                || !semantic::equal(now.topology_keys().value(), driver.topology_keys().value())
            {
                let mut shown = now.value().cloned().unwrap_or_default();
                shown.as_object_mut().and_then(|fields| fields.remove("allocatable"));
                let error = FieldError::invalid(after.path(), Value::Null, "field is immutable");
                errors.push(error.shown_as(go_text::text(Some(&shown), "<storage.CSINodeDriver>")));
            }
        }
        errors
    }
}

fn check_driver(driver: &CSINodeDriver<'_, '_>, errors: &mut ErrorList) {
    check_driver_name(&driver.name(), errors);
    let node = driver.node_id();
    node.check_present(errors);
    if node.text().len() > MAX_NODE_ID_BYTES {
        errors.push(node.invalid(format!("must be {MAX_NODE_ID_BYTES} characters or less")));
    }
    driver.allocatable().count().check_not_negative(errors);
}

/// Checks the labels that a driver reads from its nodes. Errors are about the driver.
fn check_topology_keys(driver: &CSINodeDriver<'_, '_>, errors: &mut ErrorList) {
    let mut seen = HashSet::new();
    for key in driver.topology_keys().elements() {
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
