//! Rules of PersistentVolumeClaims.

use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, FieldPath, Object};
use registry_core::resource::ObjectStrategy;
use registry_core::schema::Quantity;
use serde_json::{Value, json};

use crate::core::volume_claim;
use crate::support::defaulting::{fill_at, is_empty_at};
use crate::support::field::Field;
use crate::support::label_selector;

const IMMUTABLE: &str = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
const STORAGE: [&str; 4] = ["spec", "resources", "requests", "storage"];

/// Defaults, validation; a bound claim may be expanded.
pub(super) struct PersistentVolumeClaimStrategy;

impl ObjectStrategy for PersistentVolumeClaimStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        fill_at(object, &["spec", "volumeMode"], "Filesystem");
    }

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        object.set(&["status"], json!({"phase": "Pending"}));
        // A data source of an unsupported kind is dropped.
        if object.get(&["spec", "dataSource"]).is_some_and(|source| !is_known_source(source)) {
            object.remove(&["spec", "dataSource"]);
        }
        align_sources(object);
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, _old: &Object) {
        align_sources(new);
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = Field::of(object, "spec");
        let modes = spec.get("accessModes");
        if modes.is_empty() {
            errors.push(modes.required("at least 1 access mode is required"));
        }
        label_selector::check(&spec.get("selector"), &mut errors);
        volume_claim::check_access_modes(&modes, &mut errors);
        check_request(&spec, &mut errors);
        let class = spec.get("storageClassName");
        if !class.text().is_empty() {
            class.check(names::dns_subdomain, &mut errors);
        }
        spec.get("volumeMode").check_one_of(&["Block", "Filesystem"], &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        let bound = old.get_str(&["status", "phase"]) == Some("Bound");
        let mut allowed = new.clone();
        // The volume name may be set once, also by a user.
        if is_empty_at(old, &["spec", "volumeName"]) {
            allowed.copy_field(old, &["spec", "volumeName"]);
        }
        if is_empty_at(old, &["spec", "storageClassName"]) {
            allowed.copy_field(old, &["spec", "storageClassName"]);
        }
        if bound {
            allowed.copy_field(old, &["spec", "resources", "requests"]);
            allowed.copy_field(old, &["spec", "volumeAttributesClassName"]);
        }
        if allowed.0.get("spec") != old.0.get("spec") {
            errors.push(FieldError::forbidden(FieldPath::new("spec"), IMMUTABLE));
        }
        if bound {
            check_growth(new, old, &mut errors);
        }
        errors
    }
}

/// Copies the data source between its older and its newer field.
fn align_sources(claim: &mut Object) {
    let old = ["spec", "dataSource"];
    let new = ["spec", "dataSourceRef"];
    match (claim.get(&old).cloned(), claim.get(&new).cloned()) {
        (Some(source), None) if is_known_source(&source) => claim.set(&new, source),
        (None, Some(source)) if is_known_source(&source) && source.get("namespace").is_none() => {
            claim.set(&old, source);
        }
        _ => {}
    }
}

fn is_known_source(source: &Value) -> bool {
    let part = |field: &str| source.get(field).and_then(Value::as_str).unwrap_or_default();
    matches!(
        (part("apiGroup"), part("kind")),
        ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
    )
}

fn check_request(spec: &Field<'_, '_>, errors: &mut ErrorList) {
    let resources = spec.get("resources");
    let requests = resources.get("requests");
    let storage = requests.get("storage");
    let path = resources.path().key("storage");
    if !storage.exists() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    if let (Ok(amount), Ok(none)) = (Quantity::parse(storage.text()), Quantity::parse("0"))
        && !amount.compare(&none).is_gt()
    {
        errors.push(FieldError::invalid(path, storage.text(), "must be greater than zero"));
    }
}

fn check_growth(new: &Object, old: &Object, errors: &mut ErrorList) {
    let amount = |object: &Object, path: &[&str]| Quantity::parse(object.get_str(path)?).ok();
    let (Some(wanted), Some(before)) = (amount(new, &STORAGE), amount(old, &STORAGE)) else { return };
    // After a failed expansion the request may be reduced, but not below the volume's capacity.
    let capacity = amount(old, &["status", "capacity", "storage"]);
    let fits = capacity.is_none_or(|capacity| wanted.compare(&capacity).is_gt());
    if wanted.compare(&before).is_lt() && !fits {
        let path = FieldPath::new("spec").child("resources").child("requests").child("storage");
        errors.push(FieldError::forbidden(path, "field can not be less than status.capacity"));
    }
}
