//! Rules of PodGroups.

use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, Object};
use registry_core::resource::{GatedField, ObjectStrategy};
use resource_views::List;
use resource_views::scheduling::v1alpha2::{
    PodGroup, PodGroupMut, PodGroupResourceClaim, PodGroupResourceClaimStatus, PodGroupTemplateReference,
};

use crate::api::scheduling::pod_group;
use crate::support::conditions;

/// Maximum number of claims.
const MAX_CLAIMS: usize = 4;
/// The mode of every group while the preemption of groups is off.
const DEFAULT_MODE: &str = "Pod";

/// The spec is immutable.
pub(super) struct PodGroupStrategy;

impl ObjectStrategy for PodGroupStrategy {
    fn gated_fields(&self) -> Vec<GatedField> {
        pod_group::gated_fields("spec", GatedField::unsupported("schedulingConstraints"))
    }

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        // The mode belongs to a feature that this server does not have, and has a default that every reader sees.
        PodGroupMut(object).spec().or_new().disruption_mode().set(DEFAULT_MODE);
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = PodGroup(object).spec();
        check_template(&spec.pod_group_template_ref(), &mut errors);
        pod_group::check_policy(&spec.scheduling_policy(), &mut errors);
        errors
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = PodGroup(new).spec();
        let before = PodGroup(old).spec();
        for (field, before) in [
            (*spec.pod_group_template_ref(), *before.pod_group_template_ref()),
            (*spec.scheduling_policy(), *before.scheduling_policy()),
            (*spec.resource_claims(), *before.resource_claims()),
        ] {
            pod_group::check_immutable(&field, &before, &mut errors);
        }
        for (field, before) in [
            (*spec.scheduling_constraints(), *before.scheduling_constraints()),
            (*spec.disruption_mode(), *before.disruption_mode()),
            (*spec.priority_class_name(), *before.priority_class_name()),
            (*spec.priority(), *before.priority()),
        ] {
            if field.exists() && field.value() != before.value() {
                errors.push(field.forbidden(""));
            }
        }
        errors
    }

    fn prepare_for_status_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        if PodGroup(old).spec().resource_claims().is_empty() {
            PodGroupMut(new).status().edit(|mut status| drop(status.resource_claim_statuses().remove()));
        }
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = PodGroup(new).spec();
        let status = PodGroup(new).status();
        conditions::check(&status.conditions(), &mut errors);
        let claims = spec.resource_claims();
        let statuses = status.resource_claim_statuses();
        check_claim_statuses(&statuses, &claims, &mut errors);
        errors
    }
}

/// Checks the reference to a template of a Workload.
fn check_template(template: &PodGroupTemplateReference<'_, '_>, errors: &mut ErrorList) {
    if !template.exists() {
        return;
    }
    let workload = template.workload();
    if !workload.exists() {
        errors.push(FieldError::invalid(template.path(), "", "must specify one of: `workload`"));
        return;
    }
    workload.workload_name().check_named(names::dns_subdomain, errors);
    workload.pod_group_template_name().check_named(names::dns_label, errors);
}

/// Checks that each status is that of a claim of the group.
fn check_claim_statuses(
    statuses: &List<PodGroupResourceClaimStatus<'_, '_>>,
    claims: &List<PodGroupResourceClaim<'_, '_>>,
    errors: &mut ErrorList,
) {
    for status in statuses.elements() {
        if !claims.elements().any(|claim| claim.name().text() == status.name().text()) {
            let detail = "must match the name of an entry in `spec.resourceClaims`";
            errors.push(status.name().invalid_text(detail));
        }
    }
    if !statuses.check_count(MAX_CLAIMS, errors) {
        return;
    }
    statuses.check_unique(|status| status.name().text(), |field| field.duplicate(), errors);
    for status in statuses.elements() {
        status.resource_claim_name().check_if_present(names::dns_subdomain, errors);
    }
}
