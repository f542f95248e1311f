//! Rules of VolumeAttributesClasses.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;

use crate::api::storage::parameters;
use crate::support::field::Field;
use crate::support::semantic;

/// Driver and parameters are immutable.
pub(super) struct VolumeAttributesClassStrategy;

impl ObjectStrategy for VolumeAttributesClassStrategy {
    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        parameters::check_provisioner(&Field::top_level(object, "driverName"), &mut errors);
        parameters::check(&Field::top_level(object, "parameters"), true, &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        for field in ["driverName", "parameters"] {
            let new = Field::top_level(new, field);
            if !semantic::equal(new.value(), Field::top_level(old, field).value()) {
                errors.push(new.forbidden(format!("updates to {field} are forbidden.")));
            }
        }
        errors.append(self.validate(context, new));
        errors
    }
}
