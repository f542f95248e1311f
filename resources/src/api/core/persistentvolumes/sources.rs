//! The storage behind a volume: exactly one source.

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};

use crate::support::defaulting::{self, Fields};
use crate::support::field::Field;

const MORE_THAN_ONE: &str = "may not specify more than 1 volume type";
const NO_FORMAT: &str = "must be valid format";
const NO_HOST_AND_PORT: &str = "must be a host:port pair or multiple pairs separated by commas";
/// Maximum length of a driver's name, in bytes.
const MAX_DRIVER_BYTES: usize = 63;
/// Maximum length of a volume's name with the address of an iSCSI portal, in bytes.
const MAX_PORTAL_BYTES: usize = 64;
/// Maximum length of a tenant of Quobyte, in bytes.
const MAX_TENANT_BYTES: usize = 64;

const HOST_PATH_TYPES: [&str; 8] =
    ["", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"];

/// Sets the defaults of the source in the spec of a volume.
pub(crate) fn apply_defaults(spec: &mut Fields) {
    defaulting::with(spec, "hostPath", |path| defaulting::fill(path, "type", ""));
}

type Check = fn(&Field<'_, '_>, &mut ErrorList);

/// A kind of source: its field, the names in paths of errors about it and about a second source, and its rules.
struct Source {
    field: &'static str,
    shown: &'static str,
    second: &'static str,
    check: Check,
}

const fn source(field: &'static str, check: Check) -> Source {
    Source { field, shown: field, second: field, check }
}

/// All kinds of sources, in the order in which they are checked.
const SOURCES: [Source; 22] = [
    source("hostPath", check_host_path),
    Source { shown: "persistentDisk", ..source("gcePersistentDisk", check_gce_disk) },
    source("awsElasticBlockStore", check_aws_disk),
    source("glusterfs", check_glusterfs),
    source("flocker", check_flocker),
    source("nfs", check_nfs),
    source("rbd", check_rbd),
    source("quobyte", check_quobyte),
    Source { second: "cephFS", ..source("cephfs", check_cephfs) },
    source("iscsi", check_iscsi),
    source("cinder", check_cinder),
    source("fc", check_fibre_channel),
    source("flexVolume", check_flex),
    source("azureFile", check_azure_file),
    source("vsphereVolume", |source, errors| need(source, &["volumePath"], errors)),
    source("photonPersistentDisk", |source, errors| need(source, &["pdID"], errors)),
    source("portworxVolume", |source, errors| need(source, &["volumeID"], errors)),
    source("azureDisk", check_azure_disk),
    source("scaleIO", |source, errors| need(source, &["gateway", "system", "volumeName"], errors)),
    source("local", check_local),
    source("storageos", check_storageos),
    source("csi", check_csi),
];

/// Checks that a spec has exactly one source, and that one.
pub(super) fn check(spec: &Field<'_, '_>, volume: &str, errors: &mut ErrorList) {
    let mut has_one = false;
    for source in &SOURCES {
        if !spec.get(source.field).exists() {
            continue;
        }
        if has_one && source.field != "flexVolume" {
            errors.push(spec.get(source.second).forbidden(MORE_THAN_ONE));
            continue;
        }
        has_one = true;
        let its = spec.get_shown_as(source.field, source.shown);
        (source.check)(&its, errors);
        if source.field == "iscsi" {
            check_portal(&its, volume, errors);
        }
        if source.field == "local" && !spec.get("nodeAffinity").exists() {
            errors.push(spec.get("nodeAffinity").required("Local volume requires node affinity"));
        }
    }
    if !has_one {
        errors.push(spec.required("must specify a volume type"));
    }
}

/// Whether mount options can be set by an annotation for the source of a spec.
pub(super) fn takes_mount_options(spec: &Field<'_, '_>) -> bool {
    const TAKE: [&str; 13] = [
        "gcePersistentDisk",
        "awsElasticBlockStore",
        "glusterfs",
        "nfs",
        "rbd",
        "quobyte",
        "iscsi",
        "cinder",
        "cephfs",
        "azureFile",
        "vsphereVolume",
        "azureDisk",
        "photonPersistentDisk",
    ];
    TAKE.iter().any(|source| spec.get(source).exists())
}

fn need(source: &Field<'_, '_>, fields: &[&str], errors: &mut ErrorList) {
    for field in fields {
        source.get(field).check_present(errors);
    }
}

// === paths ===

fn check_host_path(source: &Field<'_, '_>, errors: &mut ErrorList) {
    let path = source.get("path");
    if path.check_present(errors) {
        check_steps(&path, errors);
        source.get("type").check_one_of(&HOST_PATH_TYPES, errors);
    }
}

fn check_local(source: &Field<'_, '_>, errors: &mut ErrorList) {
    let path = source.get("path");
    if path.check_present(errors) {
        check_steps(&path, errors);
    }
}

fn check_steps(path: &Field<'_, '_>, errors: &mut ErrorList) {
    if path.text().split('/').any(|step| step == "..") {
        errors.push(path.invalid("must not contain '..'"));
    }
}

fn check_nfs(source: &Field<'_, '_>, errors: &mut ErrorList) {
    need(source, &["server", "path"], errors);
    let path = source.get("path");
    if !path.text().starts_with('/') {
        errors.push(path.invalid_text("must be an absolute path"));
    }
}

// === disks of clouds ===

fn check_partition(partition: &Field<'_, '_>, errors: &mut ErrorList) {
    if !(0..=255).contains(&partition.number()) {
        errors.push(partition.invalid("must be between 1 and 255, inclusive"));
    }
}

fn check_gce_disk(source: &Field<'_, '_>, errors: &mut ErrorList) {
    need(source, &["pdName"], errors);
    check_partition(&source.get("partition"), errors);
}

fn check_aws_disk(source: &Field<'_, '_>, errors: &mut ErrorList) {
    need(source, &["volumeID"], errors);
    check_partition(&source.get("partition"), errors);
}

fn check_azure_file(source: &Field<'_, '_>, errors: &mut ErrorList) {
    need(source, &["secretName", "shareName"], errors);
    if source.get("secretNamespace").exists() {
        need(source, &["secretNamespace"], errors);
    }
}

fn check_azure_disk(source: &Field<'_, '_>, errors: &mut ErrorList) {
    const MANAGED: &str =
        "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
    const BLOB: &str = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";
    need(source, &["diskName", "diskURI"], errors);
    source.get("cachingMode").check_one_of(&["None", "ReadOnly", "ReadWrite"], errors);
    let kind = source.get("kind");
    kind.check_one_of(&["Dedicated", "Managed", "Shared"], errors);
    let uri = source.get("diskURI");
    match kind.text() {
        _ if !kind.exists() => {}
        "Managed" if !uri.text().starts_with("/subscriptions/") => errors.push(uri.unsupported(&[MANAGED])),
        "Managed" => {}
        _ if !uri.text().starts_with("https://") => errors.push(uri.unsupported(&[BLOB])),
        _ => {}
    }
}

fn check_cinder(source: &Field<'_, '_>, errors: &mut ErrorList) {
    need(source, &["volumeID"], errors);
    let secret = source.get("secretRef");
    if secret.exists() {
        need(&secret, &["name", "namespace"], errors);
    }
}

// === storage systems ===

fn check_glusterfs(source: &Field<'_, '_>, errors: &mut ErrorList) {
    need(source, &["endpoints", "path"], errors);
    let namespace = source.get("endpointsNamespace");
    if namespace.exists() && namespace.text().is_empty() {
        errors.push(namespace.invalid("if the endpointnamespace is set, it must be a valid namespace name"));
    } else if namespace.exists() {
        namespace.check(names::dns_label, errors);
    }
}

fn check_flocker(source: &Field<'_, '_>, errors: &mut ErrorList) {
    let name = source.get("datasetName");
    let uuid = source.get("datasetUUID");
    match (name.text().is_empty(), uuid.text().is_empty()) {
        (true, true) => errors.push(source.required("one of datasetName and datasetUUID is required")),
        (false, false) => errors.push(FieldError::invalid(
            source.path(),
            "resource",
            "datasetName and datasetUUID can not be specified simultaneously",
        )),
        _ => {}
    }
    if name.text().contains('/') {
        errors.push(name.invalid("must not contain '/'"));
    }
}

fn check_rbd(source: &Field<'_, '_>, errors: &mut ErrorList) {
    source.get("monitors").check_not_empty(errors);
    need(source, &["image"], errors);
}

fn check_cephfs(source: &Field<'_, '_>, errors: &mut ErrorList) {
    source.get("monitors").check_not_empty(errors);
}

fn check_quobyte(source: &Field<'_, '_>, errors: &mut ErrorList) {
    let registry = source.get("registry");
    let tenant = source.get("tenant");
    if registry.text().is_empty() {
        errors.push(registry.required(NO_HOST_AND_PORT));
    } else if tenant.text().len() > MAX_TENANT_BYTES {
        let detail = "must be a UUID and may not exceed a length of 64 characters";
        errors.push(tenant.required(detail));
    } else {
        // One error for all pairs, because each would show the whole field.
        if registry.text().split(',').any(|pair| !is_host_and_port(pair)) {
            errors.push(registry.invalid(NO_HOST_AND_PORT));
        }
    }
    need(source, &["volume"], errors);
}

/// Whether a text is a host and a port, with an IPv6 address in brackets.
fn is_host_and_port(text: &str) -> bool {
    let Some((host, _)) = text.rsplit_once(':') else { return false };
    let inner = match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']'),
        None => Some(host).filter(|host| !host.contains(':')),
    };
    inner.is_some_and(|inner| !inner.contains(['[', ']']))
}

fn check_flex(source: &Field<'_, '_>, errors: &mut ErrorList) {
    need(source, &["driver"], errors);
    for (key, option) in source.get("options").entries() {
        let domain = key.split_once('/').map_or(key, |(domain, _)| domain);
        let domain = format!(".{}", domain.to_lowercase());
        if domain.ends_with(".kubernetes.io") || domain.ends_with(".k8s.io") {
            let detail = "kubernetes.io and k8s.io namespaces are reserved";
            errors.push(FieldError::invalid(option.path(), key, detail));
        }
    }
}

fn check_storageos(source: &Field<'_, '_>, errors: &mut ErrorList) {
    source.get("volumeName").check_named(names::dns_label, errors);
    source.get("volumeNamespace").check_if_set(names::dns_label, errors);
    let secret = source.get("secretRef");
    if secret.exists() {
        need(&secret, &["name", "namespace"], errors);
    }
}

fn check_csi(source: &Field<'_, '_>, errors: &mut ErrorList) {
    check_driver_name(&source.get("driver"), errors);
    need(source, &["volumeHandle"], errors);
    for secret in [
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ] {
        let secret = source.get(secret);
        if secret.exists() {
            secret.get("name").check_named(names::dns_subdomain, errors);
            secret.get("namespace").check_named(names::dns_label, errors);
        }
    }
}

/// Checks the name of a CSI driver.
pub(crate) fn check_driver_name(driver: &Field<'_, '_>, errors: &mut ErrorList) {
    if !driver.check_present(errors) {
        return;
    }
    driver.check_length(MAX_DRIVER_BYTES, errors);
    driver.check(|name| names::dns_subdomain(&name.to_lowercase()), errors);
}

// === block storage in networks ===

fn check_fibre_channel(source: &Field<'_, '_>, errors: &mut ErrorList) {
    let targets = source.get("targetWWNs");
    let identifiers = source.get("wwids");
    match (targets.is_empty(), identifiers.is_empty()) {
        (true, true) => {
            errors.push(targets.required("must specify either targetWWNs or wwids, but not both"));
        }
        (false, false) => {
            errors.push(targets.invalid("targetWWNs and wwids can not be specified simultaneously"));
        }
        _ => {}
    }
    if !targets.is_empty() {
        let lun = source.get("lun");
        if !lun.exists() {
            errors.push(lun.required("lun is required if targetWWNs is specified"));
        }
        lun.check_between(0, 255, errors);
    }
}

/// Checks that the name of a volume and its portal fit the name of an initiator.
fn check_portal(source: &Field<'_, '_>, volume: &str, errors: &mut ErrorList) {
    let portal = source.get_shown_as("targetPortal", "targetportal");
    let bytes = volume.len() + ":".len() + portal.text().len();
    if source.get("initiatorName").exists() && bytes > MAX_PORTAL_BYTES {
        let detail = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";
        errors.push(portal.invalid_text(detail));
    }
}

fn check_iscsi(source: &Field<'_, '_>, errors: &mut ErrorList) {
    need(source, &["targetPortal"], errors);
    let name = source.get("iqn");
    if name.check_present(errors) && !is_iscsi_name(name.text()) {
        errors.push(name.invalid(NO_FORMAT));
    }
    let lun = source.get("lun");
    lun.check_between(0, 255, errors);
    let secret = source.get("secretRef");
    let authenticates = source.get("chapAuthDiscovery").is_true() || source.get("chapAuthSession").is_true();
    if secret.exists() {
        need(&secret, &["name"], errors);
    } else if authenticates {
        errors.push(secret.required(""));
    }
    let initiator = source.get_shown_as("initiatorName", "initiatorname");
    if initiator.exists() && !is_iscsi_name(initiator.text()) {
        errors.push(initiator.invalid(NO_FORMAT));
    }
}

/// Whether a text is a name of iSCSI in one of its three forms.
fn is_iscsi_name(name: &str) -> bool {
    let has_digits = |digits: usize| {
        let mut letters = name.chars().skip(4);
        let count = letters.by_ref().take_while(char::is_ascii_alphanumeric).count();
        name.chars().count() == 4 + digits && count == digits
    };
    match name.get(..3) {
        Some("iqn") => is_qualified_iscsi_name(name),
        Some("eui") => has_digits(16),
        Some("naa") => has_digits(32),
        _ => false,
    }
}

/// Whether a text contains `iqn.`, a year and a month, a domain, a colon, and a name up to its end.
fn is_qualified_iscsi_name(text: &str) -> bool {
    const PREFIX: &[u8] = b"iqn.dddd-dd.";
    let is_clean =
        |letter: char| !matches!(letter, ',' | ';' | '*' | '&' | '$' | '|') && !letter.is_ascii_whitespace();
    let clean_from = text.len()
        - text.chars().rev().take_while(|letter| is_clean(*letter)).map(char::len_utf8).sum::<usize>();
    let is_prefix = |window: &[u8]| {
        window.iter().zip(PREFIX).all(|(byte, wanted)| match wanted {
            b'd' => byte.is_ascii_digit(),
            wanted => byte == wanted,
        })
    };
    let is_domain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'.';
    let mut end = 0;
    for segment in text.split(':') {
        end += segment.len() + 1;
        // What follows the colon must not be empty.
        if end >= text.len() || end < clean_from {
            continue;
        }
        let start = segment.bytes().rev().take_while(|byte| is_domain(*byte)).count();
        let domain = segment.as_bytes().get(segment.len() - start..).unwrap_or_default();
        let searched = domain.get(..domain.len().saturating_sub(1)).unwrap_or_default();
        if searched.windows(PREFIX.len()).any(is_prefix) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_iscsi_have_three_forms() {
        for good in [
            "iqn.2015-02.example.com:test",
            "iqn.2015-02.example.com:a:b",
            "eui.0123456789abcdef",
            "naa.62004567BA64678D0123456789ABCDEF",
        ] {
            assert!(is_iscsi_name(good), "{good}");
        }
        for bad in [
            "",
            "iqn",
            "iqn.2015-02.example.com",
            "iqn.2015-02.:x",
            "iqn.2015-02.example.com:",
            "iqn.2015-02.example.com:a,b",
            "iqn.2015-2.example.com:x",
            "eui.0123",
            "naa.0123456789abcdef",
            "other",
        ] {
            assert!(!is_iscsi_name(bad), "{bad}");
        }
    }

    #[test]
    fn hosts_have_ports() {
        for good in ["a:1", "[::1]:2", ":3", "a:"] {
            assert!(is_host_and_port(good), "{good}");
        }
        for bad in ["a", "::1:2", "[::1]", "[a", "a]:1", "[[a]:1"] {
            assert!(!is_host_and_port(bad), "{bad}");
        }
    }
}
