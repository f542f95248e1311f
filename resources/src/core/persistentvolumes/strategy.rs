//! Rules of PersistentVolumes.

use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, Object, time};
use registry_core::resource::ObjectStrategy;
use registry_core::schema::Quantity;
use serde_json::{Value, json};

use crate::core::volume_claim;
use crate::support::defaulting::{fill_at, with};
use crate::support::field::Field;

/// Nanounits per unit.
const NANOS: i128 = 1_000_000_000;
const RECLAIM_POLICIES: [&str; 3] = ["Delete", "Recycle", "Retain"];
/// The volume source fields of a volume's spec.
const SOURCES: [&str; 22] = [
    "awsElasticBlockStore",
    "azureDisk",
    "azureFile",
    "cephfs",
    "cinder",
    "csi",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "glusterfs",
    "hostPath",
    "iscsi",
    "local",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
];

/// Defaults, phases, validation.
pub(super) struct PersistentVolumeStrategy;

impl ObjectStrategy for PersistentVolumeStrategy {
    fn repeats_metadata_errors(&self) -> bool {
        false
    }

    fn apply_defaults(&self, object: &mut Object) {
        fill_at(object, &["spec", "persistentVolumeReclaimPolicy"], "Retain");
        fill_at(object, &["spec", "volumeMode"], "Filesystem");
        with(&mut object.0, "spec", |spec| {
            with(spec, "hostPath", |path| crate::support::defaulting::fill(path, "type", ""));
        });
    }

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        object.set(&["status"], json!({"phase": "Pending", "lastPhaseTransitionTime": time::now()}));
    }

    fn prepare_for_status_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        const TRANSITION: [&str; 2] = ["status", "lastPhaseTransitionTime"];
        let phase = |object: &Object| object.get(&["status", "phase"]).cloned();
        if phase(new) != phase(old) && new.get(&TRANSITION) == old.get(&TRANSITION) {
            new.set(&TRANSITION, time::now().into());
        } else if new.get(&TRANSITION).is_none() {
            new.copy_field(old, &TRANSITION);
        }
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::of(object, "spec");
        let modes = spec.get("accessModes");
        if modes.is_empty() {
            errors.push(modes.required(""));
        }
        volume_claim::check_access_modes(&modes, &mut errors);
        check_capacity(&spec.get("capacity"), &mut errors);
        check_sources(&spec, &mut errors);
        spec.get("persistentVolumeReclaimPolicy").check_one_of(&RECLAIM_POLICIES, &mut errors);
        let class = spec.get("storageClassName");
        if !class.text().is_empty() {
            class.check(names::dns_subdomain, &mut errors);
        }
        spec.get("volumeMode").check_one_of(&["Block", "Filesystem"], &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        let new = Field::of(new, "spec");
        let old = Field::of(old, "spec");
        let differs = |field: &&&str| new.get(field).value() != old.get(field).value();
        if SOURCES.iter().any(|field| differs(&field)) {
            let detail = "spec.persistentvolumesource is immutable after creation";
            errors.push(FieldError::forbidden(new.path().child("persistentvolumesource"), detail));
        }
        new.get("volumeMode").check_immutable(&old.get("volumeMode"), &mut errors);
        if old.get("nodeAffinity").exists() {
            new.get("nodeAffinity").check_immutable(&old.get("nodeAffinity"), &mut errors);
        }
        errors
    }
}

fn check_capacity(capacity: &Field<'_, '_>, errors: &mut ErrorList) {
    if capacity.is_empty() {
        errors.push(capacity.required(""));
    }
    let storage = capacity.get("storage");
    if !storage.exists() || capacity.len() > 1 {
        errors.push(FieldError::not_supported(
            capacity.path(),
            capacity.value().cloned().unwrap_or_default(),
            &["storage"],
        ));
    }
    for (_, amount) in capacity.entries() {
        let negative =
            Quantity::parse(amount.text()).ok().and_then(|amount| amount.nanos()).filter(|nanos| *nanos < 0);
        if let Some(nanos) = negative {
            let whole = i64::try_from(nanos / NANOS).unwrap_or(i64::MIN);
            errors.push(FieldError::invalid(amount.path(), whole, "must be a valid resource quantity"));
        }
        volume_claim::check_positive(&amount, errors);
    }
}

fn check_sources(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let present =
        SOURCES.iter().filter(|source| spec.get(source).value().is_some_and(|one| *one != Value::Null));
    let mut found = 0;
    // Kubernetes checks `hostPath` first.
    let mut present: Vec<_> = present.collect();
    present.sort_by_key(|source| **source != "hostPath");
    for source in present {
        let source = spec.get(source);
        found += 1;
        if found > 1 {
            errors.push(source.forbidden("may not specify more than 1 volume type"));
        }
    }
    if found == 0 {
        errors.push(spec.required("must specify a volume type"));
    }
    let host = spec.get("hostPath");
    let path = host.get("path");
    if host.exists() && path.check_present(errors) && path.text().split('/').any(|step| step == "..") {
        errors.push(path.invalid("must not contain '..'"));
    }
    if spec.get("local").exists() && !spec.get("nodeAffinity").exists() {
        errors.push(spec.get("nodeAffinity").required("Local volume requires node affinity"));
    }
    let needs: [(&str, &[&str]); 3] =
        [("csi", &["driver", "volumeHandle"]), ("nfs", &["server", "path"]), ("local", &["path"])];
    for (source, fields) in needs {
        let source = spec.get(source);
        for field in fields.iter().filter(|_| source.exists()) {
            source.get(field).check_present(errors);
        }
    }
}
