//! Containers, init containers and ephemeral containers.

use std::collections::HashSet;

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};
use resource_views::core::v1::{Container, ContainerPort, PodSpec};
use resource_views::{List, View};

use super::resource_claims::ClaimNames;
use super::volumes::Volumes;
use super::{Options, environment, mounts, probes, resources, restarts, security_context, text_rules};

const MESSAGE_POLICIES: &[&str] = &["File", "FallbackToLogsOnError"];
const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];
const NOT_EPHEMERAL: &str = "cannot be set for an Ephemeral Container";

/// The parts of a pod that its containers are checked against.
pub(super) struct Surroundings<'v, 'p> {
    pub(super) spec: &'p PodSpec<'v, 'p>,
    pub(super) options: &'p Options,
    pub(super) volumes: &'p Volumes<'v>,
    pub(super) claims: &'p ClaimNames<'v>,
    pub(super) uses_host_users: bool,
}

// === impl Surroundings ===

impl<'v> Surroundings<'v, '_> {
    /// Checks all containers.
    pub(super) fn check(&self, errors: &mut ErrorList) {
        let containers = self.spec.containers();
        containers.check_not_empty(errors);
        let mut container_names = HashSet::new();
        for container in containers.elements() {
            self.check_common(&container, errors);
            let name = container.name();
            if !container_names.insert(name.text()) {
                errors.push(name.duplicate());
            }
            probes::check(&container, self.spec, errors);
            restarts::check(&container, errors);
        }
        let mut taken = HashSet::new();
        for container in containers.elements() {
            check_host_ports(&container.ports(), &mut taken, errors);
        }
        self.check_init_containers(container_names, errors);
        self.check_ephemeral_containers(errors);
    }

    fn check_init_containers(&self, mut container_names: HashSet<&'v str>, errors: &mut ErrorList) {
        let list = self.spec.init_containers();
        for container in list.elements() {
            self.check_common(&container, errors);
            restarts::check_of_init(&container, errors);
            let name = container.name();
            if container_names.contains(name.text()) {
                errors.push(name.duplicate());
            } else if !name.text().is_empty() {
                container_names.insert(name.text());
            }
            // Init containers run one by one, so each may have the same ports. The path is always that of the first.
            let ports = container.ports();
            check_own_host_ports(&list, &ports, errors);
            if container.restart_policy().text() == "Always" {
                probes::check(&container, self.spec, errors);
                continue;
            }
            let (live, ready) = (container.liveness_probe(), container.readiness_probe());
            for field in [*container.lifecycle(), *live, *ready, *container.startup_probe()] {
                let detail = "may not be set for init containers without restartPolicy=Always";
                field.check_absent(detail, errors);
            }
            restarts::check_resize_of_init(&container, self.options, errors);
        }
    }

    fn check_ephemeral_containers(&self, errors: &mut ErrorList) {
        let list = self.spec.ephemeral_containers();
        if list.is_empty() {
            return;
        }
        let (main, init) = (self.spec.containers(), self.spec.init_containers());
        let others: HashSet<&str> =
            main.elements().chain(init.elements()).map(|container| container.name().text()).collect();
        let mut all = others.clone();
        for ephemeral in list.elements() {
            let container = ephemeral.into();
            self.check_common(&container, errors);
            check_image_spaces(&container, errors);
            let name = container.name();
            if !all.insert(name.text()) {
                errors.push(name.duplicate());
            }
            let target = ephemeral.target_container_name();
            if !target.text().is_empty() && !others.contains(target.text()) {
                errors.push(target.not_found());
            }
            check_ephemeral_fields(&container, errors);
        }
    }

    /// Checks what all kinds of containers have in common.
    fn check_common(&self, container: &Container<'v, '_>, errors: &mut ErrorList) {
        container.name().check_named(names::dns_label, errors);
        container.image().check_present(errors);
        container.termination_message_policy().check_word(MESSAGE_POLICIES, errors);
        check_ports(&container.ports(), errors);
        environment::check_variables(&container.env(), errors);
        environment::check_bulk_sources(&container.env_from(), errors);
        mounts::check(container, self.volumes, errors);
        text_rules::check_pull_policy(&container.image_pull_policy(), errors);
        resources::check_container(&container.resources(), self.claims, self.options, errors);
        restarts::check_resize_policies(&container.resize_policy(), self.spec, errors);
        let context = container.security_context();
        security_context::check_container(&context, self.options, self.uses_host_users, errors);
    }
}

/// Checks that the name of an image neither begins nor ends with a space. Templates may have such images, which are
/// replaced.
pub(super) fn check_image_spaces(container: &Container<'_, '_>, errors: &mut ErrorList) {
    let image = container.image();
    if image.text().trim() != image.text() {
        errors.push(image.invalid("must not have leading or trailing whitespace"));
    }
}

// === ephemeral containers ===

fn check_ephemeral_fields(container: &Container<'_, '_>, errors: &mut ErrorList) {
    let absent: [View<'_, '_>; 8] = [
        *container.ports(),
        *container.resize_policy(),
        *container.restart_policy(),
        *container.restart_policy_rules(),
        *container.lifecycle(),
        *container.liveness_probe(),
        *container.readiness_probe(),
        *container.startup_probe(),
    ];
    for field in absent {
        field.check_absent(NOT_EPHEMERAL, errors);
    }
    let resources = container.resources();
    if !resources.has_no_fields() {
        errors.push(resources.forbidden(NOT_EPHEMERAL));
    }
    for mount in container.volume_mounts().elements() {
        for field in [mount.sub_path(), mount.sub_path_expr()] {
            if !field.text().is_empty() {
                errors.push(field.forbidden(NOT_EPHEMERAL));
            }
        }
    }
}

// === ports ===

fn check_ports(ports: &List<ContainerPort<'_, '_>>, errors: &mut ErrorList) {
    let mut port_names = HashSet::new();
    for port in ports.elements() {
        let name = port.name();
        if !name.text().is_empty() {
            let complaints = names::port_name(name.text());
            if complaints.is_empty() && !port_names.insert(name.text()) {
                errors.push(name.duplicate());
            }
            for complaint in complaints {
                errors.push(name.invalid(complaint));
            }
        }
        let number = port.container_port();
        match number.number() {
            0 => errors.push(number.required("")),
            _ => number.check_port(errors),
        }
        let host_port = port.host_port();
        if host_port.number() != 0 {
            host_port.check_port(errors);
        }
        port.protocol().check_word(PROTOCOLS, errors);
    }
}

/// Checks that no host port is used twice.
fn check_host_ports<'v>(
    ports: &List<ContainerPort<'v, '_>>,
    taken: &mut HashSet<(&'v str, &'v str, i64)>,
    errors: &mut ErrorList,
) {
    for port in ports.elements() {
        let host_port = port.host_port();
        let (protocol, address) = (port.protocol().text(), port.host_ip().text());
        let number = host_port.number();
        if number != 0 && !taken.insert((protocol, address, number)) {
            errors.push(FieldError::duplicate(host_port.path(), format!("{protocol}/{address}/{number}")));
        }
    }
}

/// Checks that an init container uses no host port twice. Errors are reported at the first init container.
fn check_own_host_ports(
    list: &List<Container<'_, '_>>,
    ports: &List<ContainerPort<'_, '_>>,
    errors: &mut ErrorList,
) {
    let mut taken = HashSet::new();
    for (place, port) in ports.elements().enumerate() {
        let (protocol, address) = (port.protocol().text(), port.host_ip().text());
        let number = port.host_port().number();
        if number != 0 && !taken.insert((protocol, address, number)) {
            let path = list.path().index(0).child("ports").index(place).child("hostPort");
            errors.push(FieldError::duplicate(path, format!("{protocol}/{address}/{number}")));
        }
    }
}

/// Checks that containers in the network of the host use the same port there. In a template, the host's may be unset.
pub(super) fn check_host_network(spec: &PodSpec<'_, '_>, options: &Options, errors: &mut ErrorList) {
    if !spec.host_network().is_true() {
        return;
    }
    for container in spec.containers().elements() {
        for port in container.ports().elements() {
            let on_host = port.host_port();
            let number = on_host.number();
            if (options.is_pod || number != 0) && number != port.container_port().number() {
                let detail = "must match `containerPort` when `hostNetwork` is true";
                errors.push(FieldError::invalid(on_host.path(), number, detail));
            }
        }
    }
}
