//! The statuses of containers.

use std::collections::{HashMap, HashSet};

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;
use resource_views::List;
use resource_views::core::v1::{
    Container, ContainerRestartRule, ContainerStatus, LinuxContainerUser, PodSpec, PodStatus, ResourceHealth,
    ResourceRequirements,
};

use crate::api::core::pod_spec::validation::security_context::check_id;

const HEALTHS: &[&str] = &["Healthy", "Unhealthy", "Unknown"];
const MAX_MESSAGE_BYTES: usize = 1_024;

// === transitions ===

/// Checks that containers that ended only run again if something restarts them.
pub(super) fn check_transitions(
    status: &PodStatus<'_, '_>,
    before: &PodStatus<'_, '_>,
    spec: &PodSpec<'_, '_>,
    errors: &mut ErrorList,
) {
    let (main, init) = (spec.containers(), spec.init_containers());
    if !may_restart_all(&init) && !may_restart_all(&main) {
        let (now, old) = (status.container_statuses(), before.container_statuses());
        Transitions { now: &now, before: &old, spec, containers: Some(&main) }.check(errors);
        let (now, old) = (status.init_container_statuses(), before.init_container_statuses());
        Transitions { now: &now, before: &old, spec, containers: Some(&init) }.check(errors);
    }
    let (now, old) = (status.ephemeral_container_statuses(), before.ephemeral_container_statuses());
    Transitions { now: &now, before: &old, spec, containers: None }.check(errors);
}

/// Whether the end of a container may restart all containers of the pod.
fn may_restart_all(containers: &List<Container<'_, '_>>) -> bool {
    containers.elements().any(|container| {
        let rules = container.restart_policy_rules();
        rules.elements().any(|rule| rule.action().text() == "RestartAllContainers")
    })
}

/// Statuses of one kind of containers, and those before.
struct Transitions<'v, 'p> {
    now: &'p List<ContainerStatus<'v, 'p>>,
    before: &'p List<ContainerStatus<'v, 'p>>,
    spec: &'p PodSpec<'v, 'p>,
    /// The containers; `None` for ephemeral ones, which are never started again.
    containers: Option<&'p List<Container<'v, 'p>>>,
}

impl Transitions<'_, '_> {
    fn check(&self, errors: &mut ErrorList) {
        let ended = |status: &ContainerStatus<'_, '_>| status.state().terminated().exists();
        if !self.before.elements().any(|status| ended(&status)) {
            return;
        }
        // Names need not be unique.
        let mut running: HashMap<&str, usize> = HashMap::new();
        for status in self.now.elements().filter(|status| !ended(status)) {
            *running.entry(status.name().text()).or_default() += 1;
        }
        let mut containers: HashMap<&str, Container<'_, '_>> = HashMap::new();
        for container in self.containers.into_iter().flat_map(List::elements) {
            containers.entry(container.name().text()).or_insert(container);
        }
        for (place, status) in self.before.elements().enumerate().filter(|(_, status)| ended(status)) {
            let name = status.name().text();
            let count = running.get(name).copied().unwrap_or_default();
            let refused = if self.containers.is_none() {
                count
            } else {
                let code = status.state().terminated().exit_code().number();
                let may_run = containers.get(name).is_some_and(|container| self.may_restart(container, code));
                usize::from(count > 0 && !may_run)
            };
            for _ in 0..refused {
                let path = self.now.path().index(place).child("state");
                let detail = "may not be transitioned to non-terminated state";
                errors.push(FieldError::forbidden(path, detail));
            }
        }
    }

    /// Whether a container that ended with this code is started again.
    fn may_restart(&self, container: &Container<'_, '_>, code: i64) -> bool {
        let own = container.restart_policy();
        if own.exists() {
            let rules = container.restart_policy_rules();
            let matching = rules.elements().find(|rule| is_matched(rule, code));
            if matching.is_some_and(|rule| matches!(rule.action().text(), "Restart" | "RestartAllContainers"))
            {
                return true;
            }
            if matches!(own.text(), "Always" | "OnFailure" | "Never") {
                return restarts(own.text(), code);
            }
        }
        restarts(self.spec.restart_policy().text(), code)
    }
}

fn restarts(policy: &str, code: i64) -> bool {
    match policy {
        "Never" => false,
        "OnFailure" => code != 0,
        _ => true,
    }
}

/// Whether a rule is about an exit code.
fn is_matched(rule: &ContainerRestartRule<'_, '_>, code: i64) -> bool {
    let codes = rule.exit_codes();
    let has_code = codes.values().elements().any(|value| value.number() == code);
    match codes.operator().text() {
        "In" => has_code,
        "NotIn" => !has_code,
        _ => false,
    }
}

// === users and resources ===

/// Checks the users and the allocated resources of all containers.
pub(super) fn check(status: &PodStatus<'_, '_>, spec: &PodSpec<'_, '_>, errors: &mut ErrorList) {
    let system = spec.os().name().text();
    let (main, init) = (status.container_statuses(), status.init_container_statuses());
    for list in [&main, &init, &status.ephemeral_container_statuses()] {
        for container in list.elements() {
            check_user(&container.user().linux(), system, errors);
        }
    }
    check_allocated(&main, &spec.containers(), errors);
    check_allocated(&init, &spec.init_containers(), errors);
    for container in status.ephemeral_container_statuses().elements() {
        let allocated = container.allocated_resources_status();
        if !allocated.is_empty() {
            errors.push(allocated.forbidden("must not be specified in container status"));
        }
    }
}

fn check_user(user: &LinuxContainerUser<'_, '_>, system: &str, errors: &mut ErrorList) {
    if !user.exists() {
        return;
    }
    match system {
        "windows" => errors.push(user.forbidden("cannot be set for a windows pod")),
        "linux" | "" => {
            check_id(&user.uid(), errors);
            check_id(&user.gid(), errors);
            for group in user.supplemental_groups().elements() {
                check_id(&group, errors);
            }
        }
        _ => {}
    }
}

/// Checks that the allocated resources are those that the containers ask for.
fn check_allocated(
    statuses: &List<ContainerStatus<'_, '_>>,
    containers: &List<Container<'_, '_>>,
    errors: &mut ErrorList,
) {
    let mut by_name: Option<HashMap<&str, Container<'_, '_>>> = None;
    for status in statuses.elements() {
        let allocated = status.allocated_resources_status();
        if allocated.is_empty() {
            continue;
        }
        let by_name = by_name.get_or_insert_with(|| {
            let mut found = HashMap::new();
            for container in containers.elements() {
                found.entry(container.name().text()).or_insert(container);
            }
            found
        });
        let container = by_name.get(status.name().text());
        for resource in allocated.elements() {
            let name = resource.name();
            if let Some(container) = container
                && let Some(detail) = complaint_about_resource(name.text(), &container.resources())
            {
                errors.push(name.invalid_text(detail));
            }
            check_healths(&resource.resources(), errors);
        }
    }
}

/// Returns why an allocated resource is none that a container asks for.
fn complaint_about_resource(name: &str, asked: &ResourceRequirements<'_, '_>) -> Option<&'static str> {
    let Some(wanted) = name.strip_prefix("claim:") else {
        let is_asked = asked.requests().entry(name).exists();
        return (!is_asked).then_some("must match one of the container's resource requests");
    };
    let is_claimed = asked.claims().elements().any(|claim| match claim.request().text() {
        "" => claim.name().text() == wanted,
        request => {
            wanted.strip_prefix(claim.name().text()).and_then(|rest| rest.strip_prefix('/')) == Some(request)
        }
    });
    let detail = "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty";
    (!is_claimed).then_some(detail)
}

fn check_healths(resources: &List<ResourceHealth<'_, '_>>, errors: &mut ErrorList) {
    let mut seen = HashSet::new();
    for resource in resources.elements() {
        let health = resource.health();
        if !HEALTHS.contains(&health.text()) {
            errors.push(health.unsupported(HEALTHS));
        }
        let message = resource.message();
        match message.optional_text() {
            Some("") => errors.push(message.required("must be non-empty if specified")),
            Some(text) if text.len() > MAX_MESSAGE_BYTES => {
                errors.push(FieldError::too_long(message.path(), MAX_MESSAGE_BYTES));
            }
            _ => {}
        }
        let id = resource.resource_id();
        if !seen.insert(id.text()) {
            errors.push(id.duplicate());
        }
    }
}
