//! Rules that the workload controllers share: replicas, selectors, templates, amounts, statuses.

use registry_core::RequestContext;
use registry_core::api::selector::LabelSelector;
use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, Object};

use crate::core::pod_spec::validation;
use crate::support::field::{Field, ShownAsGo as _};
use crate::support::go_text::LABEL_SELECTOR;
use crate::support::label_selector;

/// Names of a workload kind in messages.
#[derive(Clone, Copy)]
pub(crate) struct Workload {
    /// The name in messages about an empty selector.
    selector_of: &'static str,
    /// The message about a selector that cannot be read, beside those about its parts. Without one, the template is checked
    /// nevertheless.
    unreadable_selector: Option<&'static str>,
    /// The name in messages about a deadline of the pods.
    deadline_of: &'static str,
    /// Whether a missing selector is an error by itself, apart from that it selects no pods.
    needs_selector: bool,
}

impl Workload {
    /// Deployments.
    pub(crate) const DEPLOYMENT: Self = Self {
        selector_of: "deployment",
        unreadable_selector: Some("invalid label selector"),
        deadline_of: "ReplicaSet",
        needs_selector: true,
    };
    /// Replica sets; their messages name deployments.
    pub(crate) const REPLICA_SET: Self = Self::DEPLOYMENT;
    /// Stateful sets.
    pub(crate) const STATEFUL_SET: Self = Self {
        selector_of: "statefulset",
        unreadable_selector: Some(""),
        deadline_of: "StatefulSet",
        needs_selector: true,
    };
    /// Daemon sets.
    pub(crate) const DAEMON_SET: Self = Self {
        selector_of: "daemonset",
        unreadable_selector: None,
        deadline_of: "DaemonSet",
        needs_selector: false,
    };
    /// Replication controllers.
    pub(crate) const REPLICATION_CONTROLLER: Self = Self {
        selector_of: "replicationcontroller",
        unreadable_selector: Some("invalid label selector"),
        deadline_of: "ReplicationController",
        needs_selector: true,
    };
}

/// The internal type of selectors.
pub(crate) const SELECTOR: &str = "*<metav1.LabelSelector>";

/// Checks `spec.selector` and `spec.template`, each alone and against each other; `old` is the object before an update.
pub(crate) fn check_selector_and_template(
    context: &RequestContext,
    object: &Object,
    old: Option<&Object>,
    workload: Workload,
    errors: &mut ErrorList,
) {
    if check_selector(object, workload, errors) {
        let (spec, old) = (Field::of(object, "spec"), old.map(|old| Field::of(old, "spec")));
        let old = old.as_ref().map(|old| old.get("template"));
        check_template(context, &spec.get("template"), old.as_ref(), workload, errors);
    }
}

/// Checks `spec.selector`, alone and against the labels of the template; returns whether it can select.
pub(crate) fn check_selector(object: &Object, workload: Workload, errors: &mut ErrorList) -> bool {
    let spec = Field::of(object, "spec");
    let selector = spec.get("selector");
    let given = selector.value().filter(|selector| !selector.is_null());
    if given.is_some() {
        label_selector::check(&selector, errors);
        if selector.get("matchLabels").len() + selector.get("matchExpressions").len() == 0 {
            errors.push(selector.invalid(format!("empty selector is invalid for {}", workload.selector_of)));
        }
    } else if workload.needs_selector {
        errors.push(selector.required(""));
    }
    if given.is_some_and(|selector| LabelSelector::from_object(selector).is_err()) {
        let Some(detail) = workload.unreadable_selector else { return true };
        errors.push(selector.invalid(detail).shown_as(selector.go_text(LABEL_SELECTOR)));
        return false;
    }
    let template = spec.get("template");
    let metadata = template.get("metadata");
    let labels = metadata.get("labels");
    if !label_selector::selects(object, &["spec", "selector"], &["spec", "template", "metadata", "labels"]) {
        errors.push(labels.invalid("`selector` does not match template `labels`"));
    }
    true
}

/// Checks the template of pods that run indefinitely; `old` is what it was, if it changes.
pub(crate) fn check_template(
    context: &RequestContext,
    template: &Field<'_, '_>,
    old: Option<&Field<'_, '_>>,
    workload: Workload,
    errors: &mut ErrorList,
) {
    validation::check_template(context, template, old, errors);
    check_run_forever(template, workload, errors);
}

/// Checks that the pods of a template run indefinitely.
pub(crate) fn check_run_forever(template: &Field<'_, '_>, workload: Workload, errors: &mut ErrorList) {
    let spec = template.get("spec");
    let policy = spec.get("restartPolicy");
    if policy.text() != "Always" {
        errors.push(policy.unsupported(&["Always"]));
    }
    let deadline = spec.get("activeDeadlineSeconds");
    if deadline.exists() {
        errors.push(
            deadline.forbidden(format!("activeDeadlineSeconds in {} is not Supported", workload.deadline_of)),
        );
    }
}

/// Checks a count or a percentage.
pub(crate) fn check_amount(field: &Field<'_, '_>, errors: &mut ErrorList) {
    if field.integer().is_some() {
        field.check_not_negative(errors);
    } else if field.exists() && percent(field).is_none() {
        let detail = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
        errors.push(FieldError::invalid(field.path(), field.text(), detail));
    }
}

/// Returns the number of a percentage.
pub(crate) fn percent(field: &Field<'_, '_>) -> Option<u64> {
    field
        .text()
        .strip_suffix('%')
        .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?
        .parse()
        .ok()
}

/// Whether an amount is zero.
pub(crate) fn is_zero(field: &Field<'_, '_>) -> bool {
    field.integer() == Some(0) || percent(field) == Some(0)
}

/// Whether an amount is more than nothing; a text that is no percentage counts as nothing.
pub(crate) fn is_some(field: &Field<'_, '_>) -> bool {
    field.number() != 0 || percent(field).is_some_and(|percent| percent != 0)
}

/// Checks the numbers of a status: none is negative, none of `shares` exceeds `replicas`, and available replicas are
/// ready.
///
/// `ready_name` is the name of the number of ready replicas in messages.
pub(crate) fn check_status(
    object: &Object,
    shares: &[&str],
    others: &[&str],
    ready_name: &str,
    errors: &mut ErrorList,
) {
    let status = Field::of(object, "status");
    let replicas = status.get("replicas");
    for name in ["replicas", "observedGeneration"].iter().chain(shares).chain(others) {
        status.get(name).check_not_negative(errors);
    }
    let number = |field: &Field<'_, '_>| field.integer().unwrap_or_default();
    let exceeds = |field: &Field<'_, '_>, what: &str| {
        FieldError::invalid(field.path(), number(field), format!("cannot be greater than {what}"))
    };
    for share in shares.iter().map(|name| status.get(name)) {
        if number(&share) > number(&replicas) {
            errors.push(exceeds(&share, "status.replicas"));
        }
    }
    let available = status.get("availableReplicas");
    let ready = status.get("readyReplicas");
    if number(&available) > number(&ready) {
        errors.push(exceeds(&available, ready_name));
    }
}

/// Checks that the count of hash collisions does not decrease.
pub(crate) fn check_collisions(new: &Object, old: &Object, errors: &mut ErrorList) {
    let (status, before) = (Field::of(new, "status"), old.get_i64(&["status", "collisionCount"]));
    let count = status.get("collisionCount");
    count.check_not_negative(errors);
    let Some(before) = before else { return };
    if count.integer().is_none_or(|now| now < before) {
        errors.push(FieldError::invalid(count.path(), count.number(), "cannot be decremented"));
    }
}
