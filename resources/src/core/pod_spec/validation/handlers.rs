//! Probes and lifecycle handlers.

use registry_core::api::validation::ErrorList;

use crate::support::field::Field;

/// Checks a probe. Liveness and startup probes require a success threshold of 1.
pub(super) fn check_probe(probe: &Field<'_, '_>, takes_one_success: bool, errors: &mut ErrorList) {
    if !probe.exists() {
        return;
    }
    check_handler(probe, &["exec", "httpGet", "tcpSocket", "grpc"], errors);
    for field in
        ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]
    {
        probe.get(field).check_not_negative(errors);
    }
    let successes = probe.get("successThreshold");
    if takes_one_success && successes.integer().is_some_and(|number| number != 1) {
        errors.push(successes.invalid("must be 1"));
    }
}

/// Checks the lifecycle handlers of a container.
pub(super) fn check_lifecycle(lifecycle: &Field<'_, '_>, errors: &mut ErrorList) {
    for hook in ["postStart", "preStop"] {
        let hook = lifecycle.get(hook);
        if hook.exists() {
            check_handler(&hook, &["exec", "httpGet", "tcpSocket", "sleep"], errors);
        }
    }
}

/// Checks that there is exactly one type of handler, with the fields of that type.
fn check_handler(owner: &Field<'_, '_>, kinds: &[&str], errors: &mut ErrorList) {
    let mut found = 0;
    for kind in kinds {
        let handler = owner.get(kind);
        if !handler.exists() {
            continue;
        }
        found += 1;
        if found > 1 {
            errors.push(handler.forbidden("may not specify more than 1 handler type"));
            continue;
        }
        match *kind {
            "exec" if handler.get("command").len() == 0 => errors.push(handler.get("command").required("")),
            "httpGet" => check_http_get(&handler, errors),
            "tcpSocket" => check_port(&handler.get("port"), errors),
            "grpc" => handler.get("port").check_between(1, 65_535, errors),
            _ => {}
        }
    }
    if found == 0 {
        errors.push(owner.required("must specify a handler type"));
    }
}

fn check_http_get(handler: &Field<'_, '_>, errors: &mut ErrorList) {
    handler.get("path").check_present(errors);
    check_port(&handler.get("port"), errors);
    handler.get("scheme").check_one_of(&["HTTP", "HTTPS"], errors);
}

fn check_port(port: &Field<'_, '_>, errors: &mut ErrorList) {
    if port.integer().is_some() {
        port.check_between(1, 65_535, errors);
    } else if port.text().is_empty() {
        errors.push(port.invalid("must be between 1 and 65535, inclusive"));
    }
}
