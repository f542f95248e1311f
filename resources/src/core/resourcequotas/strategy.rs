//! Rules of ResourceQuotas.

use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, Object};
use registry_core::resource::ObjectStrategy;
use registry_core::schema::Quantity;

use super::scopes;
use crate::support::field::Field;

/// The resources that a quota may limit besides requests, limits and counts.
const STANDARD: [&str; 14] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.storage",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "services",
    "replicationcontrollers",
    "resourcequotas",
];
const MORE: [&str; 5] =
    ["secrets", "configmaps", "persistentvolumeclaims", "services.nodeports", "services.loadbalancers"];

/// Names and amounts; the scopes are immutable.
pub(super) struct ResourceQuotaStrategy;

impl ObjectStrategy for ResourceQuotaStrategy {
    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::of(object, "spec");
        check_amounts(&spec.get("hard"), &mut errors);
        scopes::check(&spec, &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        let new = Field::of(new, "spec");
        let old = Field::of(old, "spec");
        new.get("scopes").check_immutable(&old.get("scopes"), &mut errors);
        errors
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let status = Field::of(new, "status");
        check_amounts(&status.get("hard"), &mut errors);
        check_amounts(&status.get("used"), &mut errors);
        errors
    }
}

fn check_amounts(amounts: &Field<'_, '_>, errors: &mut ErrorList) {
    for (name, amount) in amounts.entries() {
        let before = errors.0.len();
        for complaint in names::qualified_name(name) {
            errors.push(FieldError::invalid(amount.path(), name, complaint));
        }
        let known = name.contains('/') || STANDARD.contains(&name) || MORE.contains(&name);
        let huge = name.starts_with("hugepages-") || name.starts_with("requests.hugepages-");
        if errors.0.len() == before && !known && !huge {
            let detail = "must be a standard resource for quota";
            errors.push(FieldError::invalid(amount.path(), name, detail));
        }
        if let (Ok(one), Ok(none)) = (Quantity::parse(amount.text()), Quantity::parse("0"))
            && one.compare(&none).is_lt()
        {
            errors.push(amount.invalid("must be greater than or equal to 0"));
        }
    }
}
