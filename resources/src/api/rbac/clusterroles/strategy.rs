//! Rules of ClusterRoles.

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, Object};
use registry_core::resource::ObjectStrategy;
use resource_views::rbac::v1::ClusterRole;

use crate::api::rbac::rules;
use crate::support::label_selector;

/// Every rule names verbs, and resources or URLs.
pub(super) struct ClusterRoleStrategy;

impl ObjectStrategy for ClusterRoleStrategy {
    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        rules::check_rules(&ClusterRole(object).rules(), false, &mut errors);
        let aggregation = ClusterRole(object).aggregation_rule();
        if aggregation.exists() {
            let selectors = aggregation.cluster_role_selectors();
            if selectors.is_empty() {
                errors.push(
                    selectors
                        .required("at least one clusterRoleSelector required if aggregationRule is non-nil"),
                );
            }
            for selector in selectors.elements() {
                let mut found = ErrorList::default();
                label_selector::check(&selector, &mut found);
                if !found.is_empty() {
                    errors.append(found);
                    errors.push(FieldError::invalid(
                        selector.path(),
                        serde_json::Value::Null,
                        "invalid label selector.",
                    ));
                }
            }
        }
        errors
    }
}
