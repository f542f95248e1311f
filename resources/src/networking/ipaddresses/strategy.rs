//! Rules of IPAddresses.

use std::net::IpAddr;

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, FieldPath, Object};
use registry_core::resource::ObjectStrategy;

use crate::field::Field;

/// Named as the address; whose it is never changes.
pub(super) struct IPAddressStrategy;

impl ObjectStrategy for IPAddressStrategy {
    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        if object.name().parse::<IpAddr>().is_err() {
            let path = FieldPath::new("metadata").child("name");
            let detail = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)";
            errors.push(FieldError::invalid(path, object.name(), detail));
        }
        let spec = Field::of(object, "spec");
        let parent = spec.get("parentRef");
        if parent.exists() {
            parent.get("resource").check_present(&mut errors);
            parent.get("name").check_present(&mut errors);
        } else {
            errors.push(parent.required(""));
        }
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        let (new, old) = (Field::of(new, "spec"), Field::of(old, "spec"));
        new.get("parentRef").check_immutable(&old.get("parentRef"), &mut errors);
        errors
    }
}
