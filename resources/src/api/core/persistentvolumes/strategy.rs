//! Rules of PersistentVolumes.

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, FieldPath, Object, time};
use registry_core::resource::ObjectStrategy;
use resource_views::core::v1::{
    NodeSelectorRequirement, NodeSelectorRequirementMut, PersistentVolume, PersistentVolumeMut,
    PersistentVolumeSpec, VolumeNodeAffinity, VolumeNodeAffinityMut,
};
use serde_json::{Value, json};

use super::{sources, spec};
use crate::api::core::node_selector;
use crate::api::core::volume_claim::CLASS_ANNOTATION;
use crate::support::field::ShownAsGo as _;
use crate::support::go_text::difference;
use crate::support::semantic;

const MOUNT_OPTIONS: &str = "volume.beta.kubernetes.io/mount-options";
const SOURCE: &str = "<core.PersistentVolumeSource>";

/// Annotations that were replaced by fields, and what to say about them.
const DEPRECATED_ANNOTATIONS: [(&str, &str); 2] = [
    (CLASS_ANNOTATION, "deprecated since v1.8; use \"storageClassName\" attribute instead"),
    (MOUNT_OPTIONS, "deprecated since v1.31; use \"mountOptions\" attribute instead"),
];

/// Labels of nodes that were replaced by others.
const RENAMED_LABELS: [(&str, &str); 5] = [
    ("failure-domain.beta.kubernetes.io/zone", "topology.kubernetes.io/zone"),
    ("failure-domain.beta.kubernetes.io/region", "topology.kubernetes.io/region"),
    ("beta.kubernetes.io/os", "kubernetes.io/os"),
    ("beta.kubernetes.io/arch", "kubernetes.io/arch"),
    ("beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"),
];

/// Defaults, phases, validation.
pub(super) struct PersistentVolumeStrategy;

impl ObjectStrategy for PersistentVolumeStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        let mut spec = PersistentVolumeMut(object).spec().or_new();
        spec.persistent_volume_reclaim_policy().or("Retain");
        spec.volume_mode().or_if_absent("Filesystem");
        sources::apply_defaults(spec);
        PersistentVolumeMut(object).status().or_new().phase().or("Pending");
    }

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        object.set(&["status"], json!({"phase": "Pending", "lastPhaseTransitionTime": time::now()}));
    }

    fn prepare_for_status_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        let transition = |object| {
            let status = PersistentVolume(object).status();
            status.last_phase_transition_time().value().cloned()
        };
        let has_moved =
            PersistentVolume(new).status().phase().value() != PersistentVolume(old).status().phase().value();
        let (given, known) = (transition(new), transition(old));
        let time = match has_moved {
            false if given.is_none() => known,
            true if given.is_none() || given == known => Some(time::now().into()),
            _ => None,
        };
        if let Some(time) = time {
            PersistentVolumeMut(new).status().or_new().last_phase_transition_time().set_value(time);
        }
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        check(object, None)
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let before = PersistentVolume(old).spec();
        let mut errors = check(new, Some(&before));
        let after = PersistentVolume(new).spec();
        // Kubernetes checks the spec with the object and again with the update.
        spec::check(&after, new.name(), Some(&before), &mut errors);
        check_source_kept(new, old, &mut errors);
        check_kept(&after, &before, &mut errors);
        errors
    }

    fn warnings(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        warnings(object)
    }
}

fn check(object: &Object, old: Option<&PersistentVolumeSpec<'_, '_>>) -> ErrorList {
    let mut errors = ErrorList::default();
    let volume = PersistentVolume(object).spec();
    spec::check(&volume, object.name(), old, &mut errors);
    let has_options = object.annotation(MOUNT_OPTIONS).is_some();
    if has_options && !sources::takes_mount_options(&volume) {
        let path = FieldPath::new("metadata").child("annotations").child(MOUNT_OPTIONS);
        errors.push(FieldError::forbidden(path, "may not specify mount options for this volume type"));
    }
    errors
}

// === changes ===

/// Checks that the source is the same; the secret for expansions may be added.
fn check_source_kept(new: &Object, old: &Object, errors: &mut ErrorList) {
    let (spec, before) = (PersistentVolume(new).spec(), PersistentVolume(old).spec());
    let (driver, driver_before) = (spec.csi(), before.csi());
    let mut comparable = None;
    if driver_before.exists()
        && !driver_before.controller_expand_secret_ref().exists()
        && driver.controller_expand_secret_ref().exists()
    {
        let mut without = new.clone();
        PersistentVolumeMut(&mut without).spec().edit(|mut spec| {
            spec.csi().edit(|mut driver| drop(driver.controller_expand_secret_ref().remove()));
        });
        comparable = Some(without);
    }
    let after = comparable.as_ref().unwrap_or(new);
    let shown = |object: &Object| PersistentVolume(object).spec().go_text(SOURCE);
    let (before, after) = (shown(old), shown(after));
    if before != after {
        let difference = difference::difference(&before, &after);
        errors.push(FieldError::forbidden(
            FieldPath::new("spec").child("persistentvolumesource"),
            format!("spec.persistentvolumesource is immutable after creation\n{difference}"),
        ));
    }
}

fn check_kept(
    spec: &PersistentVolumeSpec<'_, '_>,
    old: &PersistentVolumeSpec<'_, '_>,
    errors: &mut ErrorList,
) {
    // The paths of these two are without the spec.
    if !semantic::equal(spec.volume_mode().value(), old.volume_mode().value()) {
        let value = spec.volume_mode().value().cloned().unwrap_or_default();
        errors.push(FieldError::invalid(FieldPath::new("volumeMode"), value, "field is immutable"));
    }
    let (affinity, before) = (spec.node_affinity(), old.node_affinity());
    if before.exists() && !is_same_affinity(&affinity, &before) {
        let shown = affinity.go_text("*<core.VolumeNodeAffinity>");
        let detail = "field is immutable, except for updating from beta label to GA";
        let error = FieldError::invalid(FieldPath::new("nodeAffinity"), Value::Null, detail);
        errors.push(error.shown_as(shown));
    }
    let class = spec.volume_attributes_class_name();
    if old.volume_attributes_class_name().exists() && !class.exists() {
        errors.push(class.forbidden("update from non-nil value to nil is forbidden"));
    }
}

/// Whether affinities are the same apart from labels that were replaced by their successors.
fn is_same_affinity(new: &VolumeNodeAffinity<'_, '_>, old: &VolumeNodeAffinity<'_, '_>) -> bool {
    let Some(mut renamed) = old.value().cloned().filter(|_| new.exists()) else {
        return !new.exists() && !old.exists();
    };
    let required = new.required();
    let new_terms = required.node_selector_terms();
    if let Some(fields) = renamed.as_object_mut()
        && let Some(mut old) = VolumeNodeAffinityMut(fields).required().present()
    {
        for (mut old, new) in old.node_selector_terms().elements().zip(new_terms.elements()) {
            for (old, new) in old.match_expressions().elements().zip(new.match_expressions().elements()) {
                rename(old, &new);
            }
            for (old, new) in old.match_fields().elements().zip(new.match_fields().elements()) {
                rename(old, &new);
            }
        }
    }
    semantic::equal(new.value(), Some(&renamed))
}

/// Gives a requirement the new name of its label if that is the key of the new requirement.
fn rename(mut old: NodeSelectorRequirementMut<'_>, new: &NodeSelectorRequirement<'_, '_>) {
    let key = old.key().text();
    // As in Kubernetes, the successor of all other labels is the empty text.
    let successor = RENAMED_LABELS.iter().find(|(from, _)| key == *from).map_or("", |(_, to)| to);
    if new.key().text() == successor {
        old.key().set(successor);
    }
}

// === warnings ===

fn warnings(object: &Object) -> Vec<String> {
    let mut warnings = Vec::new();
    for (key, text) in DEPRECATED_ANNOTATIONS {
        if object.annotation(key).is_some() {
            warnings.push(format!("metadata.annotations[{key}]: {text}"));
        }
    }
    let spec = PersistentVolume(object).spec();
    let policy = spec.persistent_volume_reclaim_policy();
    if policy.text() == "Recycle" {
        warnings.push(format!(
            "{}: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
            policy.path()
        ));
    }
    node_selector::warn(&spec.node_affinity().required(), &mut warnings);
    // Sources that no kubelet mounts any more, their names in warnings, and what to say about them.
    for (source, shown, text) in [
        (*spec.cephfs(), "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
        (
            *spec.photon_persistent_disk(),
            "photonPersistentDisk",
            "deprecated in v1.11, non-functional in v1.16+",
        ),
        (*spec.scale_io(), "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
        (*spec.storageos(), "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
        (*spec.glusterfs(), "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
        (*spec.rbd(), "rbd", "deprecated in v1.28, non-functional in v1.31+"),
    ] {
        if source.exists() {
            warnings.push(format!("spec.{shown}: {text}"));
        }
    }
    warnings
}
