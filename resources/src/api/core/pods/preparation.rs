//! The fields that the server adds to new pods, and drops from them.

use std::collections::HashMap;

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{Object, time};
use resource_views::core::v1::{
    AppArmorProfile, Pod, PodAffinityTermMut, PodMut, WeightedPodAffinityTermMut,
};
use resource_views::meta::v1::LabelSelectorMut;
use resource_views::slot::Slot;
use resource_views::{List, Typed as _, View};
use serde_json::{Value, json};

use super::quality_of_service::quality_of_service;
use crate::api::core::pod_spec::defaults;
use crate::api::core::pod_spec::validation::annotations::{self, APPARMOR};
use crate::api::core::pod_spec::validation::security_context::check_apparmor;

/// Sets the status of a new pod, and the fields that follow from others.
pub(super) fn prepare(context: &RequestContext, pod: &mut Object) {
    let class = quality_of_service(pod);
    pod.set(&["status"], json!({"phase": "Pending", "qosClass": class}));
    if !Pod(pod).spec().scheduling_gates().is_empty() {
        PodMut(pod).status().or_new().conditions().set_value(json!([scheduling_gated()]));
    }
    merge_label_keys(pod);
    copy_apparmor_annotations(context, pod);
}

/// Returns the condition of a pod with scheduling gates.
fn scheduling_gated() -> Value {
    json!({
        "type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "lastProbeTime": null,
        "lastTransitionTime": time::now(), "message": "Scheduling is blocked due to non-empty scheduling gates",
    })
}

// === label keys ===

/// Adds the requirements of `matchLabelKeys` and `mismatchLabelKeys`, with the values that the pod has, to the selectors
/// beside them.
fn merge_label_keys(pod: &mut Object) {
    let spec = Pod(pod).spec();
    if !spec.affinity().exists() && !spec.topology_spread_constraints().exists() {
        return;
    }
    let labels: HashMap<String, String> =
        pod.labels().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let Some(mut spec) = PodMut(pod).spec().present() else { return };
    if let Some(mut affinity) = spec.affinity().present() {
        if let Some(mut affinity) = affinity.pod_affinity().present() {
            merge_into_terms(affinity.preferred_during_scheduling_ignored_during_execution(), &labels);
            for term in affinity.required_during_scheduling_ignored_during_execution().elements() {
                merge_into_term(term, &labels);
            }
        }
        if let Some(mut affinity) = affinity.pod_anti_affinity().present() {
            merge_into_terms(affinity.preferred_during_scheduling_ignored_during_execution(), &labels);
            for term in affinity.required_during_scheduling_ignored_during_execution().elements() {
                merge_into_term(term, &labels);
            }
        }
    }
    for mut constraint in spec.topology_spread_constraints().elements() {
        let mut added = Vec::new();
        require(&mut added, constraint.match_label_keys().texts(), "In", &labels);
        merge_into(constraint.label_selector(), added);
    }
}

fn merge_into_terms(terms: Slot<'_, List<WeightedPodAffinityTermMut<'_>>>, labels: &HashMap<String, String>) {
    for mut weighted in terms.elements() {
        if let Some(term) = weighted.pod_affinity_term().present() {
            merge_into_term(term, labels);
        }
    }
}

fn merge_into_term(mut term: PodAffinityTermMut<'_>, labels: &HashMap<String, String>) {
    let mut added = Vec::new();
    require(&mut added, term.match_label_keys().texts(), "In", labels);
    require(&mut added, term.mismatch_label_keys().texts(), "NotIn", labels);
    merge_into(term.label_selector(), added);
}

/// Adds a requirement for each key that is among the labels.
fn require<'k>(
    added: &mut Vec<Value>,
    keys: impl Iterator<Item = &'k str>,
    operator: &str,
    labels: &HashMap<String, String>,
) {
    for key in keys {
        if let Some(value) = labels.get(key) {
            added.push(json!({"key": key, "operator": operator, "values": [value]}));
        }
    }
}

/// Adds requirements to a selector. Without a selector, its term selects nothing anyway.
fn merge_into(selector: Slot<'_, LabelSelectorMut<'_>>, added: Vec<Value>) {
    if added.is_empty() {
        return;
    }
    if let Some(mut selector) = selector.present() {
        selector.match_expressions().append(added);
    }
}

// === AppArmor ===

/// Sets the AppArmor profiles of containers that only have the annotation that precedes the field, and warns about it.
fn copy_apparmor_annotations(context: &RequestContext, pod: &mut Object) {
    let is_windows = Pod(pod).spec().os().name().text() == "windows";
    if is_windows || !pod.annotations().any(|(key, _)| key.starts_with(APPARMOR)) {
        return;
    }
    let of_pod = Pod(pod).spec().security_context().app_armor_profile().value().cloned();
    let annotations: HashMap<String, String> =
        pod.annotations().map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let Some(mut spec) = PodMut(pod).spec().present() else { return };
    defaults::each_container(&mut spec, |mut container| {
        let key = format!("{APPARMOR}{}", container.name().text());
        let Some(annotation) = annotations.get(&key) else { return };
        let own = container.security_context().present();
        if own.is_some_and(|mut context| !context.app_armor_profile().is_absent()) {
            return;
        }
        let profile = profile_of_annotation(annotation);
        let is_told_by_pod = profile.is_some() && profile == of_pod;
        if let Some(profile) = profile.filter(|profile| Some(profile) != of_pod.as_ref()) {
            container.security_context().or_new().app_armor_profile().set_value(profile);
        }
        if !is_told_by_pod {
            let warning = format!(
                "metadata.annotations[{key}]: deprecated since v1.30; use the \"appArmorProfile\" field instead"
            );
            context.warn(warning);
        }
    });
}

/// Returns the profile that an annotation names, if it is valid.
fn profile_of_annotation(annotation: &str) -> Option<Value> {
    let profile = annotations::profile_of(annotation)?;
    let mut errors = ErrorList::default();
    check_apparmor(&AppArmorProfile::typed(View::root(&profile)), &mut errors);
    errors.is_empty().then_some(profile)
}
