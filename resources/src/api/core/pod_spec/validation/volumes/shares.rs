//! Volumes in shared file systems, and of drivers.

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};
use resource_views::core::v1::{
    AzureFileVolumeSource, CSIVolumeSource, CephFSVolumeSource, FlockerVolumeSource, GlusterfsVolumeSource,
    NFSVolumeSource, QuobyteVolumeSource, StorageOSVolumeSource,
};
use resource_views::{Map, Text};

use super::text_rules;

const PAIRS: &str = "must be a host:port pair or multiple pairs separated by commas";
const MAX_TENANT_CHARACTERS: usize = 64;
/// Maximum length of the name of a driver, in bytes.
const MAX_DRIVER_BYTES: usize = 63;

pub(in crate::api::core) fn check_nfs(source: &NFSVolumeSource<'_, '_>, errors: &mut ErrorList) {
    source.server().check_present(errors);
    let path = source.path();
    path.check_present(errors);
    if !path.text().starts_with('/') {
        errors.push(path.invalid_text("must be an absolute path"));
    }
}

pub(in crate::api::core) fn check_glusterfs(source: &GlusterfsVolumeSource<'_, '_>, errors: &mut ErrorList) {
    source.endpoints().check_present(errors);
    source.path().check_present(errors);
}

pub(in crate::api::core) fn check_flocker(source: &FlockerVolumeSource<'_, '_>, errors: &mut ErrorList) {
    let name = source.dataset_name();
    match (name.text().is_empty(), source.dataset_uuid().text().is_empty()) {
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

pub(super) fn check_cephfs(source: &CephFSVolumeSource<'_, '_>, errors: &mut ErrorList) {
    source.monitors().check_not_empty(errors);
}

pub(in crate::api::core) fn check_quobyte(source: &QuobyteVolumeSource<'_, '_>, errors: &mut ErrorList) {
    let registry = source.registry();
    let tenant = source.tenant();
    if registry.text().is_empty() {
        errors.push(registry.required(PAIRS));
    } else if tenant.text().len() > MAX_TENANT_CHARACTERS {
        errors.push(tenant.required("must be a UUID and may not exceed a length of 64 characters"));
    } else {
        // A single error for all pairs, because each would show the whole field.
        if registry.text().split(',').any(|pair| !is_host_and_port(pair)) {
            errors.push(registry.invalid(PAIRS));
        }
    }
    source.volume().check_present(errors);
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
pub(in crate::api::core) fn check_flex(
    driver: &Text<'_, '_>,
    options: &Map<Text<'_, '_>>,
    errors: &mut ErrorList,
) {
    driver.check_present(errors);
    for (key, option) in options.entries() {
        let namespace = key.split('/').next().unwrap_or_default();
        let namespace = format!(".{}", namespace.to_lowercase());
        if namespace.ends_with(".kubernetes.io") || namespace.ends_with(".k8s.io") {
            let detail = "kubernetes.io and k8s.io namespaces are reserved";
            errors.push(FieldError::invalid(option.path(), key, detail));
        }
    }
}

pub(in crate::api::core) fn check_azure_file(source: &AzureFileVolumeSource<'_, '_>, errors: &mut ErrorList) {
    source.secret_name().check_present(errors);
    source.share_name().check_present(errors);
}

pub(super) fn check_storageos(source: &StorageOSVolumeSource<'_, '_>, errors: &mut ErrorList) {
    source.volume_name().check_named(names::dns_label, errors);
    source.volume_namespace().check_if_set(names::dns_label, errors);
    let secret = source.secret_ref();
    if secret.exists() {
        secret.name().check_present(errors);
    }
}

/// Checks the name of a CSI driver.
pub(crate) fn check_driver_name(driver: &Text<'_, '_>, errors: &mut ErrorList) {
    if driver.check_present(errors) {
        driver.check_length(MAX_DRIVER_BYTES, errors);
        driver.check(text_rules::caseless_subdomain, errors);
    }
}

pub(super) fn check_csi(source: &CSIVolumeSource<'_, '_>, errors: &mut ErrorList) {
    check_driver_name(&source.driver(), errors);
    let secret = source.node_publish_secret_ref();
    if !secret.exists() {
        return;
    }
    let name = secret.name();
    if name.check_present(errors) {
        for complaint in names::dns_subdomain(name.text()) {
            errors.push(FieldError::invalid(source.path().child("name"), name.text(), complaint));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_ports() {
        for good in ["a:1", "[::1]:2", ":3", "a:"] {
            assert!(is_host_and_port(good), "{good}");
        }
        for bad in ["a", "::1:2", "[::1]", "[a", "a]:1", "[[a]:1", "a:1]"] {
            assert!(!is_host_and_port(bad), "{bad}");
        }
    }
}
