//! Pods on Windows, and what of other pods Windows does not have.

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};
use resource_views::View;
use resource_views::core::v1::{PodSpec, WindowsSecurityContextOptions};

use super::Options;

const NOT_ON_WINDOWS: &str = "cannot be set for a windows pod";
const MAX_CREDENTIAL_KIB: usize = 64;
const MAX_DOMAIN_CHARACTERS: usize = 256;
const MAX_USER_CHARACTERS: usize = 104;
const SYSTEMS: &[&str] = &["linux", "windows"];

// === the operating system ===

/// Checks that a pod has no field that its operating system does not have.
pub(super) fn check_system(spec: &PodSpec<'_, '_>, errors: &mut ErrorList) {
    let system = spec.os();
    if !system.exists() {
        return;
    }
    let name = system.name();
    match name.text() {
        "" => errors.push(name.required("")),
        "linux" => check_linux(spec, errors),
        "windows" => check_windows(spec, errors),
        other => errors.push(FieldError::not_supported(system.path(), other, SYSTEMS)),
    }
}

fn check_linux(spec: &PodSpec<'_, '_>, errors: &mut ErrorList) {
    const NOT_ON_LINUX: &str = "windows options cannot be set for a linux pod";
    spec.security_context().windows_options().check_absent(NOT_ON_LINUX, errors);
    super::visit_containers(spec, |container| {
        container.security_context().windows_options().check_absent(NOT_ON_LINUX, errors);
    });
}

fn check_windows(spec: &PodSpec<'_, '_>, errors: &mut ErrorList) {
    let mut refuse = |field: &View<'_, '_>| field.check_absent(NOT_ON_WINDOWS, errors);
    refuse(&spec.host_users());
    refuse(&spec.share_process_namespace());
    for field in [spec.host_pid(), spec.host_ipc()].iter().filter(|field| field.is_true()) {
        refuse(field);
    }
    let context = spec.security_context();
    refuse(&context.app_armor_profile());
    refuse(&context.se_linux_options());
    refuse(&context.seccomp_profile());
    refuse(&context.fs_group());
    refuse(&context.fs_group_change_policy());
    if !context.sysctls().is_empty() {
        refuse(&context.sysctls());
    }
    refuse(&context.run_as_user());
    refuse(&context.run_as_group());
    refuse(&context.supplemental_groups());
    refuse(&context.supplemental_groups_policy());
    refuse(&context.se_linux_change_policy());
    super::visit_containers(spec, |container| {
        let context = container.security_context();
        refuse(&context.app_armor_profile());
        refuse(&context.se_linux_options());
        refuse(&context.seccomp_profile());
        refuse(&context.capabilities());
        refuse(&context.read_only_root_filesystem());
        refuse(&context.privileged());
        refuse(&context.allow_privilege_escalation());
        refuse(&context.proc_mount());
        refuse(&context.run_as_user());
        refuse(&context.run_as_group());
    });
}

// === options ===

/// Checks the options for Windows in a security context.
pub(super) fn check_options(options: &WindowsSecurityContextOptions<'_, '_>, errors: &mut ErrorList) {
    if !options.exists() {
        return;
    }
    options.gmsa_credential_spec_name().check_if_present(names::dns_subdomain, errors);
    let credential = options.gmsa_credential_spec();
    if let Some(text) = credential.optional_text() {
        if text.is_empty() {
            errors.push(credential.invalid("gmsaCredentialSpec cannot be an empty string"));
        } else if text.len() > MAX_CREDENTIAL_KIB * 1_024 {
            let detail = format!("gmsaCredentialSpec size must be under {MAX_CREDENTIAL_KIB} KiB");
            errors.push(credential.invalid(detail));
        }
    }
    options.run_as_user_name().check_if_present(user_name, errors);
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
pub(super) fn check_host_processes(spec: &PodSpec<'_, '_>, options: &Options, errors: &mut ErrorList) {
    let of_pod = spec.security_context().windows_options().host_process().truth();
    let mut containers = 0;
    let mut on_host = 0;
    super::visit_containers(spec, |container| {
        containers += 1;
        let context = container.security_context();
        let options = context.windows_options();
        let own_field = options.host_process();
        let own = own_field.truth();
        if let (Some(of_pod), Some(own)) = (of_pod, own)
            && of_pod != own
        {
            let detail =
                format!("pod hostProcess value must be identical if both are specified, was {of_pod}");
            errors.push(FieldError::invalid(own_field.path(), own, detail));
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
    let network = spec.host_network();
    if !network.is_true() {
        let detail = "hostNetwork must be true if pod contains any hostProcess containers";
        errors.push(FieldError::invalid(network.path(), false, detail));
    }
    if !options.policy.allows_privileged {
        errors.push(spec.forbidden("hostProcess containers are disallowed by cluster policy"));
    }
}
