//! Changes of a pod's spec: few fields may change.
//!
//! Kubernetes concept: `ValidatePodUpdate` in `pkg/apis/core/validation`.

use std::collections::{BTreeMap, HashSet};

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, FieldPath, Object};
use resource_views::List;
use resource_views::core::v1::{
    Container, NodeSelectorRequirement, NodeSelectorTerm, Pod, PodSchedulingGate, PodSpec, Toleration,
};
use serde_json::{Map, Value, json};

use crate::api::core::pod_spec::validation::{self, Options, annotations};
use crate::support::defaulting::Fields;
use crate::support::field::ShownAsGo as _;
use crate::support::go_text::difference;
use crate::support::semantic;

/// The fields of a pod's spec that may change, in a message.
const MUTABLE: &str = "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";
const ONLY_ADDITIONS: &str = "only additions are allowed (no mutations or deletions)";

/// Returns the errors of an update.
pub(super) fn validate(context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
    let mut errors = ErrorList::default();
    let options = validation::options_of_pod(context, Some(old));
    validation::check_pod(new, &options, &mut errors);
    check_annotations(new, old, &options, &mut errors);
    let (spec, before) = (Pod(new).spec(), Pod(old).spec());
    if !check_images(&spec.containers(), &before.containers(), &mut errors)
        || !check_images(&spec.init_containers(), &before.init_containers(), &mut errors)
        || !check_deadline(&spec, &before, &mut errors)
    {
        return errors;
    }
    check_tolerations(&spec, &before, &options, &mut errors);
    check_gates(&spec.scheduling_gates(), &before.scheduling_gates(), &mut errors);
    if !semantic::equal(spec.value(), before.value()) {
        check_other_fields(&spec, &before, &mut errors);
    }
    errors
}

/// Checks the annotations of a changed pod, and their change.
pub(super) fn check_annotations(new: &Object, old: &Object, options: &Options, errors: &mut ErrorList) {
    let metadata = Pod(new).metadata();
    let now = metadata.annotations();
    annotations::check_changes(&now, &Pod(old).metadata().annotations(), errors);
    annotations::check(&now, &Pod(new).spec(), options, errors);
}

/// Checks the images of containers; returns whether there are as many containers as before.
fn check_images(
    list: &List<Container<'_, '_>>,
    before: &List<Container<'_, '_>>,
    errors: &mut ErrorList,
) -> bool {
    if list.len() != before.len() {
        errors.push(list.forbidden("pod updates may not add or remove containers"));
        return false;
    }
    for container in list.elements() {
        let image = container.image();
        image.check_present(errors);
        if image.text().trim() != image.text() {
            errors.push(image.invalid("must not have leading or trailing whitespace"));
        }
    }
    true
}

/// Checks that the deadline is only set or shortened, never extended or removed; returns whether to go on.
fn check_deadline(spec: &PodSpec<'_, '_>, before: &PodSpec<'_, '_>, errors: &mut ErrorList) -> bool {
    let deadline = spec.active_deadline_seconds();
    let before = before.active_deadline_seconds().integer();
    let refuse = |detail: &str| deadline.invalid(detail);
    match (deadline.integer(), before) {
        (Some(now), _) if !(0..=i64::from(i32::MAX)).contains(&now) => {
            errors.push(refuse("must be between 0 and 2147483647, inclusive"));
            return false;
        }
        (Some(now), Some(before)) if before < now => {
            errors.push(refuse("must be less than or equal to previous value"));
            return false;
        }
        (None, Some(_)) => errors.push(refuse("must not update from a positive integer to nil value")),
        _ => {}
    }
    true
}

/// Checks that tolerations are only added, or tolerate for another time.
fn check_tolerations(
    spec: &PodSpec<'_, '_>,
    before: &PodSpec<'_, '_>,
    options: &Options,
    errors: &mut ErrorList,
) {
    fn key<'v>(toleration: &Toleration<'v, '_>) -> [&'v str; 4] {
        [toleration.key(), toleration.operator(), toleration.value(), toleration.effect()]
            .map(|field| field.text())
    }
    let tolerations = spec.tolerations();
    let now: HashSet<_> = tolerations.elements().map(|toleration| key(&toleration)).collect();
    if before.tolerations().elements().any(|toleration| !now.contains(&key(&toleration))) {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        errors.push(tolerations.forbidden(detail));
        return;
    }
    validation::check_tolerations(&tolerations, options, errors);
}

/// Checks that scheduling gates are only removed.
fn check_gates(
    gates: &List<PodSchedulingGate<'_, '_>>,
    before: &List<PodSchedulingGate<'_, '_>>,
    errors: &mut ErrorList,
) {
    let before: HashSet<_> = before.elements().map(|gate| gate.name().text()).collect();
    let mut added: BTreeMap<&str, usize> = BTreeMap::new();
    for (place, gate) in gates.elements().enumerate() {
        let name = gate.name().text();
        if !before.contains(name) {
            added.insert(name, place);
        }
    }
    for (name, place) in added {
        let path = gates.path().index(place).child("name");
        let detail = format!("only deletion is allowed, but found new scheduling gate '{name}'");
        errors.push(FieldError::forbidden(path, detail));
    }
}

/// Checks that the specs are equal except for the mutable fields.
fn check_other_fields(spec: &PodSpec<'_, '_>, before: &PodSpec<'_, '_>, errors: &mut ErrorList) {
    let (Some(Value::Object(now)), Some(Value::Object(old))) = (spec.value(), before.value()) else { return };
    let mut allowed = now.clone();
    for list in ["containers", "initContainers"] {
        copy_images(&mut allowed, old, list);
    }
    for field in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        copy(&mut allowed, old, field);
    }
    let (grace, grace_before) =
        (spec.termination_grace_period_seconds(), before.termination_grace_period_seconds());
    if grace_before.number() < 0 && grace.number() == 1 {
        copy(&mut allowed, old, "terminationGracePeriodSeconds");
    }
    if !before.scheduling_gates().is_empty() {
        check_gated_fields(spec, before, errors);
        copy(&mut allowed, old, "nodeSelector");
        copy_node_affinity(&mut allowed, old);
    }
    let allowed = Value::Object(allowed);
    if !semantic::equal(Some(&allowed), before.value()) {
        let diff = difference::value_difference(before.value(), Some(&allowed), "*<core.PodSpec>");
        errors.push(FieldError::forbidden(FieldPath::new("spec"), format!("{MUTABLE}\n{diff}")));
    }
}

fn copy(fields: &mut Fields, old: &Map<String, Value>, name: &str) {
    match old.get(name) {
        Some(value) => fields.insert(name.to_owned(), value.clone()),
        None => fields.remove(name),
    };
}

fn copy_images(fields: &mut Fields, old: &Map<String, Value>, list: &str) {
    let before = old.get(list).and_then(Value::as_array).into_iter().flatten();
    let now = fields.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
    for (now, before) in now.zip(before) {
        if let (Some(container), Some(image)) = (now.as_object_mut(), before.get("image")) {
            container.insert("image".to_owned(), image.clone());
        }
    }
}

// === pods with scheduling gates ===

/// Checks the fields that may also change before a pod can be scheduled: they may only select fewer nodes.
fn check_gated_fields(spec: &PodSpec<'_, '_>, before: &PodSpec<'_, '_>, errors: &mut ErrorList) {
    let (selector, old) = (spec.node_selector(), before.node_selector());
    if old.entries().any(|(key, value)| selector.entry(key).value() != value.value()) {
        let detail = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        errors.push(selector.invalid(detail));
    }
    let (affinity, old) = (spec.affinity(), before.affinity());
    let (affinity, old) = (affinity.node_affinity(), old.node_affinity());
    let (required, old) = (
        affinity.required_during_scheduling_ignored_during_execution(),
        old.required_during_scheduling_ignored_during_execution(),
    );
    let (terms, old) = (required.node_selector_terms(), old.node_selector_terms());
    if old.is_empty() {
        return;
    }
    if old.len() != terms.len() {
        let detail = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        errors.push(terms.invalid_as("[<core.NodeSelectorTerm>", detail));
        return;
    }
    for (term, old) in terms.elements().zip(old.elements()) {
        if !only_adds(&term, &old) {
            errors.push(term.invalid_as("<core.NodeSelectorTerm>", ONLY_ADDITIONS));
        }
    }
}

/// Whether a term has all requirements of the old one, in its order, and perhaps further ones. A term without requirements
/// selects nothing, and must stay so.
fn only_adds(term: &NodeSelectorTerm<'_, '_>, old: &NodeSelectorTerm<'_, '_>) -> bool {
    type Requirements<'v, 'p> = List<NodeSelectorRequirement<'v, 'p>>;
    let has_all = |now: &Requirements<'_, '_>, old: &Requirements<'_, '_>| {
        now.len() >= old.len()
            && now.elements().zip(old.elements()).all(|(now, old)| semantic::equal(now.value(), old.value()))
    };
    let (labels, old_labels) = (term.match_expressions(), old.match_expressions());
    let (fields, old_fields) = (term.match_fields(), old.match_fields());
    if old_labels.is_empty() && old_fields.is_empty() {
        return labels.is_empty() && fields.is_empty();
    }
    has_all(&labels, &old_labels) && has_all(&fields, &old_fields)
}

fn copy_node_affinity(fields: &mut Fields, old: &Map<String, Value>) {
    let before = old.get("affinity").and_then(|affinity| affinity.get("nodeAffinity"));
    let has_none_before = !old.contains_key("affinity");
    match fields.get_mut("affinity").and_then(Value::as_object_mut) {
        None => {
            if let Some(before) = before {
                fields.insert("affinity".to_owned(), json!({ "nodeAffinity": before }));
            }
        }
        Some(affinity) => {
            let only_nodes =
                !affinity.contains_key("podAffinity") && !affinity.contains_key("podAntiAffinity");
            match before {
                Some(before) => {
                    affinity.insert("nodeAffinity".to_owned(), before.clone());
                }
                None => {
                    affinity.remove("nodeAffinity");
                }
            }
            if has_none_before && only_nodes {
                fields.remove("affinity");
            }
        }
    }
}
