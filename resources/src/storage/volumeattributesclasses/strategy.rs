//! Rules of VolumeAttributesClasses.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;

use crate::support::defaulting;
use crate::support::field::Field;

/// Protected from removal while in use; immutable.
pub(super) struct VolumeAttributesClassStrategy;

impl ObjectStrategy for VolumeAttributesClassStrategy {
    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        defaulting::add_finalizer(object, "kubernetes.io/vac-protection");
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        Field::of(object, "driverName").check_present(&mut errors);
        super::super::parameters::check(&Field::of(object, "parameters"), true, &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        for field in ["driverName", "parameters"] {
            let new = Field::of(new, field);
            if new.value() != Field::of(old, field).value() {
                errors.push(new.forbidden(format!("updates to {field} are forbidden.")));
            }
        }
        errors
    }
}
