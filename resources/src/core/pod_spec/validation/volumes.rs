//! Volumes of a pod spec.

pub(super) mod claim_template;
mod devices;
mod files;
mod projected;
mod shares;

use std::collections::{HashMap, HashSet};

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};
use registry_core::schema::Quantity;

use super::{Options, containers, text_rules};
use crate::core::pod_spec::totals;
use crate::support::field::Field;

pub(super) use projected::has_non_local_token_path;

/// The valid volumes of a pod spec, by name.
pub(super) struct Volumes<'v> {
    /// Whether the volume is the volume of a claim, and may be a block device.
    by_name: HashMap<&'v str, bool>,
}

/// A check of a source.
type Check = fn(&Field<'_, '_>, &Options, &mut ErrorList);

/// The sources: the field, its name in errors about a second source, and the check.
const SOURCES: [(&str, &str, Check); 30] = [
    ("emptyDir", "emptyDir", check_empty_directory),
    ("hostPath", "hostPath", files::check_host_path),
    ("gitRepo", "gitRepo", files::check_repository),
    ("gcePersistentDisk", "gcePersistentDisk", devices::check_gce_disk),
    ("awsElasticBlockStore", "awsElasticBlockStore", devices::check_aws_disk),
    ("secret", "secret", files::check_secret),
    ("nfs", "nfs", shares::check_nfs),
    ("iscsi", "iscsi", devices::check_iscsi),
    ("glusterfs", "glusterfs", shares::check_glusterfs),
    ("flocker", "flocker", shares::check_flocker),
    ("persistentVolumeClaim", "persistentVolumeClaim", check_claim),
    ("rbd", "rbd", devices::check_rbd),
    ("cinder", "cinder", devices::check_cinder),
    ("cephfs", "cephFS", shares::check_cephfs),
    ("quobyte", "quobyte", shares::check_quobyte),
    ("downwardAPI", "downwarAPI", files::check_downward_api),
    ("fc", "fc", devices::check_fibre_channel),
    ("flexVolume", "flexVolume", shares::check_flex),
    ("configMap", "configMap", files::check_config_map),
    ("azureFile", "azureFile", shares::check_azure_file),
    ("vsphereVolume", "vsphereVolume", devices::check_vsphere),
    ("photonPersistentDisk", "photonPersistentDisk", devices::check_photon),
    ("portworxVolume", "portworxVolume", devices::check_portworx),
    ("azureDisk", "azureDisk", devices::check_azure_disk),
    ("storageos", "storageos", shares::check_storageos),
    ("projected", "projected", projected::check),
    ("scaleIO", "scaleIO", devices::check_scale_io),
    ("csi", "csi", shares::check_csi),
    ("ephemeral", "ephemeral", check_ephemeral),
    ("image", "image", check_image),
];

// === impl Volumes ===

impl<'v> Volumes<'v> {
    /// Checks the volumes; `pod` is the name of the pod, if this is one. Volumes with errors cannot be referred to.
    pub(super) fn validate(
        volumes: &Field<'v, '_>,
        pod: Option<&str>,
        options: &Options,
        errors: &mut ErrorList,
    ) -> Self {
        let mut by_name = HashMap::with_capacity(volumes.len());
        let created = created_claims(volumes, pod);
        for volume in volumes.elements() {
            let before = errors.0.len();
            check_source(&volume, pod, options, errors);
            let name = volume.get("name");
            name.check_named(names::dns_label, errors);
            if by_name.contains_key(name.text()) {
                errors.push(name.duplicate());
            }
            if errors.0.len() == before {
                let claim = ["persistentVolumeClaim", "ephemeral"];
                by_name.insert(name.text(), claim.iter().any(|source| volume.get(source).exists()));
            }
            let claim = volume.get("persistentVolumeClaim");
            let claim = claim.get("claimName");
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
fn created_claims(volumes: &Field<'_, '_>, pod: Option<&str>) -> HashSet<String> {
    let Some(pod) = pod.filter(|pod| !pod.is_empty()) else { return HashSet::new() };
    let ephemeral = volumes.elements().filter(|volume| volume.get("ephemeral").exists());
    ephemeral.map(|volume| format!("{pod}-{}", volume.get("name").text())).collect()
}

/// Checks that a volume has exactly one source, and the first that it has.
fn check_source(volume: &Field<'_, '_>, pod: Option<&str>, options: &Options, errors: &mut ErrorList) {
    let mut found = 0;
    for (name, reported, check) in SOURCES {
        let source = volume.get(name);
        if !source.exists() {
            continue;
        }
        found += 1;
        if found > 1 {
            let path = volume.path().child(reported);
            errors.push(FieldError::forbidden(path, "may not specify more than 1 volume type"));
        } else {
            check(&source, options, errors);
        }
        if name == "iscsi" {
            devices::check_initiator_length(volume, &source, errors);
        }
        if name == "ephemeral" && found == 1 {
            check_created_claim(&volume.get("name"), pod, errors);
        }
    }
    if found == 0 {
        errors.push(volume.required("must specify a volume type"));
    }
}

/// Checks the name of the claim that is created for a volume.
fn check_created_claim(name: &Field<'_, '_>, pod: Option<&str>, errors: &mut ErrorList) {
    let Some(pod) = pod.filter(|pod| !pod.is_empty() && !name.text().is_empty()) else { return };
    let claim = format!("{pod}-{}", name.text());
    for complaint in names::dns_subdomain(&claim) {
        errors.push(name.invalid(format!("PVC name {claim:?}: {complaint}")));
    }
}

fn check_empty_directory(directory: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    let limit = directory.get("sizeLimit");
    let quantity = limit.value().and_then(totals::parse);
    if quantity.is_some_and(|quantity| quantity.compare(&Quantity::whole(0)).is_lt()) {
        errors.push(limit.forbidden("SizeLimit field must be a valid resource quantity"));
    }
}

fn check_claim(claim: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    claim.get("claimName").check_present(errors);
}

fn check_ephemeral(ephemeral: &Field<'_, '_>, _: &Options, errors: &mut ErrorList) {
    let template = ephemeral.get("volumeClaimTemplate");
    if template.exists() {
        claim_template::check(&template, errors);
    } else {
        errors.push(template.required(""));
    }
}

/// Checks a volume with the files of an image. The image of a template may be filled in later.
fn check_image(image: &Field<'_, '_>, options: &Options, errors: &mut ErrorList) {
    if options.is_pod {
        image.get("reference").check_present(errors);
    }
    image.get("pullPolicy").check_word(containers::PULL_POLICIES, errors);
}
