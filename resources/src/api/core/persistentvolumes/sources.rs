//! The storage behind a volume: exactly one source.

use registry_core::api::validation::{ErrorList, names};
use resource_views::core::v1::{
    AzureFilePersistentVolumeSource, CSIPersistentVolumeSource, CinderPersistentVolumeSource,
    GlusterfsPersistentVolumeSource, ISCSIPersistentVolumeSource, LocalVolumeSource, PersistentVolumeSpec,
    PersistentVolumeSpecMut, StorageOSPersistentVolumeSource,
};
use resource_views::{Text, Typed as _, View};

use crate::api::core::pod_spec::validation::volumes::{devices, files, shares};
use crate::support::choice::Choice;
use crate::support::resource_list::round_up;

/// Maximum length of a volume's name with the address of an iSCSI portal, in bytes.
const MAX_PORTAL_BYTES: usize = 64;

/// Sets the defaults of the source in the spec of a volume.
pub(crate) fn apply_defaults(mut spec: PersistentVolumeSpecMut<'_>) {
    spec.host_path().edit(|mut path| path.r#type().or(""));
    round_up(spec.capacity());
}

/// Checks that a spec has exactly one source, and that one.
pub(super) fn check(spec: &PersistentVolumeSpec<'_, '_>, volume: &str, errors: &mut ErrorList) {
    let mut sources = Choice::new("may not specify more than 1 volume type", errors);
    sources.check(spec.host_path(), files::check_host_path);
    sources.check(spec.gce_persistent_disk(), devices::check_gce_disk);
    sources.check(spec.aws_elastic_block_store(), devices::check_aws_disk);
    sources.check(spec.glusterfs(), check_glusterfs);
    sources.check(spec.flocker(), shares::check_flocker);
    sources.check(spec.nfs(), shares::check_nfs);
    sources.check(spec.rbd(), |source, errors| {
        source.monitors().check_not_empty(errors);
        source.image().check_present(errors);
    });
    sources.check(spec.quobyte(), shares::check_quobyte);
    sources.check_shown_as("cephFS", spec.cephfs(), |source, errors| {
        source.monitors().check_not_empty(errors);
    });
    sources.check(spec.iscsi(), |source, errors| {
        check_iscsi(source, errors);
        check_portal(source, volume, errors);
    });
    sources.check(spec.cinder(), check_cinder);
    sources.check(spec.fc(), devices::check_fibre_channel);
    sources.check_each(spec.flex_volume(), |source, errors| {
        shares::check_flex(&source.driver(), &source.options(), errors);
    });
    sources.check(spec.azure_file(), check_azure_file);
    sources.check(spec.vsphere_volume(), devices::check_vsphere);
    sources.check(spec.photon_persistent_disk(), devices::check_photon);
    sources.check(spec.portworx_volume(), devices::check_portworx);
    sources.check(spec.azure_disk(), devices::check_azure_disk);
    sources.check(spec.scale_io(), |source, errors| {
        for field in [source.gateway(), source.system(), source.volume_name()] {
            field.check_present(errors);
        }
    });
    sources.check(spec.local(), |source, errors| {
        check_local(source, errors);
        let affinity = spec.node_affinity();
        if !affinity.exists() {
            errors.push((*affinity).required("Local volume requires node affinity"));
        }
    });
    sources.check(spec.storageos(), check_storageos);
    sources.check(spec.csi(), check_csi);
    sources.require(spec, "must specify a volume type");
}

/// Whether mount options can be set by an annotation for the source of a spec.
pub(super) fn takes_mount_options(spec: &PersistentVolumeSpec<'_, '_>) -> bool {
    let takers = [
        *spec.gce_persistent_disk(),
        *spec.aws_elastic_block_store(),
        *spec.glusterfs(),
        *spec.nfs(),
        *spec.rbd(),
        *spec.quobyte(),
        *spec.iscsi(),
        *spec.cinder(),
        *spec.cephfs(),
        *spec.azure_file(),
        *spec.vsphere_volume(),
        *spec.azure_disk(),
        *spec.photon_persistent_disk(),
    ];
    takers.iter().any(View::exists)
}

fn check_local(source: &LocalVolumeSource<'_, '_>, errors: &mut ErrorList) {
    source.path().check_named(files::path_without_backsteps, errors);
}

fn check_azure_file(source: &AzureFilePersistentVolumeSource<'_, '_>, errors: &mut ErrorList) {
    shares::check_azure_file(&(*source).into(), errors);
    if source.secret_namespace().exists() {
        source.secret_namespace().check_present(errors);
    }
}

fn check_cinder(source: &CinderPersistentVolumeSource<'_, '_>, errors: &mut ErrorList) {
    source.volume_id().check_present(errors);
    let secret = source.secret_ref();
    if secret.exists() {
        secret.name().check_present(errors);
        secret.namespace().check_present(errors);
    }
}

fn check_glusterfs(source: &GlusterfsPersistentVolumeSource<'_, '_>, errors: &mut ErrorList) {
    shares::check_glusterfs(&(*source).into(), errors);
    let namespace = source.endpoints_namespace();
    if namespace.exists() && namespace.text().is_empty() {
        errors.push(namespace.invalid("if the endpointnamespace is set, it must be a valid namespace name"));
    } else if namespace.exists() {
        namespace.check(names::dns_label, errors);
    }
}

fn check_storageos(source: &StorageOSPersistentVolumeSource<'_, '_>, errors: &mut ErrorList) {
    source.volume_name().check_named(names::dns_label, errors);
    source.volume_namespace().check_if_set(names::dns_label, errors);
    let secret = source.secret_ref();
    if secret.exists() {
        secret.name().check_present(errors);
        secret.namespace().check_present(errors);
    }
}

fn check_csi(source: &CSIPersistentVolumeSource<'_, '_>, errors: &mut ErrorList) {
    shares::check_driver_name(&source.driver(), errors);
    source.volume_handle().check_present(errors);
    for secret in [
        source.controller_publish_secret_ref(),
        source.controller_expand_secret_ref(),
        source.node_publish_secret_ref(),
        source.node_expand_secret_ref(),
    ] {
        if secret.exists() {
            secret.name().check_named(names::dns_subdomain, errors);
            secret.namespace().check_named(names::dns_label, errors);
        }
    }
}

// === iSCSI ===

/// Checks that the name of a volume and its portal fit the name of an initiator.
fn check_portal(source: &ISCSIPersistentVolumeSource<'_, '_>, volume: &str, errors: &mut ErrorList) {
    let portal = source.target_portal().shown_as("targetportal");
    let bytes = volume.len() + ":".len() + portal.text().len();
    if source.initiator_name().exists() && bytes > MAX_PORTAL_BYTES {
        errors.push(portal.invalid_text(devices::LONG_PORTAL));
    }
}

fn check_iscsi(source: &ISCSIPersistentVolumeSource<'_, '_>, errors: &mut ErrorList) {
    source.target_portal().check_present(errors);
    let name = source.iqn();
    if name.check_present(errors) {
        check_iscsi_name(&name, errors);
    }
    source.lun().check_between(0, 255, errors);
    let secret = source.secret_ref();
    let authenticates = source.chap_auth_discovery().is_true() || source.chap_auth_session().is_true();
    if secret.exists() {
        secret.name().check_present(errors);
    } else if authenticates {
        errors.push(secret.required(""));
    }
    let initiator = source.initiator_name().shown_as("initiatorname");
    if initiator.exists() {
        check_iscsi_name(&initiator, errors);
    }
}

fn check_iscsi_name(name: &Text<'_, '_>, errors: &mut ErrorList) {
    if !devices::is_iscsi_name(name.text()) {
        errors.push(name.invalid("must be valid format"));
    }
}
