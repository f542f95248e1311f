//! Security contexts of pods and of containers.

use std::collections::HashSet;

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;
use resource_views::core::v1::{AppArmorProfile, PodSpec, SeccompProfile, SecurityContext, Sysctl};
use resource_views::{Integer, List};

use super::{Options, text_rules, windows};
use crate::support::field::ShownAsGo as _;

const PROFILE_TYPES: &[&str] = &["Localhost", "RuntimeDefault", "Unconfined"];
const ONLY_LOCALHOST_SECCOMP: &str = "can only be set when seccomp type is Localhost";
const MAX_APPARMOR_BYTES: usize = 4_095;

/// Checks the number of a user or of a group.
pub(in crate::api::core) fn check_id(id: &Integer<'_, '_>, errors: &mut ErrorList) {
    id.check_between(0, i64::from(i32::MAX), errors);
}

// === pods ===

/// Checks the context of a pod.
pub(super) fn check_pod(spec: &PodSpec<'_, '_>, options: &Options, errors: &mut ErrorList) {
    let context = spec.security_context();
    if !context.exists() && !spec.share_process_namespace().exists() {
        return;
    }
    for id in [context.fs_group(), context.run_as_user(), context.run_as_group()] {
        check_id(&id, errors);
    }
    for group in context.supplemental_groups().elements() {
        check_id(&group, errors);
    }
    if spec.share_process_namespace().is_true() && spec.host_pid().is_true() {
        // The field is one of the spec; its error is reported at its former place.
        let path = context.path().child("shareProcessNamespace");
        let detail = "ShareProcessNamespace and HostPID cannot both be enabled";
        errors.push(FieldError::invalid(path, true, detail));
    }
    check_sysctls(spec, &context.sysctls(), options, errors);
    context.fs_group_change_policy().check_one_of(&["Always", "OnRootMismatch"], errors);
    check_seccomp(&context.seccomp_profile(), errors);
    windows::check_options(&context.windows_options(), errors);
    check_apparmor(&context.app_armor_profile(), errors);
    context.supplemental_groups_policy().check_one_of(&["Merge", "Strict"], errors);
    let relabelling: &[&str] =
        if options.tolerates_relabelling { &["MountOption", "Recursive"] } else { &["Recursive"] };
    context.se_linux_change_policy().check_one_of(relabelling, errors);
}

fn check_sysctls(
    spec: &PodSpec<'_, '_>,
    sysctls: &List<Sysctl<'_, '_>>,
    options: &Options,
    errors: &mut ErrorList,
) {
    let mut seen = HashSet::new();
    for sysctl in sysctls.elements() {
        let name = sysctl.name();
        if name.check_present(errors) {
            let complaints = text_rules::sysctl_name(name.text());
            if complaints.is_empty() && seen.contains(name.text()) {
                errors.push(name.duplicate());
            }
            for complaint in complaints {
                errors.push(name.invalid(complaint));
            }
        }
        if !options.tolerates_host_sysctls
            && let Some(detail) = conflict_with_host(spec, name.text())
        {
            errors.push(name.invalid_text(detail));
        }
        seen.insert(name.text());
    }
}

/// Returns why a kernel parameter cannot be set, if the pod uses the namespace of the host that has it.
fn conflict_with_host(spec: &PodSpec<'_, '_>, name: &str) -> Option<&'static str> {
    const OF_IPC: [&str; 10] = [
        "kernel.sem",
        "kernel.shmall",
        "kernel.shmmax",
        "kernel.shmmni",
        "kernel.shm_rmid_forced",
        "kernel.shm",
        "kernel.msgmax",
        "kernel.msgmnb",
        "kernel.msgmni",
        "kernel.msg",
    ];
    let name = with_dots(name);
    let name = name.split('*').next().unwrap_or_default();
    let is_of_ipc = OF_IPC.contains(&name) || name.starts_with("fs.mqueue.");
    if name.starts_with("net.") && spec.host_network().is_true() {
        Some("may not be specified when 'hostNetwork' is true")
    } else if is_of_ipc && spec.host_ipc().is_true() {
        Some("may not be specified when 'hostIPC' is true")
    } else {
        None
    }
}

/// Returns a name whose parts may be separated by slashes with dots, and dots in its parts with slashes.
fn with_dots(name: &str) -> String {
    let first = name.find(['.', '/']).and_then(|at| name.get(at..=at));
    if first != Some("/") {
        return name.to_owned();
    }
    let swap = |character| match character {
        '/' => '.',
        '.' => '/',
        other => other,
    };
    name.chars().map(swap).collect()
}

/// Whether the pod has a kernel parameter of the host.
pub(super) fn has_host_sysctl(spec: &PodSpec<'_, '_>) -> bool {
    let context = spec.security_context();
    context.sysctls().elements().any(|sysctl| conflict_with_host(spec, sysctl.name().text()).is_some())
}

/// Checks a pod that has users of its own: it can use neither namespaces of the host nor block devices.
pub(super) fn check_own_users(spec: &PodSpec<'_, '_>, options: &Options, errors: &mut ErrorList) {
    const DETAIL: &str = "when `hostUsers` is false";
    if spec.host_users().truth() != Some(false) {
        return;
    }
    let network = spec.host_network();
    if network.is_true() && !options.tolerates_host_network_with_own_users {
        errors.push(network.forbidden(DETAIL));
    }
    for (field, reported) in [(spec.host_pid(), "HostPID"), (spec.host_ipc(), "HostIPC")] {
        if field.is_true() {
            errors.push(FieldError::forbidden(spec.path().child(reported), DETAIL));
        }
    }
    if !options.tolerates_devices_with_own_users {
        super::visit_containers(spec, |container| {
            let devices = container.volume_devices();
            if !devices.is_empty() {
                errors.push(devices.forbidden(DETAIL));
            }
        });
    }
}

// === containers ===

/// Checks the context of a container.
pub(super) fn check_container(
    context: &SecurityContext<'_, '_>,
    options: &Options,
    uses_host_users: bool,
    errors: &mut ErrorList,
) {
    if !context.exists() {
        return;
    }
    let privileged = context.privileged();
    if privileged.is_true() && !options.policy.allows_privileged {
        errors.push(privileged.forbidden("disallowed by cluster policy"));
    }
    for id in [context.run_as_user(), context.run_as_group()] {
        check_id(&id, errors);
    }
    let proc_mount = context.proc_mount();
    proc_mount.check_one_of(&["Default", "Unmasked"], errors);
    if uses_host_users && proc_mount.text() == "Unmasked" {
        errors.push(proc_mount.invalid("`hostUsers` must be false to use `Unmasked`"));
    }
    check_seccomp(&context.seccomp_profile(), errors);
    if context.allow_privilege_escalation().truth() == Some(false) {
        check_no_escalation(context, errors);
    }
    windows::check_options(&context.windows_options(), errors);
    check_apparmor(&context.app_armor_profile(), errors);
}

fn check_no_escalation(context: &SecurityContext<'_, '_>, errors: &mut ErrorList) {
    let refuse = |what: &str| {
        let detail = format!("cannot set `allowPrivilegeEscalation` to false and {what}");
        context.invalid_as("<core.SecurityContext>", detail)
    };
    if context.privileged().is_true() {
        errors.push(refuse("`privileged` to true"));
    }
    let capabilities = context.capabilities();
    let added = capabilities.add();
    for _ in added.elements().filter(|capability| capability.text() == "CAP_SYS_ADMIN") {
        errors.push(refuse("`capabilities.Add` CAP_SYS_ADMIN"));
    }
}

// === profiles ===

fn check_seccomp(profile: &SeccompProfile<'_, '_>, errors: &mut ErrorList) {
    if !profile.exists() {
        return;
    }
    let kind = profile.r#type();
    let local = profile.localhost_profile();
    if kind.text().is_empty() {
        errors.push(kind.required("type is required when seccompProfile is set"));
    } else {
        kind.check_one_of(PROFILE_TYPES, errors);
    }
    match (kind.text(), local.exists()) {
        ("Localhost", false) => {
            errors.push(local.required("must be set when seccomp type is Localhost"));
        }
        ("Localhost", true) => local.check(text_rules::descending_path, errors),
        (_, true) => {
            let shown = profile.go_text("<core.SeccompProfile>");
            errors.push(local.invalid(ONLY_LOCALHOST_SECCOMP).shown_as(shown));
        }
        (_, false) => {}
    }
}

/// Checks an AppArmor profile.
pub(crate) fn check_apparmor(profile: &AppArmorProfile<'_, '_>, errors: &mut ErrorList) {
    if !profile.exists() {
        return;
    }
    let kind = profile.r#type();
    let local = profile.localhost_profile();
    match (kind.text(), local.optional_text()) {
        ("Localhost", None | Some("")) => {
            errors.push(local.required("must be set when AppArmor type is Localhost"));
        }
        ("Localhost", Some(name)) => {
            if name.trim() != name {
                errors.push(local.invalid("must not be padded with whitespace"));
            }
            if name.len() > MAX_APPARMOR_BYTES {
                errors.push(FieldError::too_long(local.path(), MAX_APPARMOR_BYTES));
            }
        }
        ("RuntimeDefault" | "Unconfined", Some(_)) => {
            errors.push(local.invalid("can only be set when AppArmor type is Localhost"));
        }
        ("RuntimeDefault" | "Unconfined", None) => {}
        ("", _) => errors.push(kind.required("type is required when appArmorProfile is set")),
        _ => errors.push(kind.unsupported(PROFILE_TYPES)),
    }
}
