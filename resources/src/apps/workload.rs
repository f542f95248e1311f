//! What controllers of pods share: replicas, selectors, templates.

use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, Object};

use crate::core::pod_spec::validation;
use crate::field::Field;
use crate::label_selector;

/// Checks `spec.selector` and `spec.template` against each other, and each alone.
pub(crate) fn check_selector_and_template(object: &Object, errors: &mut ErrorList) {
    let spec = Field::of(object, "spec");
    let selector = spec.get("selector");
    if selector.exists() {
        label_selector::check(&selector, errors);
        if selector.get("matchLabels").len() + selector.get("matchExpressions").len() == 0 {
            errors.push(selector.invalid("empty selector is invalid for deployment"));
        }
    } else {
        errors.push(selector.required(""));
    }
    let template = spec.get("template");
    let metadata = template.get("metadata");
    let labels = metadata.get("labels");
    if !label_selector::selects(object, &["spec", "selector"], &["spec", "template", "metadata", "labels"]) {
        errors.push(labels.invalid("`selector` does not match template `labels`"));
    }
    check_template(&template, errors);
}

/// Checks a pod template whose pods are to run for ever.
pub(crate) fn check_template(template: &Field<'_, '_>, errors: &mut ErrorList) {
    let metadata = template.get("metadata");
    label_selector::check_labels(&metadata.get("labels"), errors);
    let spec = template.get("spec");
    let policy = spec.get("restartPolicy");
    let mut own = validation::validate(&spec);
    if !matches!(policy.text(), "Always" | "") {
        own.0.retain(|error| error.field != policy.path());
        own.push(FieldError::not_supported(policy.path(), policy.text(), &["Always"]));
    }
    // A template without a spec has one thing wrong with it, not two.
    if !policy.exists() {
        own.0.retain(|error| error.field != policy.path());
    }
    errors.append(own);
    let deadline = spec.get("activeDeadlineSeconds");
    if deadline.exists() {
        errors.push(deadline.forbidden("activeDeadlineSeconds in ReplicaSet is not Supported"));
    }
}
