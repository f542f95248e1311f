//! Rules of PersistentVolumes.

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, FieldPath, Object, time};
use registry_core::resource::ObjectStrategy;
use serde_json::{Value, json};

use super::{sources, spec};
use crate::api::core::node_selector;
use crate::support::defaulting::{fill_at, with};
use crate::support::field::Field;
use crate::support::go_text::{self, difference};
use crate::support::semantic;

const MOUNT_OPTIONS: &str = "volume.beta.kubernetes.io/mount-options";
const SOURCE: &str = "<core.PersistentVolumeSource>";

/// Annotations that were replaced by fields, and what to say about them.
const DEPRECATED_ANNOTATIONS: [(&str, &str); 2] = [
    (
        "volume.beta.kubernetes.io/storage-class",
        "deprecated since v1.8; use \"storageClassName\" attribute instead",
    ),
    (MOUNT_OPTIONS, "deprecated since v1.31; use \"mountOptions\" attribute instead"),
];

/// Sources that no kubelet mounts any more, their names in warnings, and what to say about them.
const DEPRECATED_SOURCES: [(&str, &str, &str); 6] = [
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
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
        fill_at(object, &["spec", "persistentVolumeReclaimPolicy"], "Retain");
        if object.get(&["spec", "volumeMode"]).is_none_or(Value::is_null) {
            object.set(&["spec", "volumeMode"], "Filesystem".into());
        }
        with(&mut object.0, "spec", sources::apply_defaults);
        fill_at(object, &["status", "phase"], "Pending");
    }

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        object.set(&["status"], json!({"phase": "Pending", "lastPhaseTransitionTime": time::now()}));
    }

    fn prepare_for_status_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        const TRANSITION: [&str; 2] = ["status", "lastPhaseTransitionTime"];
        let has_moved = new.get(&["status", "phase"]) != old.get(&["status", "phase"]);
        let given = new.get(&TRANSITION);
        if !has_moved && given.is_none() {
            new.copy_field(old, &TRANSITION);
        } else if has_moved && (given.is_none() || given == old.get(&TRANSITION)) {
            new.set(&TRANSITION, time::now().into());
        }
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        check(object, None)
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let before = Field::top_level(old, "spec");
        let mut errors = check(new, Some(&before));
        let after = Field::top_level(new, "spec");
        // Kubernetes checks the spec with the object and again with the update.
        spec::check(&after, new.name(), Some(&before), &mut errors);
        check_source_kept(new, old, &mut errors);
        let top = Field::top_level(new, "spec");
        check_kept(&top, &before, &mut errors);
        errors
    }

    fn warnings_on_create(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        warnings(object)
    }

    fn warnings_on_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> Vec<String> {
        warnings(new)
    }
}

fn check(object: &Object, old: Option<&Field<'_, '_>>) -> ErrorList {
    let mut errors = ErrorList::default();
    let volume = Field::top_level(object, "spec");
    spec::check(&volume, object.name(), old, &mut errors);
    let has_options = object.annotations().any(|(key, _)| key == MOUNT_OPTIONS);
    if has_options && !sources::takes_mount_options(&volume) {
        let path = FieldPath::new("metadata").child("annotations").child(MOUNT_OPTIONS);
        errors.push(FieldError::forbidden(path, "may not specify mount options for this volume type"));
    }
    errors
}

// === changes ===

/// Checks that the source is the same; the secret for expansions may be added.
fn check_source_kept(new: &Object, old: &Object, errors: &mut ErrorList) {
    const EXPANSION: [&str; 3] = ["spec", "csi", "controllerExpandSecretRef"];
    let mut comparable = None;
    if old.get(&["spec", "csi"]).is_some() && old.get(&EXPANSION).is_none() && new.get(&EXPANSION).is_some() {
        let mut without = new.clone();
        without.remove(&EXPANSION);
        comparable = Some(without);
    }
    let after = comparable.as_ref().unwrap_or(new);
    let shown = |object: &Object| go_text::text(object.0.get("spec"), SOURCE);
    let (before, after) = (shown(old), shown(after));
    if before != after {
        let difference = difference::difference(&before, &after);
        errors.push(FieldError::forbidden(
            FieldPath::new("spec").child("persistentvolumesource"),
            format!("spec.persistentvolumesource is immutable after creation\n{difference}"),
        ));
    }
}

fn check_kept(spec: &Field<'_, '_>, old: &Field<'_, '_>, errors: &mut ErrorList) {
    // The paths of these two are without the spec.
    if !semantic::equal(spec.get("volumeMode").value(), old.get("volumeMode").value()) {
        let value = spec.get("volumeMode").value().cloned().unwrap_or_default();
        errors.push(FieldError::invalid(FieldPath::new("volumeMode"), value, "field is immutable"));
    }
    let (affinity, before) = (spec.get("nodeAffinity"), old.get("nodeAffinity"));
    if before.exists() && !is_same_affinity(affinity.value(), before.value()) {
        let shown = go_text::text(affinity.value(), "*<core.VolumeNodeAffinity>");
        let detail = "field is immutable, except for updating from beta label to GA";
        let error = FieldError::invalid(FieldPath::new("nodeAffinity"), Value::Null, detail);
        errors.push(error.shown_as(shown));
    }
    let class = spec.get("volumeAttributesClassName");
    if old.get("volumeAttributesClassName").exists() && !class.exists() {
        errors.push(class.forbidden("update from non-nil value to nil is forbidden"));
    }
}

/// Whether affinities are the same apart from labels that were replaced by their successors.
fn is_same_affinity(new: Option<&Value>, old: Option<&Value>) -> bool {
    let (Some(new), Some(old)) = (new, old) else { return new.is_none() && old.is_none() };
    let mut old = old.clone();
    let terms =
        |value: &Value| value.pointer("/required/nodeSelectorTerms").and_then(Value::as_array).cloned();
    let new_terms = terms(new).unwrap_or_default();
    let old_terms = old.pointer_mut("/required/nodeSelectorTerms").and_then(Value::as_array_mut);
    for (old, new) in old_terms.into_iter().flatten().zip(&new_terms) {
        for list in ["matchExpressions", "matchFields"] {
            let new = new.get(list).and_then(Value::as_array).into_iter().flatten();
            let old = old.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten();
            for (old, new) in old.zip(new) {
                let keys = (old.get("key").and_then(Value::as_str), new.get("key").and_then(Value::as_str));
                // As in Kubernetes, the successor of all other labels is the empty text.
                let renamed = RENAMED_LABELS.iter().find(|(from, _)| keys.0 == Some(*from));
                let successor = renamed.map_or("", |(_, to)| to);
                if let (true, Some(old)) = (keys.1.unwrap_or_default() == successor, old.as_object_mut()) {
                    old.insert("key".to_owned(), successor.into());
                }
            }
        }
    }
    semantic::equal(Some(new), Some(&old))
}

// === warnings ===

fn warnings(object: &Object) -> Vec<String> {
    let mut warnings = Vec::new();
    for (key, text) in DEPRECATED_ANNOTATIONS {
        if object.annotations().any(|(annotation, _)| annotation == key) {
            warnings.push(format!("metadata.annotations[{key}]: {text}"));
        }
    }
    let spec = Field::top_level(object, "spec");
    let policy = spec.get("persistentVolumeReclaimPolicy");
    if policy.text() == "Recycle" {
        warnings.push(format!(
            "{}: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.",
            policy.path()
        ));
    }
    node_selector::warn(&spec.get("nodeAffinity").get("required").view(), &mut warnings);
    for (field, shown, text) in DEPRECATED_SOURCES {
        if spec.get(field).exists() {
            warnings.push(format!("spec.{shown}: {text}"));
        }
    }
    warnings
}
