//! Volumes of a pod spec.

pub(super) mod claim_template;
pub(in crate::api::core) mod devices;
pub(in crate::api::core) mod files;
mod projected;
pub(crate) mod shares;

use std::collections::{HashMap, HashSet};

use registry_core::api::validation::{ErrorList, names};
use resource_views::core::v1::{
    EmptyDirVolumeSource, EphemeralVolumeSource, ImageVolumeSource, PersistentVolumeClaimVolumeSource, Volume,
};
use resource_views::{List, Text};

use super::{Options, text_rules};
use crate::support::choice::Choice;

pub(super) use projected::has_non_local_token_path;

/// The valid volumes of a pod spec, by name.
pub(super) struct Volumes<'v> {
    /// Whether the volume is the volume of a claim, and may be a block device.
    by_name: HashMap<&'v str, bool>,
}

// === impl Volumes ===

impl<'v> Volumes<'v> {
    /// Checks the volumes; `pod` is the name of the pod, if this is one. Volumes with errors cannot be referred to.
    pub(super) fn validate(
        volumes: &List<Volume<'v, '_>>,
        pod: Option<&str>,
        options: &Options,
        errors: &mut ErrorList,
    ) -> Self {
        let mut by_name = HashMap::with_capacity(volumes.len());
        let created = created_claims(volumes, pod);
        for volume in volumes.elements() {
            let before = errors.0.len();
            check_source(&volume, pod, options, errors);
            let name = volume.name();
            name.check_named(names::dns_label, errors);
            if by_name.contains_key(name.text()) {
                errors.push(name.duplicate());
            }
            if errors.0.len() == before {
                let is_of_claim = volume.persistent_volume_claim().exists() || volume.ephemeral().exists();
                by_name.insert(name.text(), is_of_claim);
            }
            let claim = volume.persistent_volume_claim();
            let claim = claim.claim_name();
            if created.contains(claim.text()) {
                let detail = "must not reference a PVC that gets created for an ephemeral volume";
                errors.push(claim.invalid(detail));
            }
        }
        Self { by_name }
    }

    /// Whether there is a volume of that name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// Whether the volume with a name is the volume of a claim; `None` if there is no volume with the name.
    pub(super) fn is_of_claim(&self, name: &str) -> Option<bool> {
        self.by_name.get(name).copied()
    }
}

/// Returns the names of the claims that are created for a pod.
fn created_claims(volumes: &List<Volume<'_, '_>>, pod: Option<&str>) -> HashSet<String> {
    let Some(pod) = pod.filter(|pod| !pod.is_empty()) else { return HashSet::new() };
    let ephemeral = volumes.elements().filter(|volume| volume.ephemeral().exists());
    ephemeral.map(|volume| format!("{pod}-{}", volume.name().text())).collect()
}

/// Checks that a volume has exactly one source, and the first that it has.
fn check_source(volume: &Volume<'_, '_>, pod: Option<&str>, options: &Options, errors: &mut ErrorList) {
    let mut sources = Choice::new("may not specify more than 1 volume type", errors);
    sources.check(volume.empty_dir(), check_empty_directory);
    sources.check(volume.host_path(), files::check_host_path);
    sources.check(volume.git_repo(), files::check_repository);
    sources.check(volume.gce_persistent_disk(), devices::check_gce_disk);
    sources.check(volume.aws_elastic_block_store(), devices::check_aws_disk);
    sources.check(volume.secret(), files::check_secret);
    sources.check(volume.nfs(), shares::check_nfs);
    let iscsi = volume.iscsi();
    sources.check(iscsi, devices::check_iscsi);
    sources.check_also(|errors| devices::check_initiator_length(volume, &iscsi, errors));
    sources.check(volume.glusterfs(), shares::check_glusterfs);
    sources.check(volume.flocker(), shares::check_flocker);
    sources.check(volume.persistent_volume_claim(), check_claim);
    sources.check(volume.rbd(), devices::check_rbd);
    sources.check(volume.cinder(), devices::check_cinder);
    sources.check_shown_as("cephFS", volume.cephfs(), shares::check_cephfs);
    sources.check(volume.quobyte(), shares::check_quobyte);
    // Misspelt in Kubernetes.
    sources.check_shown_as("downwarAPI", volume.downward_api(), files::check_downward_api);
    sources.check(volume.fc(), devices::check_fibre_channel);
    sources.check(volume.flex_volume(), |source, errors| {
        shares::check_flex(&source.driver(), &source.options(), errors);
    });
    sources.check(volume.config_map(), files::check_config_map);
    sources.check(volume.azure_file(), shares::check_azure_file);
    sources.check(volume.vsphere_volume(), devices::check_vsphere);
    sources.check(volume.photon_persistent_disk(), devices::check_photon);
    sources.check(volume.portworx_volume(), devices::check_portworx);
    sources.check(volume.azure_disk(), devices::check_azure_disk);
    sources.check(volume.storageos(), shares::check_storageos);
    sources.check(volume.projected(), |source, errors| projected::check(source, options, errors));
    sources.check(volume.scale_io(), devices::check_scale_io);
    sources.check(volume.csi(), shares::check_csi);
    sources.check(volume.ephemeral(), |ephemeral, errors| {
        check_ephemeral(ephemeral, errors);
        check_created_claim(&volume.name(), pod, errors);
    });
    sources.check(volume.image(), |image, errors| check_image(image, options, errors));
    sources.require(volume, "must specify a volume type");
}

/// Checks the name of the claim that is created for a volume.
fn check_created_claim(name: &Text<'_, '_>, pod: Option<&str>, errors: &mut ErrorList) {
    let Some(pod) = pod.filter(|pod| !pod.is_empty() && !name.text().is_empty()) else { return };
    let claim = format!("{pod}-{}", name.text());
    for complaint in names::dns_subdomain(&claim) {
        errors.push(name.invalid(format!("PVC name {claim:?}: {complaint}")));
    }
}

fn check_empty_directory(directory: &EmptyDirVolumeSource<'_, '_>, errors: &mut ErrorList) {
    let limit = directory.size_limit();
    let quantity = limit.quantity();
    if quantity.is_some_and(|quantity| quantity.is_negative()) {
        errors.push(limit.forbidden("SizeLimit field must be a valid resource quantity"));
    }
}

fn check_claim(claim: &PersistentVolumeClaimVolumeSource<'_, '_>, errors: &mut ErrorList) {
    claim.claim_name().check_present(errors);
}

fn check_ephemeral(ephemeral: &EphemeralVolumeSource<'_, '_>, errors: &mut ErrorList) {
    let template = ephemeral.volume_claim_template();
    if template.exists() {
        claim_template::check(&template, errors);
    } else {
        errors.push(template.required(""));
    }
}

/// Checks a volume with the files of an image. The image of a template may be filled in later.
fn check_image(image: &ImageVolumeSource<'_, '_>, options: &Options, errors: &mut ErrorList) {
    if options.is_pod {
        image.reference().check_present(errors);
    }
    text_rules::check_pull_policy(&image.pull_policy(), errors);
}
