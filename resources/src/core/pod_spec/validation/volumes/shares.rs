//! Volumes in shared file systems, and of drivers.

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};

use super::{Options, text_rules};
use crate::support::field::Field;

const PAIRS: &str = "must be a host:port pair or multiple pairs separated by commas";
const MAX_TENANT_CHARACTERS: usize = 64;
const MAX_DRIVER_CHARACTERS: usize = 63;

pub(super) fn check_nfs(source: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    source.get("server").check_present(errors);
    let path = source.get("path");
    path.check_present(errors);
    if !path.text().starts_with('/') {
        errors.push(path.invalid_text("must be an absolute path"));
    }
}

pub(super) fn check_glusterfs(source: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    source.get("endpoints").check_present(errors);
    source.get("path").check_present(errors);
}

pub(super) fn check_flocker(source: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    let name = source.get("datasetName");
    match (name.text().is_empty(), source.get("datasetUUID").text().is_empty()) {
        (true, true) => errors.push(source.required("one of datasetName and datasetUUID is required")),
        (false, false) => {
            let detail = "datasetName and datasetUUID can not be specified simultaneously";
            errors.push(FieldError::invalid(source.path(), "resource", detail));
        }
        _ => {}
    }
    if name.text().contains('/') {
        errors.push(name.invalid("must not contain '/'"));
    }
}

pub(super) fn check_cephfs(source: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    source.get("monitors").check_not_empty(errors);
}

pub(super) fn check_quobyte(source: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    let registry = source.get("registry");
    let tenant = source.get("tenant");
    if registry.text().is_empty() {
        errors.push(registry.required(PAIRS));
    } else if tenant.text().len() > MAX_TENANT_CHARACTERS {
        errors.push(tenant.required("must be a UUID and may not exceed a length of 64 characters"));
    } else {
        for _ in registry.text().split(',').filter(|pair| !is_host_and_port(pair)) {
            errors.push(registry.invalid(PAIRS));
        }
    }
    source.get("volume").check_present(errors);
}

/// Whether it is like `host:port` or `[address]:port`.
fn is_host_and_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let (host, is_bracketed) = match host.strip_prefix('[') {
        Some(rest) => match rest.strip_suffix(']') {
            Some(address) => (address, true),
            None => return false,
        },
        None => (host, false),
    };
    (is_bracketed || !host.contains(':')) && !host.contains(['[', ']']) && !port.contains(['[', ']'])
}

/// Checks a volume of a driver on the node. Its options must not be in the namespaces of Kubernetes.
pub(super) fn check_flex(source: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    source.get("driver").check_present(errors);
    for (key, option) in source.get("options").entries() {
        let namespace = key.split('/').next().unwrap_or_default();
        let namespace = format!(".{}", namespace.to_lowercase());
        if namespace.ends_with(".kubernetes.io") || namespace.ends_with(".k8s.io") {
            let detail = "kubernetes.io and k8s.io namespaces are reserved";
            errors.push(FieldError::invalid(option.path(), key, detail));
        }
    }
}

pub(super) fn check_azure_file(source: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    source.get("secretName").check_present(errors);
    source.get("shareName").check_present(errors);
}

pub(super) fn check_storageos(source: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    source.get("volumeName").check_named(names::dns_label, errors);
    source.get("volumeNamespace").check_if_set(names::dns_label, errors);
    let secret = source.get("secretRef");
    if secret.exists() {
        secret.get("name").check_present(errors);
    }
}

pub(super) fn check_csi(source: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    let driver = source.get("driver");
    if driver.check_present(errors) {
        if driver.text().len() > MAX_DRIVER_CHARACTERS {
            errors.push(FieldError::too_long(driver.path(), MAX_DRIVER_CHARACTERS));
        }
        driver.check(text_rules::caseless_subdomain, errors);
    }
    let secret = source.get("nodePublishSecretRef");
    if !secret.exists() {
        return;
    }
    let name = secret.get("name");
    if name.check_present(errors) {
        for complaint in names::dns_subdomain(name.text()) {
            errors.push(FieldError::invalid(source.path().child("name"), name.text(), complaint));
        }
    }
}
