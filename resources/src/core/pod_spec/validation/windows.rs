//! Pods on Windows, and what of other pods Windows does not have.

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};

use super::Options;
use crate::support::field::Field;

const NOT_ON_WINDOWS: &str = "cannot be set for a windows pod";
const MAX_CREDENTIAL_KIB: usize = 64;
const MAX_DOMAIN_CHARACTERS: usize = 256;
const MAX_USER_CHARACTERS: usize = 104;
const SYSTEMS: &[&str] = &["linux", "windows"];

/// Fields of a pod's security context that Windows does not have.
const OF_POD_CONTEXTS: [&str; 11] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
];
/// Fields of a container's security context that Windows does not have.
const OF_CONTEXTS: [&str; 10] = [
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
];

// === the operating system ===

/// Checks that a pod has no field that its operating system does not have.
pub(super) fn check_system(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let system = spec.get("os");
    if !system.exists() {
        return;
    }
    let name = system.get("name");
    match name.text() {
        "" => errors.push(name.required("")),
        "linux" => check_linux(spec, errors),
        "windows" => check_windows(spec, errors),
        other => errors.push(FieldError::not_supported(system.path(), other, SYSTEMS)),
    }
}

fn check_linux(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let mut check = |holder: &Field<'_, '_>| {
        let context = holder.get("securityContext");
        context.get("windowsOptions").check_absent("windows options cannot be set for a linux pod", errors);
    };
    check(spec);
    super::visit_containers(spec, |container| check(container));
}

fn check_windows(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    for field in ["hostUsers", "shareProcessNamespace"] {
        spec.get(field).check_absent(NOT_ON_WINDOWS, errors);
    }
    for field in ["hostPID", "hostIPC"] {
        let field = spec.get(field);
        if field.is_true() {
            errors.push(field.forbidden(NOT_ON_WINDOWS));
        }
    }
    let context = spec.get("securityContext");
    for name in OF_POD_CONTEXTS {
        let field = context.get(name);
        if name != "sysctls" || !field.is_empty() {
            field.check_absent(NOT_ON_WINDOWS, errors);
        }
    }
    super::visit_containers(spec, |container| {
        let context = container.get("securityContext");
        for field in OF_CONTEXTS {
            context.get(field).check_absent(NOT_ON_WINDOWS, errors);
        }
    });
}

// === options ===

/// Checks the options for Windows in a security context.
pub(super) fn check_options(options: &Field<'_, '_>, errors: &mut ErrorList) {
    if !options.exists() {
        return;
    }
    options.get("gmsaCredentialSpecName").check_if_present(names::dns_subdomain, errors);
    let credential = options.get("gmsaCredentialSpec");
    if let Some(text) = credential.optional_text() {
        if text.is_empty() {
            errors.push(credential.invalid("gmsaCredentialSpec cannot be an empty string"));
        } else if text.len() > MAX_CREDENTIAL_KIB * 1_024 {
            let detail = format!("gmsaCredentialSpec size must be under {MAX_CREDENTIAL_KIB} KiB");
            errors.push(credential.invalid(detail));
        }
    }
    options.get("runAsUserName").check_if_present(user_name, errors);
}

/// The name of a user, with or without a domain: `DOMAIN\user`.
fn user_name(name: &str) -> Vec<String> {
    let complain = |complaint: &str| vec![complaint.to_owned()];
    if name.is_empty() {
        return complain("runAsUserName cannot be an empty string");
    }
    if name.bytes().any(|byte| byte.is_ascii_control()) {
        return complain("runAsUserName cannot contain control characters");
    }
    let mut parts = name.split('\\');
    let (domain, user) = match (parts.next(), parts.next(), parts.next()) {
        (_, _, Some(_)) => return complain("runAsUserName cannot contain more than one backslash"),
        (Some(domain), Some(user), None) => (Some(domain), user),
        (user, _, None) => (None, user.unwrap_or_default()),
    };
    let mut complaints = Vec::new();
    if domain.is_some_and(|domain| domain.len() >= MAX_DOMAIN_CHARACTERS) {
        complaints
            .push(format!("runAsUserName's Domain length must be under {MAX_DOMAIN_CHARACTERS} characters"));
    }
    if domain.is_some_and(|domain| !is_net_bios_name(domain) && !is_domain(domain)) {
        complaints.push("runAsUserName's Domain doesn't match the NetBios nor the DNS format".to_owned());
    }
    if user.is_empty() {
        complaints.push("runAsUserName's User cannot be empty".to_owned());
    } else if user.len() > MAX_USER_CHARACTERS {
        complaints.push(format!(
            "runAsUserName's User length must not be longer than {MAX_USER_CHARACTERS} characters"
        ));
    }
    if !user.is_empty() && user.bytes().all(|byte| matches!(byte, b'.' | b' ')) {
        complaints.push("runAsUserName's User cannot contain only periods or spaces".to_owned());
    }
    if user.contains(['"', '/', '\\', ':', ';', '|', '=', ',', '+', '*', '?', '<', '>', '@', '[', ']']) {
        let text = r#"runAsUserName's User cannot contain the following characters: "/\:;|=,+*?<>@[]"#;
        complaints.push(text.to_owned());
    }
    complaints
}

fn is_net_bios_name(name: &str) -> bool {
    const MAX_CHARACTERS: usize = 15;
    !name.is_empty()
        && name.chars().count() <= MAX_CHARACTERS
        && !name.starts_with('.')
        && !name.contains(['\\', '/', ':', '*', '?', '"', '<', '>', '|'])
}

fn is_domain(name: &str) -> bool {
    const MAX_LABEL: usize = 63;
    let is_label = |label: &str| {
        let is_letter = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
        label.len() <= MAX_LABEL
            && is_letter(label.bytes().next())
            && is_letter(label.bytes().next_back())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    name.split('.').all(is_label)
}

// === host processes ===

/// Checks that either all containers of a pod or none are host processes, and that this is allowed.
pub(super) fn check_host_processes(spec: &Field<'_, '_>, options: &Options, errors: &mut ErrorList) {
    let of_pod = host_process(spec);
    let mut containers = 0;
    let mut on_host = 0;
    super::visit_containers(spec, |container| {
        containers += 1;
        let own = host_process(container);
        if let (Some(of_pod), Some(own)) = (of_pod, own)
            && of_pod != own
        {
            let path = container.path().child("securityContext").child("windowsOptions").child("hostProcess");
            let detail =
                format!("pod hostProcess value must be identical if both are specified, was {of_pod}");
            errors.push(FieldError::invalid(path, own, detail));
        }
        if own.or(of_pod) == Some(true) {
            on_host += 1;
        }
    });
    if on_host == 0 {
        return;
    }
    if on_host != containers {
        let detail =
            "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        errors.push(FieldError::invalid(spec.path(), "", detail));
    }
    let network = spec.get("hostNetwork");
    if !network.is_true() {
        let detail = "hostNetwork must be true if pod contains any hostProcess containers";
        errors.push(FieldError::invalid(network.path(), false, detail));
    }
    if !options.policy.allows_privileged {
        errors.push(spec.forbidden("hostProcess containers are disallowed by cluster policy"));
    }
}

/// Returns the setting in the security context of a pod or of a container.
fn host_process(holder: &Field<'_, '_>) -> Option<bool> {
    let context = holder.get("securityContext");
    let options = context.get("windowsOptions");
    options.get("hostProcess").truth()
}
