//! Rules of ClusterRoleBindings.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;

use crate::api::rbac::rules;

/// The role is immutable; every subject is of a known kind.
pub(super) struct ClusterRoleBindingStrategy;

impl ObjectStrategy for ClusterRoleBindingStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        rules::default_binding(object);
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        rules::check_binding(object, &["ClusterRole"], false)
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        rules::check_role_kept(new, old, &mut errors);
        errors
    }
}
