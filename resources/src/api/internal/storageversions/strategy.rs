//! Rules of StorageVersions.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;

use super::validation;

/// The servers report their versions in the status.
pub(super) struct StorageVersionStrategy;

impl ObjectStrategy for StorageVersionStrategy {
    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        validation::check_name(object.name(), &mut errors);
        errors
    }

    fn validate_update(&self, _context: &RequestContext, _new: &Object, _old: &Object) -> ErrorList {
        ErrorList::default()
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        validation::check_status(new, &mut errors);
        errors
    }
}
