//! Additional checks of the level `restricted`: hardening practices.

use serde_json::Value;

use super::baseline::{KNOWS_OWN_USERS, added_capabilities, every_proc_mount, is_seccomp_safe, seccomp_type};
use super::checks::{Check, PodView, Setters, Texts, Violation, plural, quoted};
use super::policy::{Level, Version};

/// The first minor version that exempts pods that declare Windows from checks without meaning there.
const KNOWS_WINDOWS: Version = Version::Minor(25);
const VOLUMES: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

pub(super) static CHECKS: &[Check] = &[
    check("allowPrivilegeEscalation", 8, "", escalation),
    check("capabilities_restricted", 22, "capabilities_baseline", capabilities),
    check("procMount_restricted", 35, "procMount", every_proc_mount),
    check("restrictedVolumes", 0, "hostPathVolumes", volumes),
    check("runAsNonRoot", 0, "", non_root),
    check("runAsUser", 23, "", users),
    check("seccompProfile_restricted", 19, "seccompProfile_baseline", seccomp),
];

const fn check(
    id: &'static str,
    since: u32,
    overrides: &'static str,
    find: fn(&PodView<'_, '_>, Version) -> Option<Violation>,
) -> Check {
    Check { id, level: Level::Restricted, since, overrides, find }
}

fn spares_windows(pod: &PodView<'_, '_>, version: Version) -> bool {
    version >= KNOWS_WINDOWS && pod.is_windows()
}

fn spares_own_users(pod: &PodView<'_, '_>, version: Version) -> bool {
    version >= KNOWS_OWN_USERS && pod.has_own_users()
}

fn escalation(pod: &PodView<'_, '_>, version: Version) -> Option<Violation> {
    if spares_windows(pod, version) {
        return None;
    }
    let mut setters = Setters::default();
    pod.each_container(|name, container| {
        if container.security_context().allow_privilege_escalation().truth() != Some(false) {
            setters.add(Some(name));
        }
    });
    Violation::by(&setters, "allowPrivilegeEscalation != false", |subject| {
        format!("{subject} must set securityContext.allowPrivilegeEscalation=false")
    })
}

fn capabilities(pod: &PodView<'_, '_>, version: Version) -> Option<Violation> {
    if spares_windows(pod, version) {
        return None;
    }
    let mut not_dropping = Setters::default();
    pod.each_container(|name, container| {
        if !container.security_context().capabilities().drop().texts().any(|name| name == "ALL") {
            not_dropping.add(Some(name));
        }
    });
    let keeps = not_dropping
        .text()
        .map(|subject| format!("{subject} must set securityContext.capabilities.drop=[\"ALL\"]"));
    let adds = added_capabilities(pod, &["NET_BIND_SERVICE"]);
    let details: Vec<String> = keeps.into_iter().chain(adds).collect();
    (!details.is_empty())
        .then(|| Violation { reason: "unrestricted capabilities".to_owned(), detail: details.join("; ") })
}

fn volumes(pod: &PodView<'_, '_>, _: Version) -> Option<Violation> {
    let mut names = Vec::new();
    let mut kinds = Texts::new();
    let volumes = pod.spec.volumes();
    for volume in volumes.elements() {
        let fields = volume.value().and_then(Value::as_object).into_iter().flatten();
        let mut kinds_of_source = fields.map(|(field, _)| field.as_str()).filter(|field| *field != "name");
        if let Some(kind) = kinds_of_source.find(|kind| !VOLUMES.contains(kind)) {
            names.push(volume.name().text());
            kinds.insert(kind);
        }
    }
    let word = plural(names.len(), "volume", "volumes");
    let verb = plural(names.len(), "uses", "use");
    let types = plural(kinds.len(), "restricted volume type", "restricted volume types");
    (!names.is_empty()).then(|| Violation {
        reason: "restricted volume types".to_owned(),
        detail: format!("{word} {} {verb} {types} {}", quoted(names), quoted(kinds)),
    })
}

fn non_root(pod: &PodView<'_, '_>, version: Version) -> Option<Violation> {
    const REASON: &str = "runAsNonRoot != true";
    if spares_own_users(pod, version) {
        return None;
    }
    let mut explicit = Setters::default();
    let mut implicit = Setters::default();
    let mut of_pod = None;
    pod.each_context(|container, context| {
        let own = context.run_as_non_root().truth();
        match (container, own) {
            (_, Some(false)) => explicit.add(container),
            (None, _) => of_pod = own,
            (Some(_), None) if of_pod != Some(true) => implicit.add(container),
            _ => {}
        }
    });
    Violation::by(&explicit, REASON, |subject| {
        format!("{subject} must not set securityContext.runAsNonRoot=false")
    })
    .or_else(|| {
        Violation::by(&implicit, REASON, |subject| {
            format!("pod or {subject} must set securityContext.runAsNonRoot=true")
        })
    })
}

fn users(pod: &PodView<'_, '_>, version: Version) -> Option<Violation> {
    if spares_own_users(pod, version) {
        return None;
    }
    let mut setters = Setters::default();
    pod.each_context(|container, context| {
        if context.run_as_user().integer() == Some(0) {
            setters.add(container);
        }
    });
    Violation::by(&setters, "runAsUser=0", |subject| format!("{subject} must not set runAsUser=0"))
}

fn seccomp(pod: &PodView<'_, '_>, version: Version) -> Option<Violation> {
    const REASON: &str = "seccompProfile";
    if spares_windows(pod, version) {
        return None;
    }
    let mut explicit = Setters::default();
    let mut implicit = Setters::default();
    let mut kinds = Texts::new();
    let mut pod_is_safe = false;
    pod.each_context(|container, context| match (container, seccomp_type(context)) {
        (_, Some(kind)) if !is_seccomp_safe(kind) => {
            explicit.add(container);
            kinds.insert(kind);
        }
        (None, kind) => pod_is_safe = kind.is_some(),
        (Some(_), None) if !pod_is_safe => implicit.add(container),
        _ => {}
    });
    Violation::by(&explicit, REASON, |subject| {
        format!("{subject} must not set securityContext.seccompProfile.type to {}", quoted(kinds))
    })
    .or_else(|| {
        Violation::by(&implicit, REASON, |subject| {
            format!("pod or {subject} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"")
        })
    })
}
