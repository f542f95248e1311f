//! Rules of ResourceQuotas.

use std::collections::BTreeSet;

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, Object};
use registry_core::resource::ObjectStrategy;
use resource_views::core::v1::{ResourceQuota, ResourceQuotaMut};
use resource_views::{Map, Quantity};

use super::scopes;
use crate::api::core::pod_spec::{resource_names, validation};
use crate::support::resource_list::round_up;

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
    fn apply_defaults(&self, object: &mut Object) {
        ResourceQuotaMut(object).spec().edit(|mut spec| {
            round_up(spec.hard());
        });
        ResourceQuotaMut(object).status().edit(|mut status| {
            round_up(status.hard());
            round_up(status.used());
        });
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = ResourceQuota(object).spec();
        check_amounts(&spec.hard(), &mut errors);
        scopes::check(&spec, &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        let new = ResourceQuota(new).spec();
        let old = ResourceQuota(old).spec();
        let (scopes, before) = (new.scopes(), old.scopes());
        if scopes.texts().collect::<BTreeSet<_>>() != before.texts().collect() {
            errors.push(scopes.invalid("field is immutable"));
        }
        errors
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let status = ResourceQuota(new).status();
        check_amounts(&status.hard(), &mut errors);
        check_amounts(&status.used(), &mut errors);
        errors
    }
}

fn check_amounts(amounts: &Map<Quantity<'_, '_>>, errors: &mut ErrorList) {
    for (name, amount) in amounts.entries() {
        resource_names::check_any_name(name, &amount.path(), errors);
        let known = name.contains('/') || STANDARD.contains(&name) || MORE.contains(&name);
        let huge = name.starts_with("hugepages-") || name.starts_with("requests.hugepages-");
        if !known && !huge {
            let detail = "must be a standard resource for quota";
            errors.push(FieldError::invalid(amount.path(), name, detail));
        }
        validation::check_quantity(name, &amount, errors);
    }
}
