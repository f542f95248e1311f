//! Scopes of quotas.

use registry_core::api::{GroupResource, Object};
use resource_views::Typed as _;
use resource_views::core::v1::{
    PersistentVolumeClaim, Pod, PodAffinity, PodAffinityTerm, ResourceQuota,
    ScopedResourceSelectorRequirement,
};
use serde_json::{Value, json};

use super::pods::has_deadline;
use super::usage::{CLAIMS, PODS};
use crate::api::core::pods::quality_of_service;

/// Returns the scopes of a quota and the expressions of its scope selector.
pub(super) fn scopes(quota: &Object) -> Vec<Value> {
    let spec = ResourceQuota(quota).spec();
    let named = spec.scopes().texts().map(|scope| json!({"scopeName": scope, "operator": "Exists"}));
    named.chain(spec.scope_selector().match_expressions().values().iter().cloned()).collect()
}

/// Whether an object is in all scopes.
pub(super) fn matches(scopes: &[Value], resource: GroupResource, object: &Object) -> bool {
    scopes.iter().all(|requirement| is_in(resource, object, requirement))
}

/// Whether an object is in a scope. Only pods and claims of volumes have scopes.
pub(super) fn is_in(resource: GroupResource, object: &Object, requirement: &Value) -> bool {
    let requirement = &typed(requirement);
    if resource == CLAIMS {
        return requirement.scope_name().text() == "VolumeAttributesClass"
            && has_attributes_class(object, requirement);
    }
    if resource != PODS {
        return false;
    }
    match requirement.scope_name().text() {
        "Terminating" => has_deadline(object),
        "NotTerminating" => !has_deadline(object),
        "BestEffort" => quality_of_service(object) == "BestEffort",
        "NotBestEffort" => quality_of_service(object) != "BestEffort",
        "PriorityClass" => {
            let class = Pod(object).spec().priority_class_name().text();
            is_selected(Some(class).filter(|class| !class.is_empty()), requirement)
        }
        "CrossNamespacePodAffinity" => looks_elsewhere(object),
        _ => false,
    }
}

/// Returns a requirement as messages show it: `{PriorityClass In [a b]}`.
pub(super) fn shown(requirement: &Value) -> String {
    let requirement = typed(requirement);
    let (scope, operator) = (requirement.scope_name(), requirement.operator());
    let values: Vec<&str> = requirement.values().texts().collect();
    format!("{{{} {} [{}]}}", scope.text(), operator.text(), values.join(" "))
}

/// Whether a claim has, had, or is getting a class that a requirement selects.
fn has_attributes_class(claim: &Object, requirement: &ScopedResourceSelectorRequirement<'_, '_>) -> bool {
    let (spec, status) = (PersistentVolumeClaim(claim).spec(), PersistentVolumeClaim(claim).status());
    let classes = [
        spec.volume_attributes_class_name().text(),
        status.current_volume_attributes_class_name().text(),
        status.modify_volume_status().target_volume_attributes_class_name().text(),
    ];
    let mut classes = classes.into_iter().filter(|class| !class.is_empty()).peekable();
    if classes.peek().is_none() {
        return is_selected(None, requirement);
    }
    classes.any(|class| is_selected(Some(class), requirement))
}

/// Whether a requirement selects a class, or objects without one.
fn is_selected(class: Option<&str>, requirement: &ScopedResourceSelectorRequirement<'_, '_>) -> bool {
    let values = requirement.values();
    let listed = || values.texts().any(|value| Some(value) == class);
    match requirement.operator().text() {
        "Exists" => class.is_some(),
        "DoesNotExist" => class.is_none(),
        "In" => class.is_some() && listed(),
        "NotIn" => class.is_none() || !listed(),
        _ => false,
    }
}

/// Whether any of the pod's affinity terms names namespaces.
fn looks_elsewhere(pod: &Object) -> bool {
    let names_namespaces =
        |term: &PodAffinityTerm<'_, '_>| !term.namespaces().is_empty() || term.namespace_selector().exists();
    let spec = Pod(pod).spec();
    let affinity = spec.affinity();
    let kinds: [PodAffinity<'_, '_>; 2] = [affinity.pod_affinity(), affinity.pod_anti_affinity().into()];
    kinds.iter().any(|affinity| {
        let required = affinity.required_during_scheduling_ignored_during_execution();
        let preferred = affinity.preferred_during_scheduling_ignored_during_execution();
        required.elements().any(|term| names_namespaces(&term))
            || preferred.elements().any(|term| names_namespaces(&term.pod_affinity_term()))
    })
}

fn typed(requirement: &Value) -> ScopedResourceSelectorRequirement<'_, '_> {
    ScopedResourceSelectorRequirement::from_value(requirement)
}
