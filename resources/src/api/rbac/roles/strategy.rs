//! Rules of Roles.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;
use resource_views::rbac::v1::Role;

use crate::api::rbac::rules;

/// Every rule names verbs, and resources or URLs.
pub(super) struct RoleStrategy;

impl ObjectStrategy for RoleStrategy {
    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        rules::check_rules(&Role(object).rules(), true, &mut errors);
        errors
    }
}
