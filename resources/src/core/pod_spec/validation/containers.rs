//! Containers: names, images, ports, environment, mounts.

use std::collections::HashSet;

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};
use registry_core::context::ClusterPolicy;

use crate::support::field::Field;

use super::volumes::Volumes;
use super::{ephemeral, handlers, resources};

const PULL_POLICIES: &[&str] = &["Always", "IfNotPresent", "Never"];
const MESSAGE_POLICIES: &[&str] = &["File", "FallbackToLogsOnError"];
const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];

/// The fields that the downward API can expose as environment variables.
const ENVIRONMENT_FIELDS: &[&str] = &[
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
];

/// Checks the containers of a pod spec, init containers included.
pub(super) fn validate(
    policy: ClusterPolicy,
    spec: &Field<'_, '_>,
    volumes: &Volumes<'_>,
    errors: &mut ErrorList,
) {
    let containers = spec.get("containers");
    if containers.len() == 0 {
        errors.push(containers.required(""));
    }
    let around = Around { policy, volumes, host_network: spec.get("hostNetwork").is_true() };
    let mut used = Names::default();
    for container in containers.elements() {
        validate_container(&container, &around, &mut used, errors);
        for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
            handlers::check_probe(&container.get(probe), probe != "readinessProbe", errors);
        }
        handlers::check_lifecycle(&container.get("lifecycle"), errors);
    }
    for container in spec.get("initContainers").elements() {
        validate_container(&container, &around, &mut used, errors);
        validate_init_container(&container, errors);
    }
    let targets = ephemeral::targets(spec);
    for container in spec.get("ephemeralContainers").elements() {
        validate_container(&container, &around, &mut used, errors);
        ephemeral::validate(&container, &targets, errors);
    }
}

/// The parts of the pod that a container is checked against.
struct Around<'v> {
    policy: ClusterPolicy,
    volumes: &'v Volumes<'v>,
    host_network: bool,
}

/// Names and host ports found so far.
#[derive(Default)]
struct Names<'a> {
    containers: HashSet<&'a str>,
    host_ports: HashSet<(&'a str, &'a str, i64)>,
}

fn validate_init_container(container: &Field<'_, '_>, errors: &mut ErrorList) {
    let policy = container.get("restartPolicy");
    policy.check_one_of(&["Always", "Never", "OnFailure"], errors);
    if policy.text() == "Always" {
        for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
            handlers::check_probe(&container.get(probe), probe != "readinessProbe", errors);
        }
        handlers::check_lifecycle(&container.get("lifecycle"), errors);
        return;
    }
    for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
        let field = container.get(field);
        if field.exists() {
            errors.push(field.forbidden("may not be set for init containers without restartPolicy=Always"));
        }
    }
}

fn validate_container<'a>(
    container: &Field<'a, '_>,
    around: &Around<'_>,
    used: &mut Names<'a>,
    errors: &mut ErrorList,
) {
    let name = container.get("name");
    if name.check_present(errors) {
        name.check(names::dns_label, errors);
        if !used.containers.insert(name.text()) {
            errors.push(name.duplicate());
        }
    }
    let image = container.get("image");
    if image.text().is_empty() {
        errors.push(image.required(""));
    } else if image.text().trim() != image.text() {
        errors.push(image.invalid("must not have leading or trailing whitespace"));
    }
    container.get("imagePullPolicy").check_one_of(PULL_POLICIES, errors);
    container.get("terminationMessagePolicy").check_one_of(MESSAGE_POLICIES, errors);
    check_ports(&container.get("ports"), around.host_network, used, errors);
    for variable in container.get("env").elements() {
        check_variable(&variable, errors);
    }
    check_mounts(&container.get("volumeMounts"), around.volumes, errors);
    resources::validate(&container.get("resources"), errors);
    check_security_context(around.policy, &container.get("securityContext"), errors);
}

fn check_ports<'a>(ports: &Field<'a, '_>, host_network: bool, used: &mut Names<'a>, errors: &mut ErrorList) {
    let mut port_names = HashSet::new();
    for port in ports.elements() {
        let name = port.get("name");
        if !name.text().is_empty() {
            check_port_name(&name, errors);
            if !port_names.insert(name.text()) {
                errors.push(name.duplicate());
            }
        }
        let number = port.get("containerPort");
        match number.integer().unwrap_or_default() {
            0 => errors.push(number.required("")),
            _ => number.check_between(1, 65_535, errors),
        }
        port.get("protocol").check_one_of(PROTOCOLS, errors);
        let host_port = port.get("hostPort");
        let Some(wanted) = host_port.integer().filter(|wanted| *wanted != 0) else { continue };
        host_port.check_between(1, 65_535, errors);
        if host_network && Some(wanted) != number.integer() {
            errors.push(host_port.invalid("must match `containerPort` when `hostNetwork` is true"));
        }
        let taken = (port.get("protocol").text(), port.get("hostIP").text(), wanted);
        if !used.host_ports.insert(taken) {
            errors.push(host_port.duplicate());
        }
    }
}

fn check_port_name(name: &Field<'_, '_>, errors: &mut ErrorList) {
    const MAX_CHARACTERS: usize = 15;
    let text = name.text();
    if text.len() > MAX_CHARACTERS {
        errors.push(name.invalid(format!("must be no more than {MAX_CHARACTERS} characters")));
        return;
    }
    if !text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
        errors.push(name.invalid("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"));
    }
    if !text.chars().any(|c| c.is_ascii_lowercase()) {
        errors.push(name.invalid("must contain at least one letter (a-z)"));
    }
    if text.contains("--") {
        errors.push(name.invalid("must not contain consecutive hyphens"));
    }
    if text.starts_with('-') || text.ends_with('-') {
        errors.push(name.invalid("must not begin or end with a hyphen"));
    }
}

fn check_variable(variable: &Field<'_, '_>, errors: &mut ErrorList) {
    let name = variable.get("name");
    let source = variable.get("valueFrom");
    if name.check_present(errors) && !name.text().chars().all(|c| (' '..='~').contains(&c) && c != '=') {
        errors.push(
            name.invalid("a valid environment variable name must consist only of printable ASCII characters other than '='"),
        );
    }
    if !source.exists() {
        return;
    }
    if !variable.get("value").text().is_empty() {
        errors.push(FieldError::invalid(source.path(), "", "may not be specified when `value` is not empty"));
    }
    match source.len() {
        0 => errors.push(FieldError::invalid(
            source.path(),
            "",
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`",
        )),
        1 => {}
        _ => errors.push(FieldError::invalid(
            source.path(),
            "",
            "may not have more than one field specified at a time",
        )),
    }
    let field_path = source.get("fieldRef");
    let field_path = field_path.get("fieldPath");
    if source.get("fieldRef").exists() && field_path.check_present(errors) {
        check_field_path(&field_path, errors);
    }
    for reference in ["configMapKeyRef", "secretKeyRef"] {
        let reference = source.get(reference);
        if reference.exists() {
            reference.get("name").check_present(errors);
            reference.get("key").check_present(errors);
        }
    }
}

fn check_field_path(path: &Field<'_, '_>, errors: &mut ErrorList) {
    let text = path.text();
    let subscripted = ["metadata.labels['", "metadata.annotations['"];
    if subscripted.iter().any(|prefix| text.starts_with(prefix)) && text.ends_with("']") {
        return;
    }
    if !ENVIRONMENT_FIELDS.contains(&text) {
        errors.push(path.invalid(format!("error converting fieldPath: field label not supported: {text}")));
    }
}

fn check_mounts(mounts: &Field<'_, '_>, volumes: &Volumes<'_>, errors: &mut ErrorList) {
    let mut paths = HashSet::new();
    for mount in mounts.elements() {
        let name = mount.get("name");
        let path = mount.get("mountPath");
        if name.check_present(errors) && !volumes.has(name.text()) {
            errors.push(FieldError::not_found(name.path(), name.text()));
        }
        if path.check_present(errors) && !paths.insert(path.text()) {
            errors.push(path.invalid("must be unique"));
        }
        let below = mount.get("subPath");
        if below.text().starts_with('/') {
            errors.push(below.invalid("must be a relative path"));
        } else if below.text().split('/').any(|step| step == "..") {
            errors.push(below.invalid("must not contain '..'"));
        }
    }
}

fn check_security_context(policy: ClusterPolicy, context: &Field<'_, '_>, errors: &mut ErrorList) {
    for id in ["runAsUser", "runAsGroup"] {
        context.get(id).check_between(0, i64::from(i32::MAX), errors);
    }
    let escalation = context.get("allowPrivilegeEscalation");
    if escalation.exists() && !escalation.is_true() && context.get("privileged").is_true() {
        errors
            .push(context.invalid("cannot set `allowPrivilegeEscalation` to false and `privileged` to true"));
    }
    if context.get("privileged").is_true() && !policy.allows_privileged {
        errors.push(context.get("privileged").forbidden("disallowed by cluster policy"));
    }
}
