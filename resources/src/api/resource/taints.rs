//! Taints of devices, tolerations of them, and the conditions that bind devices.

use std::collections::HashSet;

use registry_core::api::validation::{ErrorList, names};
use resource_views::resource::v1::{DeviceTaint, DeviceToleration};
use resource_views::{List, Text};

/// Maximum number of taints of a device.
const MAX_TAINTS: usize = 16;
/// Maximum number of conditions of each kind.
const MAX_CONDITIONS: usize = 4;

const EFFECTS: [&str; 3] = ["NoExecute", "NoSchedule", "None"];

/// Checks the taints of a device.
pub(super) fn check_taints(taints: &List<DeviceTaint<'_, '_>>, errors: &mut ErrorList) {
    if !taints.check_count(MAX_TAINTS, errors) {
        return;
    }
    for taint in taints.elements() {
        check_taint(&taint, None, errors);
    }
}

/// Checks a taint. The effect that it had before an update is tolerated.
pub(super) fn check_taint(taint: &DeviceTaint<'_, '_>, known_effect: Option<&str>, errors: &mut ErrorList) {
    taint.key().check(names::qualified_name, errors);
    taint.value().check_if_set(names::label_value, errors);
    let effect = taint.effect();
    if known_effect != Some(effect.text()) {
        effect.check_word(&EFFECTS, errors);
    }
}

/// Checks the tolerations of a request.
pub(super) fn check_tolerations(tolerations: &List<DeviceToleration<'_, '_>>, errors: &mut ErrorList) {
    for toleration in tolerations.elements() {
        toleration.key().check_if_set(names::qualified_name, errors);
        let operator = toleration.operator();
        let value = toleration.value();
        match operator.text() {
            "Exists" if !value.text().is_empty() => {
                errors.push(value.invalid("must be empty for operator `Exists`"));
            }
            "Exists" => {}
            "Equal" => value.check(names::label_value, errors),
            _ => operator.check_word(&["Equal", "Exists"], errors),
        }
        let effect = toleration.effect();
        if !effect.text().is_empty() {
            effect.check_one_of(&EFFECTS, errors);
        }
    }
}

/// Checks the conditions that must hold before pods are bound to a device, and those that mean failure.
pub(super) fn check_binding_conditions(
    binding: &List<Text<'_, '_>>,
    failure: &List<Text<'_, '_>>,
    errors: &mut ErrorList,
) {
    if binding.is_empty() && failure.is_empty() {
        return;
    }
    for conditions in [binding, failure] {
        if conditions.check_count(MAX_CONDITIONS, errors) {
            for condition in conditions.elements() {
                condition.check(names::qualified_name, errors);
            }
        }
    }
    binding.check_unique_texts(errors);
    let needed: HashSet<&str> = binding.texts().collect();
    let mut seen = HashSet::new();
    for condition in failure.elements() {
        if !seen.insert(condition.text()) {
            errors.push(condition.duplicate());
        }
        if needed.contains(condition.text()) {
            errors
                .push(condition.invalid("bindingFailureConditions must not overlap with bindingConditions"));
        }
    }
    if binding.is_empty() {
        errors.push(binding.invalid("bindingConditions are required to use bindingFailureConditions"));
    }
    if failure.is_empty() {
        errors.push(failure.invalid("bindingFailureConditions are required to use bindingConditions"));
    }
}
