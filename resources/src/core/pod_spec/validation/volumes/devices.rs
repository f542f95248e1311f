//! Volumes on block devices.

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;

use super::Options;
use crate::support::field::Field;

const MANAGED_DISKS: &str = "/subscriptions/";
const BLOBS: &str = "https://";
const MAX_NAME_AND_PORTAL: usize = 64;

fn check_all_present(source: &Field<'_, '_>, fields: &[&str], errors: &mut ErrorList) {
    for field in fields {
        source.get(field).check_present(errors);
    }
}

pub(super) fn check_gce_disk(source: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    let source = source.called("persistentDisk");
    source.get("pdName").check_present(errors);
    check_partition(&source.get("partition"), errors);
}

pub(super) fn check_aws_disk(source: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    source.get("volumeID").check_present(errors);
    check_partition(&source.get("partition"), errors);
}

/// Checks the number of a partition; 0 is that of the whole disk.
fn check_partition(partition: &Field<'_, '_>, errors: &mut ErrorList) {
    if partition.number() != 0 {
        partition.check_between(1, 255, errors);
    }
}

pub(super) fn check_rbd(source: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    source.get("monitors").check_not_empty(errors);
    source.get("image").check_present(errors);
}

pub(super) fn check_cinder(source: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    source.get("volumeID").check_present(errors);
    let secret = source.get("secretRef");
    if secret.exists() {
        secret.get("name").check_present(errors);
    }
}

pub(super) fn check_vsphere(source: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    source.get("volumePath").check_present(errors);
}

pub(super) fn check_photon(source: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    source.get("pdID").check_present(errors);
}

pub(super) fn check_portworx(source: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    source.get("volumeID").check_present(errors);
}

pub(super) fn check_scale_io(source: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    check_all_present(source, &["gateway", "system", "volumeName"], errors);
}

pub(super) fn check_azure_disk(source: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    check_all_present(source, &["diskName", "diskURI"], errors);
    source.get("cachingMode").check_one_of(&["None", "ReadOnly", "ReadWrite"], errors);
    let kind = source.get("kind");
    kind.check_one_of(&["Dedicated", "Managed", "Shared"], errors);
    let address = source.get("diskURI");
    match kind.optional_text() {
        Some("Managed") if !address.text().starts_with(MANAGED_DISKS) => {
            let form = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}";
            errors.push(address.unsupported(&[form]));
        }
        Some("Managed") | None => {}
        Some(_) if !address.text().starts_with(BLOBS) => {
            let form = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd";
            errors.push(address.unsupported(&[form]));
        }
        Some(_) => {}
    }
}

pub(super) fn check_fibre_channel(source: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    let targets = source.get("targetWWNs");
    let devices = source.get("wwids");
    if targets.is_empty() && devices.is_empty() {
        errors.push(targets.required("must specify either targetWWNs or wwids, but not both"));
    }
    if !targets.is_empty() && !devices.is_empty() {
        errors.push(targets.invalid("targetWWNs and wwids can not be specified simultaneously"));
    }
    if targets.is_empty() {
        return;
    }
    let unit = source.get("lun");
    if unit.exists() {
        unit.check_between(0, 255, errors);
    } else {
        errors.push(unit.required("lun is required if targetWWNs is specified"));
    }
}

// === iSCSI ===

pub(super) fn check_iscsi(source: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    source.get("targetPortal").check_present(errors);
    source.get("iqn").check_named(iscsi_name, errors);
    source.get("lun").check_between(0, 255, errors);
    let authenticates =
        ["chapAuthDiscovery", "chapAuthSession"].iter().any(|kind| source.get(kind).is_true());
    let secret = source.get("secretRef");
    if authenticates && !secret.exists() {
        errors.push(secret.required(""));
    }
    let initiator = source.get("initiatorName").called("initiatorname");
    initiator.check_if_present(iscsi_name, errors);
}

/// Checks that the name of a volume and the address of its target are short enough for the node's configuration.
pub(super) fn check_initiator_length(volume: &Field<'_, '_>, source: &Field<'_, '_>, errors: &mut ErrorList) {
    let name = volume.get("name");
    let length = name.text().len() + 1 + source.get("targetPortal").text().len();
    if source.get("initiatorName").exists() && length > MAX_NAME_AND_PORTAL {
        let detail = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";
        errors.push(FieldError::invalid(name.path(), name.text(), detail));
    }
}

/// A name in one of the three forms of iSCSI.
fn iscsi_name(name: &str) -> Vec<String> {
    let is_valid = match name.get(..3) {
        Some("iqn") => is_qualified(name),
        Some("eui") => has_characters(name, 16),
        Some("naa") => has_characters(name, 32),
        _ => return vec!["must be valid format starting with iqn, eui, or naa".to_owned()],
    };
    if is_valid { Vec::new() } else { vec!["must be valid format".to_owned()] }
}

/// Whether it is like `iqn.2001-04.com.example:storage`.
fn is_qualified(name: &str) -> bool {
    let Some((authority, unit)) = name.split_once(':') else { return false };
    let mut parts = authority.splitn(3, '.');
    let (Some("iqn"), Some(month), Some(domain)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let is_month = month.len() == 7
        && month
            .bytes()
            .enumerate()
            .all(|(at, byte)| if at == 4 { byte == b'-' } else { byte.is_ascii_digit() });
    let is_domain_byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.');
    is_month
        && !domain.is_empty()
        && domain.bytes().all(is_domain_byte)
        && !unit.is_empty()
        && !unit.contains([',', ';', '*', '&', '$', '|', ' ', '\t', '\n', '\r', '\u{c}'])
}

/// Whether a prefix and any one character are followed by this number of letters and digits.
fn has_characters(name: &str, count: usize) -> bool {
    let mut rest = name.chars().skip(4);
    let digits = rest.by_ref().take_while(char::is_ascii_alphanumeric).count();
    digits == count && name.chars().count() == 4 + count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_iscsi_have_three_forms() {
        for valid in [
            "iqn.2001-04.com.example:storage.kube.sys1.xyz",
            "iqn.2001-04.com-x:a:b",
            "eui.0123456789ABCDEF",
            "naa.62004567BA64678D0123456789ABCDEF",
        ] {
            assert!(iscsi_name(valid).is_empty(), "{valid}");
        }
        for invalid in [
            "",
            "iqn",
            "iqn.2001-04.com.example",
            "iqn.2001-04:x",
            "iqn.201-04.com:x",
            "iqn.2001-04.com:a b",
            "eui.0123456789ABCDE",
            "eui.0123456789ABCDEFG",
            "naa.0",
            "foo.x",
        ] {
            assert!(!iscsi_name(invalid).is_empty(), "{invalid}");
        }
    }
}
