//! Rules of IPAddresses.

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, FieldPath, Object};
use registry_core::resource::ObjectStrategy;

use crate::core::address;
use crate::field::Field;
use crate::go_text::{Shape, TEXT};

/// How messages show whose address it is.
const PARENT: Shape = Shape::Pointer(&Shape::Struct(&[
    ("Group", "group", TEXT),
    ("Resource", "resource", TEXT),
    ("Namespace", "namespace", TEXT),
    ("Name", "name", TEXT),
]));

/// Named as the address; whose it is never changes.
pub(super) struct IPAddressStrategy;

impl ObjectStrategy for IPAddressStrategy {
    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        if let Some(complaint) = address::complaint(object.name()) {
            let path = FieldPath::new("metadata").child("name");
            errors.push(FieldError::invalid(path, object.name(), complaint));
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
        let (new, old) = (new.get("parentRef"), old.get("parentRef"));
        if new.value() != old.value() {
            errors.push(new.invalid("field is immutable").shown_as(new.go_text(PARENT)));
        }
        errors
    }
}
