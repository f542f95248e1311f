//! Volumes on block devices.

use registry_core::api::validation::ErrorList;
use resource_views::core::v1::{
    AWSElasticBlockStoreVolumeSource, AzureDiskVolumeSource, CinderVolumeSource, FCVolumeSource,
    GCEPersistentDiskVolumeSource, ISCSIVolumeSource, PhotonPersistentDiskVolumeSource, PortworxVolumeSource,
    RBDVolumeSource, ScaleIOVolumeSource, Volume, VsphereVirtualDiskVolumeSource,
};
use resource_views::{Integer, Typed as _};

const MANAGED_DISKS: &str = "/subscriptions/";
const BLOBS: &str = "https://";
const MAX_NAME_AND_PORTAL: usize = 64;
pub(in crate::api::core) const LONG_PORTAL: &str = "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.";

pub(in crate::api::core) fn check_gce_disk(
    source: &GCEPersistentDiskVolumeSource<'_, '_>,
    errors: &mut ErrorList,
) {
    let source = source.shown_as("persistentDisk");
    source.pd_name().check_present(errors);
    check_partition(&source.partition(), errors);
}

pub(in crate::api::core) fn check_aws_disk(
    source: &AWSElasticBlockStoreVolumeSource<'_, '_>,
    errors: &mut ErrorList,
) {
    source.volume_id().check_present(errors);
    check_partition(&source.partition(), errors);
}

/// Checks the number of a partition; 0 is that of the whole disk.
fn check_partition(partition: &Integer<'_, '_>, errors: &mut ErrorList) {
    if partition.number() != 0 {
        partition.check_between(1, 255, errors);
    }
}

pub(super) fn check_rbd(source: &RBDVolumeSource<'_, '_>, errors: &mut ErrorList) {
    source.monitors().check_not_empty(errors);
    source.image().check_present(errors);
}

pub(super) fn check_cinder(source: &CinderVolumeSource<'_, '_>, errors: &mut ErrorList) {
    source.volume_id().check_present(errors);
    let secret = source.secret_ref();
    if secret.exists() {
        secret.name().check_present(errors);
    }
}

pub(in crate::api::core) fn check_vsphere(
    source: &VsphereVirtualDiskVolumeSource<'_, '_>,
    errors: &mut ErrorList,
) {
    source.volume_path().check_present(errors);
}

pub(in crate::api::core) fn check_photon(
    source: &PhotonPersistentDiskVolumeSource<'_, '_>,
    errors: &mut ErrorList,
) {
    source.pd_id().check_present(errors);
}

pub(in crate::api::core) fn check_portworx(source: &PortworxVolumeSource<'_, '_>, errors: &mut ErrorList) {
    source.volume_id().check_present(errors);
}

pub(super) fn check_scale_io(source: &ScaleIOVolumeSource<'_, '_>, errors: &mut ErrorList) {
    source.gateway().check_present(errors);
    source.system().check_present(errors);
    source.volume_name().check_present(errors);
}

pub(in crate::api::core) fn check_azure_disk(source: &AzureDiskVolumeSource<'_, '_>, errors: &mut ErrorList) {
    source.disk_name().check_present(errors);
    source.disk_uri().check_present(errors);
    source.caching_mode().check_one_of(&["None", "ReadOnly", "ReadWrite"], errors);
    let kind = source.kind();
    kind.check_one_of(&["Dedicated", "Managed", "Shared"], errors);
    let address = source.disk_uri();
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

pub(in crate::api::core) fn check_fibre_channel(source: &FCVolumeSource<'_, '_>, errors: &mut ErrorList) {
    let targets = source.target_wwns();
    let devices = source.wwids();
    if targets.is_empty() && devices.is_empty() {
        errors.push(targets.required("must specify either targetWWNs or wwids, but not both"));
    }
    if !targets.is_empty() && !devices.is_empty() {
        errors.push(targets.invalid("targetWWNs and wwids can not be specified simultaneously"));
    }
    if targets.is_empty() {
        return;
    }
    let unit = source.lun();
    if unit.exists() {
        unit.check_between(0, 255, errors);
    } else {
        errors.push(unit.required("lun is required if targetWWNs is specified"));
    }
}

// === iSCSI ===

pub(super) fn check_iscsi(source: &ISCSIVolumeSource<'_, '_>, errors: &mut ErrorList) {
    source.target_portal().check_present(errors);
    source.iqn().check_named(iscsi_name, errors);
    source.lun().check_between(0, 255, errors);
    let authenticates = source.chap_auth_discovery().is_true() || source.chap_auth_session().is_true();
    let secret = source.secret_ref();
    if authenticates && !secret.exists() {
        errors.push(secret.required(""));
    }
    let initiator = source.initiator_name().shown_as("initiatorname");
    initiator.check_if_present(iscsi_name, errors);
}

/// Checks that the name of a volume and the address of its target are short enough for the node's configuration.
pub(super) fn check_initiator_length(
    volume: &Volume<'_, '_>,
    source: &ISCSIVolumeSource<'_, '_>,
    errors: &mut ErrorList,
) {
    let name = volume.name();
    let length = name.text().len() + 1 + source.target_portal().text().len();
    if source.initiator_name().exists() && length > MAX_NAME_AND_PORTAL {
        errors.push(name.invalid_text(LONG_PORTAL));
    }
}

/// A name in one of the three forms of iSCSI.
fn iscsi_name(name: &str) -> Vec<String> {
    let complaint = match name.get(..3) {
        Some("iqn" | "eui" | "naa") if is_iscsi_name(name) => return Vec::new(),
        Some("iqn" | "eui" | "naa") => "must be valid format",
        _ => "must be valid format starting with iqn, eui, or naa",
    };
    vec![complaint.to_owned()]
}

/// Whether a text is a name of iSCSI in one of its three forms.
pub(in crate::api::core) fn is_iscsi_name(name: &str) -> bool {
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
        // The part after the colon must not be empty.
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
            "iqn.2015-2.example.com:x",
            "iqn.2015-02.:x",
            "iqn.2015-02.example.com:",
            "iqn.2015-02.example.com:a,b",
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
