//! Containers, init containers and ephemeral containers.

use std::collections::HashSet;

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};

use super::probes::{self, PROBES};
use super::resource_claims::ClaimNames;
use super::volumes::Volumes;
use super::{Options, environment, mounts, resources, restarts, security_context};
use crate::support::field::Field;

/// The accepted policies for pulling images.
pub(super) const PULL_POLICIES: &[&str] = &["Always", "IfNotPresent", "Never"];
const MESSAGE_POLICIES: &[&str] = &["File", "FallbackToLogsOnError"];
const PROTOCOLS: &[&str] = &["SCTP", "TCP", "UDP"];
const NOT_EPHEMERAL: &str = "cannot be set for an Ephemeral Container";

/// Fields that ephemeral containers do not have, and that other containers have.
const FIELDS_NOT_EPHEMERAL: [&str; 5] =
    ["ports", "resizePolicy", "restartPolicy", "restartPolicyRules", "lifecycle"];

/// The parts of a pod that its containers are checked against.
pub(super) struct Surroundings<'v, 'p> {
    pub(super) spec: &'p Field<'v, 'p>,
    pub(super) options: &'p Options,
    pub(super) volumes: &'p Volumes<'v>,
    pub(super) claims: &'p ClaimNames<'v>,
    pub(super) uses_host_users: bool,
}

// === impl Surroundings ===

impl<'v> Surroundings<'v, '_> {
    /// Checks all containers.
    pub(super) fn check(&self, errors: &mut ErrorList) {
        let containers = self.spec.get("containers");
        containers.check_not_empty(errors);
        let mut container_names = HashSet::new();
        for container in containers.elements() {
            self.check_common(&container, errors);
            let name = container.get("name");
            if !container_names.insert(name.text()) {
                errors.push(name.duplicate());
            }
            probes::check(&container, self.spec, errors);
            restarts::check(&container, errors);
        }
        let mut taken = HashSet::new();
        for container in containers.elements() {
            check_host_ports(&container.get("ports"), &mut taken, errors);
        }
        self.check_init_containers(container_names, errors);
        self.check_ephemeral_containers(errors);
    }

    fn check_init_containers(&self, mut container_names: HashSet<&'v str>, errors: &mut ErrorList) {
        let list = self.spec.get("initContainers");
        for container in list.elements() {
            self.check_common(&container, errors);
            restarts::check_of_init(&container, errors);
            let name = container.get("name");
            if container_names.contains(name.text()) {
                errors.push(name.duplicate());
            } else if !name.text().is_empty() {
                container_names.insert(name.text());
            }
            // Init containers run one by one, so each may have the same ports. The path is always that of the first.
            let ports = container.get("ports");
            check_own_host_ports(&list, &ports, errors);
            if container.get("restartPolicy").text() == "Always" {
                probes::check(&container, self.spec, errors);
                continue;
            }
            for field in ["lifecycle"].iter().chain(&PROBES) {
                let detail = "may not be set for init containers without restartPolicy=Always";
                container.get(field).check_absent(detail, errors);
            }
            restarts::check_resize_of_init(&container, self.options, errors);
        }
    }

    fn check_ephemeral_containers(&self, errors: &mut ErrorList) {
        let list = self.spec.get("ephemeralContainers");
        if list.is_empty() {
            return;
        }
        let (main, init) = (self.spec.get("containers"), self.spec.get("initContainers"));
        let others: HashSet<&str> =
            main.elements().chain(init.elements()).map(|container| container.get("name").text()).collect();
        let mut all = others.clone();
        for container in list.elements() {
            self.check_common(&container, errors);
            check_image_spaces(&container, errors);
            let name = container.get("name");
            if !all.insert(name.text()) {
                errors.push(name.duplicate());
            }
            let target = container.get("targetContainerName");
            if !target.text().is_empty() && !others.contains(target.text()) {
                errors.push(target.not_found());
            }
            check_ephemeral_fields(&container, errors);
        }
    }

    /// Checks what all kinds of containers have in common.
    fn check_common(&self, container: &Field<'v, '_>, errors: &mut ErrorList) {
        container.get("name").check_named(names::dns_label, errors);
        container.get("image").check_present(errors);
        container.get("terminationMessagePolicy").check_word(MESSAGE_POLICIES, errors);
        check_ports(&container.get("ports"), errors);
        environment::check_variables(&container.get("env"), errors);
        environment::check_bulk_sources(&container.get("envFrom"), errors);
        mounts::check(container, self.volumes, errors);
        container.get("imagePullPolicy").check_word(PULL_POLICIES, errors);
        resources::check_container(&container.get("resources"), self.claims, self.options, errors);
        restarts::check_resize_policies(&container.get("resizePolicy"), self.spec, errors);
        let context = container.get("securityContext");
        security_context::check_container(&context, self.options, self.uses_host_users, errors);
    }
}

/// Checks that the name of an image neither begins nor ends with a space. Templates may have such images, which are
/// replaced.
pub(super) fn check_image_spaces(container: &Field<'_, '_>, errors: &mut ErrorList) {
    let image = container.get("image");
    if image.text().trim() != image.text() {
        errors.push(image.invalid("must not have leading or trailing whitespace"));
    }
}

// === ephemeral containers ===

fn check_ephemeral_fields(container: &Field<'_, '_>, errors: &mut ErrorList) {
    for field in FIELDS_NOT_EPHEMERAL.iter().chain(&PROBES) {
        container.get(field).check_absent(NOT_EPHEMERAL, errors);
    }
    let resources = container.get("resources");
    if !resources.is_empty() {
        errors.push(resources.forbidden(NOT_EPHEMERAL));
    }
    for mount in container.get("volumeMounts").elements() {
        for field in ["subPath", "subPathExpr"] {
            let field = mount.get(field);
            if !field.text().is_empty() {
                errors.push(field.forbidden(NOT_EPHEMERAL));
            }
        }
    }
}

// === ports ===

fn check_ports(ports: &Field<'_, '_>, errors: &mut ErrorList) {
    let mut port_names = HashSet::new();
    for port in ports.elements() {
        let name = port.get("name");
        if !name.text().is_empty() {
            let complaints = names::port_name(name.text());
            if complaints.is_empty() && !port_names.insert(name.text()) {
                errors.push(name.duplicate());
            }
            for complaint in complaints {
                errors.push(name.invalid(complaint));
            }
        }
        let number = port.get("containerPort");
        match number.number() {
            0 => errors.push(number.required("")),
            _ => number.check_port(errors),
        }
        let host_port = port.get("hostPort");
        if host_port.number() != 0 {
            host_port.check_port(errors);
        }
        port.get("protocol").check_word(PROTOCOLS, errors);
    }
}

/// Checks that no host port is used twice.
fn check_host_ports<'v>(
    ports: &Field<'v, '_>,
    taken: &mut HashSet<(&'v str, &'v str, i64)>,
    errors: &mut ErrorList,
) {
    for port in ports.elements() {
        let host_port = port.get("hostPort");
        let (protocol, address) = (port.get("protocol").text(), port.get("hostIP").text());
        let number = host_port.number();
        if number != 0 && !taken.insert((protocol, address, number)) {
            errors.push(FieldError::duplicate(host_port.path(), format!("{protocol}/{address}/{number}")));
        }
    }
}

/// Checks that an init container uses no host port twice. Errors are reported at the first init container.
fn check_own_host_ports(list: &Field<'_, '_>, ports: &Field<'_, '_>, errors: &mut ErrorList) {
    let mut taken = HashSet::new();
    for (place, port) in ports.elements().enumerate() {
        let (protocol, address) = (port.get("protocol").text(), port.get("hostIP").text());
        let number = port.get("hostPort").number();
        if number != 0 && !taken.insert((protocol, address, number)) {
            let path = list.path().index(0).child("ports").index(place).child("hostPort");
            errors.push(FieldError::duplicate(path, format!("{protocol}/{address}/{number}")));
        }
    }
}

/// Checks that containers in the network of the host use the same port there. In a template, the host's may be unset.
pub(super) fn check_host_network(spec: &Field<'_, '_>, options: &Options, errors: &mut ErrorList) {
    if !spec.get("hostNetwork").is_true() {
        return;
    }
    for container in spec.get("containers").elements() {
        for port in container.get("ports").elements() {
            let on_host = port.get("hostPort");
            let number = on_host.number();
            if (options.is_pod || number != 0) && number != port.get("containerPort").number() {
                let detail = "must match `containerPort` when `hostNetwork` is true";
                errors.push(FieldError::invalid(on_host.path(), number, detail));
            }
        }
    }
}
