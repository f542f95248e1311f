//! Probes, lifecycle handlers and stop signals.

use registry_core::api::validation::ErrorList;

use super::text_rules;
use crate::support::field::Field;

/// The probes of a container.
pub(super) const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];

/// Checks the probes and the lifecycle handlers of a container. `grace` is the time that it has to end.
pub(super) fn check(container: &Field<'_, '_>, spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let grace = spec.get("terminationGracePeriodSeconds").integer();
    let lifecycle = container.get("lifecycle");
    for hook in ["postStart", "preStop"] {
        let hook = lifecycle.get(hook);
        if hook.exists() {
            check_handler(&hook, grace, errors);
        }
    }
    for probe in PROBES {
        let is_of_readiness = probe == "readinessProbe";
        let probe = container.get(probe);
        if probe.exists() {
            check_probe(&probe, is_of_readiness, grace, errors);
        }
    }
}

fn check_probe(probe: &Field<'_, '_>, is_of_readiness: bool, grace: Option<i64>, errors: &mut ErrorList) {
    check_handler(probe, grace, errors);
    for number in
        ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]
    {
        probe.get(number).check_not_negative(errors);
    }
    let own_grace = probe.get("terminationGracePeriodSeconds");
    if own_grace.integer().is_some_and(|seconds| seconds <= 0) {
        errors.push(own_grace.invalid("must be greater than 0"));
    }
    let successes = probe.get("successThreshold");
    if is_of_readiness && own_grace.exists() {
        errors.push(own_grace.invalid("must not be set for readinessProbes"));
    } else if !is_of_readiness && successes.number() != 1 {
        errors.push(successes.invalid("must be 1"));
    }
}

/// Checks that there is exactly one kind of handler, with the fields of that kind. Probes do not have `sleep`, lifecycle
/// handlers do not have `grpc`.
fn check_handler(owner: &Field<'_, '_>, grace: Option<i64>, errors: &mut ErrorList) {
    let mut found = 0;
    for kind in ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] {
        let handler = owner.get(kind);
        if !handler.exists() {
            continue;
        }
        found += 1;
        if found > 1 {
            errors.push(handler.forbidden("may not specify more than 1 handler type"));
            continue;
        }
        match kind {
            "exec" => handler.get("command").check_not_empty(errors),
            "httpGet" => check_http_get(&handler, errors),
            "grpc" => text_rules::check_port_number(&handler.get("port"), errors),
            "sleep" => check_sleep(&handler, grace, errors),
            _ => text_rules::check_port_or_name(&handler.get("port"), errors),
        }
    }
    if found == 0 {
        errors.push(owner.required("must specify a handler type"));
    }
}

fn check_http_get(action: &Field<'_, '_>, errors: &mut ErrorList) {
    action.get("path").check_present(errors);
    text_rules::check_port_or_name(&action.get("port"), errors);
    action.get("scheme").check_one_of(&["HTTP", "HTTPS"], errors);
    let headers = action.get("httpHeaders");
    for header in headers.elements() {
        let name = header.get("name").text();
        for complaint in text_rules::header_name(name) {
            errors.push(registry_core::api::FieldError::invalid(headers.path(), name, complaint));
        }
    }
}

fn check_sleep(action: &Field<'_, '_>, grace: Option<i64>, errors: &mut ErrorList) {
    let seconds = action.get("seconds").number();
    if let Some(grace) = grace.filter(|grace| seconds < 0 || seconds > *grace) {
        let detail = format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
        errors.push(registry_core::api::FieldError::invalid(action.path(), seconds, detail));
    }
}
