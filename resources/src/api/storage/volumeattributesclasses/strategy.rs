//! Rules of VolumeAttributesClasses.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;
use resource_views::storage::v1::VolumeAttributesClass;

use crate::api::storage::parameters;
use crate::support::semantic;

/// Driver and parameters are immutable.
pub(super) struct VolumeAttributesClassStrategy;

impl ObjectStrategy for VolumeAttributesClassStrategy {
    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        parameters::check_provisioner(&VolumeAttributesClass(object).driver_name(), &mut errors);
        parameters::check(&VolumeAttributesClass(object).parameters(), true, &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let (class, before) = (VolumeAttributesClass(new), VolumeAttributesClass(old));
        if semantic::differ(&class.driver_name(), &before.driver_name()) {
            errors.push(class.driver_name().forbidden("updates to driverName are forbidden."));
        }
        if semantic::differ(&class.parameters(), &before.parameters()) {
            errors.push(class.parameters().forbidden("updates to parameters are forbidden."));
        }
        errors.append(self.validate(context, new));
        errors
    }
}
