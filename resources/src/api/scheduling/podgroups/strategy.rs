//! Rules of PodGroups.

use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, Object};
use registry_core::resource::ObjectStrategy;
use serde_json::Value;

use crate::api::scheduling::pod_group;
use crate::support::field::Field;
use crate::support::{conditions, defaulting};

/// Maximum number of claims.
const MAX_CLAIMS: usize = 4;
const DISRUPTION_MODE: [&str; 2] = ["spec", "disruptionMode"];
/// The mode of every group while the preemption of groups is off.
const DEFAULT_MODE: &str = "Pod";

/// The spec is immutable.
pub(super) struct PodGroupStrategy;

impl ObjectStrategy for PodGroupStrategy {
    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        defaulting::with_at(object, &["spec"], |spec| pod_group::drop_disabled_fields(spec, None));
        // The mode is a field of a feature that is off, and has a default that every reader sees.
        object.set(&DISRUPTION_MODE, DEFAULT_MODE.into());
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        let before = old.get(&["spec"]);
        defaulting::with_at(new, &["spec"], |spec| pod_group::drop_disabled_fields(spec, before));
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::top_level(object, "spec");
        check_template(&spec.get("podGroupTemplateRef"), &mut errors);
        pod_group::check_policy(&spec.get("schedulingPolicy"), &mut errors);
        errors
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::top_level(new, "spec");
        let before = Field::top_level(old, "spec");
        for field in ["podGroupTemplateRef", "schedulingPolicy", "resourceClaims"] {
            pod_group::check_immutable(&spec.get(field), &before.get(field), &mut errors);
        }
        for field in ["schedulingConstraints", "disruptionMode", "priorityClassName", "priority"] {
            let changed = spec.get(field);
            if changed.exists() && changed.value() != before.get(field).value() {
                errors.push(changed.forbidden(""));
            }
        }
        errors
    }

    fn prepare_for_status_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        defaulting::keep_metadata(new, old);
        if defaulting::is_empty(old.get(&["spec", "resourceClaims"])) {
            new.remove(&["status", "resourceClaimStatuses"]);
        }
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::top_level(new, "spec");
        let status = Field::top_level(new, "status");
        conditions::check(&status.get("conditions"), &mut errors);
        let claims = spec.get("resourceClaims");
        let statuses = status.get("resourceClaimStatuses");
        check_claim_statuses(&statuses, &claims, &mut errors);
        errors
    }
}

/// Checks the reference to a template of a Workload.
fn check_template(template: &Field<'_, '_>, errors: &mut ErrorList) {
    if !template.exists() {
        return;
    }
    let workload = template.get("workload");
    if !workload.exists() {
        errors.push(FieldError::invalid(template.path(), "", "must specify one of: `workload`"));
        return;
    }
    workload.get("workloadName").check_named(names::dns_subdomain, errors);
    workload.get("podGroupTemplateName").check_named(names::dns_label, errors);
}

/// Checks that each status is that of a claim of the group.
fn check_claim_statuses(statuses: &Field<'_, '_>, claims: &Field<'_, '_>, errors: &mut ErrorList) {
    let name = |value: Option<&Value>| {
        value.and_then(|value| value.get("name")?.as_str()).unwrap_or_default().to_owned()
    };
    for status in statuses.elements() {
        let wanted = name(status.value());
        if !claims.elements().any(|claim| name(claim.value()) == wanted) {
            let detail = "must match the name of an entry in `spec.resourceClaims`";
            errors.push(status.get("name").invalid_text(detail));
        }
    }
    if !statuses.check_count(MAX_CLAIMS, errors) {
        return;
    }
    statuses.check_unique(|status| name(status.value()), |field| field.duplicate(), errors);
    for status in statuses.elements() {
        status.get("resourceClaimName").check_if_present(names::dns_subdomain, errors);
    }
}
