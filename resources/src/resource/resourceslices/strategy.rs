//! Rules of ResourceSlices.

use std::collections::HashSet;

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::validation::names;
use registry_core::api::{FieldError, Object};
use registry_core::resource::ObjectStrategy;

use crate::support::field::Field;

/// Validation of the pool and the devices; driver and node are immutable.
pub(super) struct ResourceSliceStrategy;

impl ObjectStrategy for ResourceSliceStrategy {
    fn unknown_field_label(&self, label: &str) -> String {
        format!("field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {label}")
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::of(object, "spec");
        spec.get("driver").check_present(&mut errors);
        let pool = spec.get("pool");
        pool.get("name").check_present(&mut errors);
        let count = pool.get("resourceSliceCount");
        if count.integer().unwrap_or_default() <= 0 {
            let value = count.integer().unwrap_or_default();
            errors.push(FieldError::invalid(count.path(), value, "must be greater than zero"));
        }
        let mut seen = HashSet::new();
        for device in spec.get("devices").elements() {
            let name = device.get("name");
            if name.check_present(&mut errors) {
                name.check(names::dns_label, &mut errors);
            }
            if seen.contains(&name.text()) {
                errors.push(FieldError::duplicate(device.path(), name.text()));
            }
            seen.insert(name.text());
        }
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        let new = Field::of(new, "spec");
        let old = Field::of(old, "spec");
        for field in ["driver", "nodeName"] {
            new.get(field).check_immutable(&old.get(field), &mut errors);
        }
        errors
    }
}
