//! Probes and lifecycle handlers.

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;
use resource_views::core::v1::{
    Container, ExecAction, HTTPGetAction, LifecycleHandler, PodSpec, Probe, SleepAction, TCPSocketAction,
};

use super::{stop_signals, text_rules};
use crate::support::choice::Choice;
use crate::support::port_number;

const SECOND: &str = "may not specify more than 1 handler type";

/// Checks the probes and the lifecycle handlers of a container. The spec has the time that it has to end.
pub(super) fn check(container: &Container<'_, '_>, spec: &PodSpec<'_, '_>, errors: &mut ErrorList) {
    let grace = spec.termination_grace_period_seconds().integer();
    let lifecycle = container.lifecycle();
    for hook in [lifecycle.post_start(), lifecycle.pre_stop()] {
        check_hook(&hook, grace, errors);
    }
    stop_signals::check(&lifecycle, spec, errors);
    check_probe(&container.liveness_probe(), false, errors);
    check_probe(&container.readiness_probe(), true, errors);
    check_probe(&container.startup_probe(), false, errors);
}

/// Checks that a probe has one handler, and its numbers.
fn check_probe(probe: &Probe<'_, '_>, is_of_readiness: bool, errors: &mut ErrorList) {
    if !probe.exists() {
        return;
    }
    let mut handlers = Choice::new(SECOND, errors);
    handlers.check(probe.exec(), check_exec);
    handlers.check(probe.http_get(), check_http_get);
    handlers.check(probe.tcp_socket(), check_tcp_socket);
    handlers.check(probe.grpc(), |grpc, errors| port_number::check(&grpc.port(), errors));
    handlers.require(probe, "must specify a handler type");
    for number in [
        probe.initial_delay_seconds(),
        probe.timeout_seconds(),
        probe.period_seconds(),
        probe.success_threshold(),
        probe.failure_threshold(),
    ] {
        number.check_not_negative(errors);
    }
    let own_grace = probe.termination_grace_period_seconds();
    if own_grace.integer().is_some_and(|seconds| seconds <= 0) {
        errors.push(own_grace.invalid("must be greater than 0"));
    }
    let successes = probe.success_threshold();
    if is_of_readiness && own_grace.exists() {
        errors.push(own_grace.invalid("must not be set for readinessProbes"));
    } else if !is_of_readiness && successes.number() != 1 {
        errors.push(successes.invalid("must be 1"));
    }
}

/// Checks that a lifecycle hook has one handler.
fn check_hook(hook: &LifecycleHandler<'_, '_>, grace: Option<i64>, errors: &mut ErrorList) {
    if !hook.exists() {
        return;
    }
    let mut handlers = Choice::new(SECOND, errors);
    handlers.check(hook.exec(), check_exec);
    handlers.check(hook.http_get(), check_http_get);
    handlers.check(hook.tcp_socket(), check_tcp_socket);
    handlers.check(hook.sleep(), |sleep, errors| check_sleep(sleep, grace, errors));
    handlers.require(hook, "must specify a handler type");
}

fn check_exec(action: &ExecAction<'_, '_>, errors: &mut ErrorList) {
    action.command().check_not_empty(errors);
}

fn check_http_get(action: &HTTPGetAction<'_, '_>, errors: &mut ErrorList) {
    action.path().check_present(errors);
    text_rules::check_port_or_name(&action.port(), errors);
    action.scheme().check_one_of(&["HTTP", "HTTPS"], errors);
    let headers = action.http_headers();
    for header in headers.elements() {
        let name = header.name().text();
        for complaint in text_rules::header_name(name) {
            errors.push(FieldError::invalid(headers.path(), name, complaint));
        }
    }
}

fn check_tcp_socket(action: &TCPSocketAction<'_, '_>, errors: &mut ErrorList) {
    text_rules::check_port_or_name(&action.port(), errors);
}

fn check_sleep(action: &SleepAction<'_, '_>, grace: Option<i64>, errors: &mut ErrorList) {
    let seconds = action.seconds().number();
    if let Some(grace) = grace.filter(|grace| seconds < 0 || seconds > *grace) {
        let detail = format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
        errors.push(FieldError::invalid(action.path(), seconds, detail));
    }
}
