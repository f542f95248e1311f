//! The statuses of containers.

use std::collections::{HashMap, HashSet};

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;
use serde_json::Value;

use crate::core::pod_spec::validation::security_context::check_id;
use crate::support::field::Field;

/// The lists of statuses.
pub(super) const LISTS: [&str; 3] =
    ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"];
const HEALTHS: &[&str] = &["Healthy", "Unhealthy", "Unknown"];
const MAX_MESSAGE_BYTES: usize = 1_024;

// === transitions ===

/// Checks that containers that ended only run again if something restarts them.
pub(super) fn check_transitions(
    status: &Field<'_, '_>,
    before: &Field<'_, '_>,
    spec: &Field<'_, '_>,
    errors: &mut ErrorList,
) {
    let all_may_restart =
        ["initContainers", "containers"].iter().any(|list| may_restart_all(&spec.get(list)));
    for (statuses, containers) in LISTS.iter().zip(["containers", "initContainers", ""]) {
        let is_ephemeral = containers.is_empty();
        if all_may_restart && !is_ephemeral {
            continue;
        }
        let (now, before) = (status.get(statuses), before.get(statuses));
        let containers = spec.get(containers);
        let check = Transitions { now: &now, before: &before, spec, containers: &containers, is_ephemeral };
        check.check(errors);
    }
}

/// Whether the end of a container may restart all containers of the pod.
fn may_restart_all(containers: &Field<'_, '_>) -> bool {
    containers.elements().any(|container| {
        let rules = container.get("restartPolicyRules");
        rules.elements().any(|rule| rule.get("action").text() == "RestartAllContainers")
    })
}

/// Statuses of one kind of containers, and those before.
struct Transitions<'v, 'p> {
    now: &'p Field<'v, 'p>,
    before: &'p Field<'v, 'p>,
    spec: &'p Field<'v, 'p>,
    containers: &'p Field<'v, 'p>,
    is_ephemeral: bool,
}

impl Transitions<'_, '_> {
    fn check(&self, errors: &mut ErrorList) {
        let ended = |status: &Field<'_, '_>| status.get("state").get("terminated").exists();
        if !self.before.elements().any(|status| ended(&status)) {
            return;
        }
        // Names need not be unique.
        let mut running: HashMap<&str, usize> = HashMap::new();
        for status in self.now.elements().filter(|status| !ended(status)) {
            *running.entry(status.get("name").text()).or_default() += 1;
        }
        let mut containers: HashMap<&str, Field<'_, '_>> = HashMap::new();
        for container in self.containers.elements() {
            containers.entry(container.get("name").text()).or_insert(container);
        }
        for (place, status) in self.before.elements().enumerate().filter(|(_, status)| ended(status)) {
            let name = status.get("name").text();
            let count = running.get(name).copied().unwrap_or_default();
            let refused = if self.is_ephemeral {
                count
            } else {
                let code = status.get("state").get("terminated").get("exitCode").number();
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
    fn may_restart(&self, container: &Field<'_, '_>, code: i64) -> bool {
        let own = container.get("restartPolicy");
        if own.exists() {
            let rules = container.get("restartPolicyRules");
            let matching = rules.elements().find(|rule| is_matched(rule, code));
            if matching
                .is_some_and(|rule| matches!(rule.get("action").text(), "Restart" | "RestartAllContainers"))
            {
                return true;
            }
            if matches!(own.text(), "Always" | "OnFailure" | "Never") {
                return restarts(own.text(), code);
            }
        }
        restarts(self.spec.get("restartPolicy").text(), code)
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
fn is_matched(rule: &Field<'_, '_>, code: i64) -> bool {
    let codes = rule.get("exitCodes");
    let has_code = codes.get("values").elements().any(|value| value.number() == code);
    match codes.get("operator").text() {
        "In" => has_code,
        "NotIn" => !has_code,
        _ => false,
    }
}

// === users and resources ===

/// Checks the users and the allocated resources of all containers.
pub(super) fn check(status: &Field<'_, '_>, spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let system = spec.get("os").get("name").text();
    for list in LISTS {
        for container in status.get(list).elements() {
            check_user(&container.get("user").get("linux"), system, errors);
        }
    }
    for (statuses, containers) in LISTS.iter().zip(["containers", "initContainers"]) {
        check_allocated(&status.get(statuses), &spec.get(containers), errors);
    }
    for container in status.get("ephemeralContainerStatuses").elements() {
        let allocated = container.get("allocatedResourcesStatus");
        if !allocated.is_empty() {
            errors.push(allocated.forbidden("must not be specified in container status"));
        }
    }
}

fn check_user(user: &Field<'_, '_>, system: &str, errors: &mut ErrorList) {
    if !user.exists() {
        return;
    }
    match system {
        "windows" => errors.push(user.forbidden("cannot be set for a windows pod")),
        "linux" | "" => {
            check_id(&user.get("uid"), errors);
            check_id(&user.get("gid"), errors);
            for group in user.get("supplementalGroups").elements() {
                check_id(&group, errors);
            }
        }
        _ => {}
    }
}

/// Checks that the allocated resources are those that the containers ask for.
fn check_allocated(statuses: &Field<'_, '_>, containers: &Field<'_, '_>, errors: &mut ErrorList) {
    let mut by_name: Option<HashMap<&str, Option<&Value>>> = None;
    for status in statuses.elements() {
        let allocated = status.get("allocatedResourcesStatus");
        if allocated.is_empty() {
            continue;
        }
        let by_name = by_name.get_or_insert_with(|| {
            let mut found = HashMap::new();
            for container in containers.elements() {
                found
                    .entry(container.get("name").text())
                    .or_insert_with(|| container.get("resources").value());
            }
            found
        });
        let asked = by_name.get(status.get("name").text()).copied();
        for resource in allocated.elements() {
            let name = resource.get("name");
            if let Some(asked) = asked
                && let Some(detail) = complaint_about_resource(name.text(), asked)
            {
                errors.push(name.invalid_text(detail));
            }
            check_healths(&resource.get("resources"), errors);
        }
    }
}

/// Returns why an allocated resource is none that a container asks for.
fn complaint_about_resource(name: &str, asked: Option<&Value>) -> Option<&'static str> {
    let get = |field: &str| asked.and_then(|asked| asked.get(field));
    let Some(claim) = name.strip_prefix("claim:") else {
        let is_asked = get("requests").is_some_and(|requests| requests.get(name).is_some());
        return (!is_asked).then_some("must match one of the container's resource requests");
    };
    let claims = get("claims").and_then(Value::as_array).into_iter().flatten();
    let text =
        |entry: &Value, field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let is_claimed = |entry: &Value| match text(entry, "request").as_str() {
        "" => text(entry, "name") == claim,
        request => format!("{}/{request}", text(entry, "name")) == claim,
    };
    let detail = "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty";
    (!claims.into_iter().any(is_claimed)).then_some(detail)
}

fn check_healths(resources: &Field<'_, '_>, errors: &mut ErrorList) {
    let mut seen = HashSet::new();
    for resource in resources.elements() {
        let health = resource.get("health");
        if !HEALTHS.contains(&health.text()) {
            errors.push(health.unsupported(HEALTHS));
        }
        let message = resource.get("message");
        match message.optional_text() {
            Some("") => errors.push(message.required("must be non-empty if specified")),
            Some(text) if text.len() > MAX_MESSAGE_BYTES => {
                errors.push(FieldError::too_long(message.path(), MAX_MESSAGE_BYTES));
            }
            _ => {}
        }
        let id = resource.get("resourceID");
        if !seen.insert(id.text()) {
            errors.push(id.duplicate());
        }
    }
}
