//! The restarts of containers: their own policies and rules, and the policies of resizes.

use std::collections::HashSet;

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;
use resource_views::List;
use resource_views::core::v1::{Container, ContainerResizePolicy, ContainerRestartRule, PodSpec};

use super::Options;

const POLICIES: &[&str] = &["Always", "Never", "OnFailure"];
const ACTIONS: &[&str] = &["Restart", "RestartAllContainers"];
const OPERATORS: &[&str] = &["In", "NotIn"];
const RESIZE_POLICIES: &[&str] = &["NotRequired", "RestartContainer"];
const MAX_RULES: usize = 20;
const MAX_EXIT_CODES: usize = 255;

/// Checks the policy and the rules of a container.
pub(super) fn check(container: &Container<'_, '_>, errors: &mut ErrorList) {
    let policy = container.restart_policy();
    let rules = container.restart_policy_rules();
    if policy.exists() {
        policy.check_one_of(POLICIES, errors);
    } else if rules.is_empty() {
        return;
    } else {
        errors.push(policy.required("must specify restartPolicy when restart rules are used"));
    }
    check_rules(&rules, errors);
}

/// Checks the policy and the rules of an init container.
pub(super) fn check_of_init(container: &Container<'_, '_>, errors: &mut ErrorList) {
    let policy = container.restart_policy();
    if policy.exists() {
        check(container, errors);
    } else if !container.restart_policy_rules().is_empty() {
        errors.push(policy.required("must specify restartPolicy when restart rules are used"));
    }
}

fn check_rules(rules: &List<ContainerRestartRule<'_, '_>>, errors: &mut ErrorList) {
    rules.check_count(MAX_RULES, errors);
    for rule in rules.elements() {
        let action = rule.action();
        if !ACTIONS.contains(&action.text()) {
            errors.push(action.unsupported(ACTIONS));
        }
        let codes = rule.exit_codes();
        if !codes.exists() {
            errors.push(codes.required("must be specified"));
            continue;
        }
        let operator = codes.operator();
        if !OPERATORS.contains(&operator.text()) {
            errors.push(operator.unsupported(OPERATORS));
        }
        codes.values().check_count(MAX_EXIT_CODES, errors);
    }
}

/// Checks which resizes restart a container. Errors are reported at the list, except for duplicates.
pub(super) fn check_resize_policies(
    policies: &List<ContainerResizePolicy<'_, '_>>,
    spec: &PodSpec<'_, '_>,
    errors: &mut ErrorList,
) {
    let mut seen = HashSet::new();
    for policy in policies.elements() {
        let resource = policy.resource_name().text();
        let restart = policy.restart_policy().text();
        if !seen.insert(resource) {
            errors.push(FieldError::duplicate(policy.path(), resource));
        }
        check_resize_word(policies, resource, &["cpu", "memory"], errors);
        check_resize_word(policies, restart, RESIZE_POLICIES, errors);
        if spec.restart_policy().text() == "Never" && restart != "NotRequired" {
            let detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            errors.push(FieldError::invalid(policies.path(), restart, detail));
        }
    }
}

fn check_resize_word(
    policies: &List<ContainerResizePolicy<'_, '_>>,
    word: &str,
    accepted: &[&str],
    errors: &mut ErrorList,
) {
    if word.is_empty() {
        errors.push(policies.required(""));
    } else if !accepted.contains(&word) {
        errors.push(FieldError::not_supported(policies.path(), word, accepted));
    }
}

/// Checks that no resize restarts an init container, which runs once.
pub(super) fn check_resize_of_init(container: &Container<'_, '_>, options: &Options, errors: &mut ErrorList) {
    if options.tolerates_restarted_init {
        return;
    }
    for policy in container.resize_policy().elements() {
        let restart = policy.restart_policy();
        if restart.text() == "RestartContainer" {
            let detail = "must not be set to 'RestartContainer' for non-sidecar initContainers";
            errors.push(restart.invalid(detail));
        }
    }
}

/// Whether a resize restarts an init container, which runs once.
pub(super) fn has_restarted_init(containers: &List<Container<'_, '_>>) -> bool {
    let restarts =
        |policy: ContainerResizePolicy<'_, '_>| policy.restart_policy().text() == "RestartContainer";
    containers
        .elements()
        .filter(|container| container.restart_policy().text() != "Always")
        .any(|container| container.resize_policy().elements().any(restarts))
}
