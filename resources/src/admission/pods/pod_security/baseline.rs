//! Checks of the level `baseline`: known privilege escalations from a pod to its node.

use std::collections::{BTreeMap, BTreeSet};

use resource_views::alike::AnySecurityContext;

use super::checks::{Check, PodView, Setters, Texts, Violation, plural, quoted};
use super::policy::{Level, Version};

const APPARMOR_ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";
const CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];
/// Kernel settings that only affect the pod, with the minor version that first allowed them.
const SYSCTLS: [(&str, u32); 12] = [
    ("kernel.shm_rmid_forced", 0),
    ("net.ipv4.ip_local_port_range", 0),
    ("net.ipv4.tcp_syncookies", 0),
    ("net.ipv4.ping_group_range", 0),
    ("net.ipv4.ip_unprivileged_port_start", 0),
    ("net.ipv4.ip_local_reserved_ports", 27),
    ("net.ipv4.tcp_keepalive_time", 29),
    ("net.ipv4.tcp_fin_timeout", 29),
    ("net.ipv4.tcp_keepalive_intvl", 29),
    ("net.ipv4.tcp_keepalive_probes", 29),
    ("net.ipv4.tcp_rmem", 32),
    ("net.ipv4.tcp_wmem", 32),
];
/// The allowed types, with the minor version that first allowed them.
const SELINUX_TYPES: [(&str, u32); 5] = [
    ("", 0),
    ("container_t", 0),
    ("container_init_t", 0),
    ("container_kvm_t", 0),
    ("container_engine_t", 31),
];
pub(super) const SECCOMP_ANNOTATION: &str = "seccomp.security.alpha.kubernetes.io/pod";
pub(super) const SECCOMP_CONTAINER_ANNOTATION: &str = "container.seccomp.security.alpha.kubernetes.io/";
/// The first minor version whose pods have fields for seccomp profiles.
const KNOWS_SECCOMP_FIELDS: Version = Version::Minor(19);
/// The first minor version that allows pods with a user namespace more than others.
pub(super) const KNOWS_OWN_USERS: Version = Version::Minor(35);

pub(super) static CHECKS: &[Check] = &[
    check("appArmorProfile", 0, apparmor),
    check("capabilities_baseline", 0, capabilities),
    check("hostNamespaces", 0, host_namespaces),
    check("hostPathVolumes", 0, host_paths),
    check("hostPorts", 0, host_ports),
    check("hostProbesAndHostLifecycle", 34, probed_hosts),
    check("privileged", 0, privileged),
    check("procMount", 0, proc_mounts),
    check("seLinuxOptions", 0, selinux),
    check("seccompProfile_baseline", 0, seccomp),
    check("sysctls", 0, sysctls),
    check("windowsHostProcess", 0, host_processes),
];

const fn check(
    id: &'static str,
    since: u32,
    find: fn(&PodView<'_, '_>, Version) -> Option<Violation>,
) -> Check {
    Check { id, level: Level::Baseline, since, overrides: "", find }
}

fn apparmor(pod: &PodView<'_, '_>, _: Version) -> Option<Violation> {
    let mut setters = Setters::default();
    let mut values = BTreeSet::new();
    pod.each_context(|container, context| {
        let profile = context.app_armor_profile();
        let kind = profile.r#type().text();
        if profile.exists() && !matches!(kind, "RuntimeDefault" | "Localhost") {
            setters.add(container);
            values.insert(kind.to_owned());
        }
    });
    let annotations = pod.metadata.annotations();
    let mut bad: Vec<String> = annotations
        .texts()
        .filter(|(key, value)| {
            let allowed = value.is_empty() || *value == "runtime/default" || value.starts_with("localhost/");
            key.starts_with(APPARMOR_ANNOTATION) && !allowed
        })
        .map(|(key, value)| format!("{key}={value:?}"))
        .collect();
    bad.sort();
    let mut subject: Vec<String> = setters.text().into_iter().collect();
    if !bad.is_empty() {
        subject.push(plural(bad.len(), "annotation", "annotations").to_owned());
    }
    let values: Vec<String> = values.into_iter().chain(bad).collect();
    let reason = plural(values.len(), "forbidden AppArmor profile", "forbidden AppArmor profiles");
    let detail =
        format!("{} must not set AppArmor profile type to {}", subject.join(" and "), quoted(&values));
    (!values.is_empty()).then(|| Violation { reason: reason.to_owned(), detail })
}

fn capabilities(pod: &PodView<'_, '_>, _: Version) -> Option<Violation> {
    added_capabilities(pod, &CAPABILITIES)
        .map(|detail| Violation { reason: "non-default capabilities".to_owned(), detail })
}

/// Returns the containers that add capabilities other than these.
pub(super) fn added_capabilities(pod: &PodView<'_, '_>, allowed: &[&str]) -> Option<String> {
    let mut setters = Setters::default();
    let mut added = Texts::new();
    pod.each_container(|name, container| {
        let context = container.security_context();
        for capability in
            context.capabilities().add().texts().filter(|capability| !allowed.contains(capability))
        {
            setters.add(Some(name));
            added.insert(capability);
        }
    });
    let subject = setters.text()?;
    Some(format!("{subject} must not include {} in securityContext.capabilities.add", quoted(added)))
}

fn host_namespaces(pod: &PodView<'_, '_>, _: Version) -> Option<Violation> {
    let fields = [pod.spec.host_network(), pod.spec.host_pid(), pod.spec.host_ipc()];
    let shared: Vec<String> = ["hostNetwork", "hostPID", "hostIPC"]
        .iter()
        .zip(fields)
        .filter(|(_, field)| field.is_true())
        .map(|(name, _)| format!("{name}=true"))
        .collect();
    (!shared.is_empty())
        .then(|| Violation { reason: "host namespaces".to_owned(), detail: shared.join(", ") })
}

fn host_paths(pod: &PodView<'_, '_>, _: Version) -> Option<Violation> {
    let volumes = pod.spec.volumes();
    let names: Vec<&str> = volumes
        .elements()
        .filter(|volume| volume.host_path().exists())
        .map(|volume| volume.name().text())
        .collect();
    let word = plural(names.len(), "volume", "volumes");
    (!names.is_empty()).then(|| Violation {
        reason: "hostPath volumes".to_owned(),
        detail: format!("{word} {}", quoted(names)),
    })
}

fn host_ports(pod: &PodView<'_, '_>, _: Version) -> Option<Violation> {
    let mut setters = Setters::default();
    let mut ports = BTreeSet::new();
    pod.each_container(|name, container| {
        for port in container.ports().elements() {
            if let Some(number) = port.host_port().integer().filter(|number| *number != 0) {
                setters.add(Some(name));
                ports.insert(number.to_string());
            }
        }
    });
    let verb = plural(setters.count(), "uses", "use");
    let word = plural(ports.len(), "hostPort", "hostPorts");
    let ports = ports.into_iter().collect::<Vec<_>>().join(", ");
    Violation::by(&setters, "hostPort", |subject| format!("{subject} {verb} {word} {ports}"))
}

fn probed_hosts<'v>(pod: &PodView<'v, '_>, _: Version) -> Option<Violation> {
    let mut setters = Setters::default();
    let mut hosts = Texts::new();
    pod.each_container(|name, container| {
        let mut add = |host: &'v str| {
            if !host.is_empty() {
                setters.add(Some(name));
                hosts.insert(host);
            }
        };
        for probe in [container.liveness_probe(), container.readiness_probe(), container.startup_probe()] {
            add(probe.http_get().host().text());
            add(probe.tcp_socket().host().text());
        }
        let lifecycle = container.lifecycle();
        for handler in [lifecycle.post_start(), lifecycle.pre_stop()] {
            add(handler.http_get().host().text());
            add(handler.tcp_socket().host().text());
        }
    });
    setters.sort();
    let verb = plural(setters.count(), "uses", "use");
    let word = plural(hosts.len(), "probe or lifecycle host", "probe or lifecycle hosts");
    Violation::by(&setters, "probe or lifecycle host", |subject| {
        format!("{subject} {verb} {word} {}", quoted(hosts))
    })
}

fn privileged(pod: &PodView<'_, '_>, _: Version) -> Option<Violation> {
    let mut setters = Setters::default();
    pod.each_container(|name, container| {
        if container.security_context().privileged().is_true() {
            setters.add(Some(name));
        }
    });
    Violation::by(&setters, "privileged", |subject| {
        format!("{subject} must not set securityContext.privileged=true")
    })
}

fn proc_mounts(pod: &PodView<'_, '_>, version: Version) -> Option<Violation> {
    if version >= KNOWS_OWN_USERS && pod.has_own_users() {
        return None;
    }
    every_proc_mount(pod, version)
}

/// Finds containers with other than the default view of the process file system.
pub(super) fn every_proc_mount(pod: &PodView<'_, '_>, _: Version) -> Option<Violation> {
    let mut setters = Setters::default();
    let mut kinds = Texts::new();
    pod.each_container(|name, container| {
        let kind = container.security_context().proc_mount().text();
        if !matches!(kind, "" | "Default") {
            setters.add(Some(name));
            kinds.insert(kind);
        }
    });
    Violation::by(&setters, "procMount", |subject| {
        format!("{subject} must not set securityContext.procMount to {}", quoted(kinds))
    })
}

fn selinux(pod: &PodView<'_, '_>, version: Version) -> Option<Violation> {
    let mut setters = Setters::default();
    let mut kinds = Texts::new();
    let mut sets_user = false;
    let mut sets_role = false;
    pod.each_context(|container, context| {
        let options = context.se_linux_options();
        let kind = options.r#type().text();
        let user = options.user().text();
        let role = options.role().text();
        let is_allowed =
            |(allowed, since): &(&str, u32)| *allowed == kind && version >= Version::Minor(*since);
        let bad_kind = !SELINUX_TYPES.iter().any(is_allowed);
        if bad_kind {
            kinds.insert(kind);
        }
        sets_user |= !user.is_empty();
        sets_role |= !role.is_empty();
        if bad_kind || !user.is_empty() || !role.is_empty() {
            setters.add(container);
        }
    });
    let mut data = Vec::new();
    if !kinds.is_empty() {
        data.push(format!("{} {}", plural(kinds.len(), "type", "types"), quoted(&kinds)));
    }
    if sets_user {
        data.push("user may not be set".to_owned());
    }
    if sets_role {
        data.push("role may not be set".to_owned());
    }
    Violation::by(&setters, "seLinuxOptions", |subject| {
        format!("{subject} set forbidden securityContext.seLinuxOptions: {}", data.join("; "))
    })
}

fn seccomp(pod: &PodView<'_, '_>, version: Version) -> Option<Violation> {
    if version < KNOWS_SECCOMP_FIELDS {
        return seccomp_annotations(pod);
    }
    let mut setters = Setters::default();
    let mut kinds = Texts::new();
    pod.each_context(|container, context| {
        if let Some(kind) = seccomp_type(context)
            && !is_seccomp_safe(kind)
        {
            setters.add(container);
            kinds.insert(kind);
        }
    });
    Violation::by(&setters, "seccompProfile", |subject| {
        format!("{subject} must not set securityContext.seccompProfile.type to {}", quoted(kinds))
    })
}

/// Finds the annotations that selected profiles before there were fields for them.
fn seccomp_annotations(pod: &PodView<'_, '_>) -> Option<Violation> {
    let mut keys = vec![SECCOMP_ANNOTATION.to_owned()];
    pod.each_container(|name, _| keys.push(format!("{SECCOMP_CONTAINER_ANNOTATION}{name}")));
    let annotations = pod.metadata.annotations();
    let selected: BTreeMap<&str, &str> = annotations.texts().collect();
    let is_safe = |profile: &str| {
        matches!(profile, "runtime/default" | "docker/default") || profile.starts_with("localhost/")
    };
    let bad: BTreeSet<String> = keys
        .iter()
        .filter_map(|key| Some((key, selected.get(key.as_str())?)))
        .filter(|(_, profile)| !is_safe(profile))
        .map(|(key, profile)| format!("{key}={profile:?}"))
        .collect();
    let word = plural(bad.len(), "annotation", "annotations");
    let list = bad.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
    (!bad.is_empty()).then(|| Violation {
        reason: "seccompProfile".to_owned(),
        detail: format!("forbidden {word} {list}"),
    })
}

/// Returns the type of the seccomp profile that a security context selects, if any.
pub(super) fn seccomp_type<'v>(context: &AnySecurityContext<'v, '_>) -> Option<&'v str> {
    let profile = context.seccomp_profile();
    profile.exists().then(|| profile.r#type().text())
}

/// Whether a type of seccomp profile restricts anything.
pub(super) fn is_seccomp_safe(kind: &str) -> bool {
    matches!(kind, "Localhost" | "RuntimeDefault")
}

fn sysctls(pod: &PodView<'_, '_>, version: Version) -> Option<Violation> {
    let context = pod.spec.security_context();
    let allowed =
        |name: &str| SYSCTLS.iter().any(|(known, since)| *known == name && version >= Version::Minor(*since));
    let list = context.sysctls();
    let forbidden: Vec<&str> =
        list.elements().map(|sysctl| sysctl.name().text()).filter(|name| !allowed(name)).collect();
    (!forbidden.is_empty())
        .then(|| Violation { reason: "forbidden sysctls".to_owned(), detail: forbidden.join(", ") })
}

fn host_processes(pod: &PodView<'_, '_>, _: Version) -> Option<Violation> {
    let mut setters = Setters::default();
    pod.each_context(|container, context| {
        if context.windows_options().host_process().is_true() {
            setters.add(container);
        }
    });
    Violation::by(&setters, "hostProcess", |subject| {
        format!("{subject} must not set securityContext.windowsOptions.hostProcess=true")
    })
}
