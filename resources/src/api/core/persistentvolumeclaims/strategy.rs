//! Rules of PersistentVolumeClaims.

use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, FieldPath, Object};
use registry_core::resource::ObjectStrategy;
use registry_core::schema::Quantity;
use resource_views::core::v1::{
    PersistentVolumeClaim, PersistentVolumeClaimMut, PersistentVolumeClaimStatus,
};
use resource_views::{Quantity as Amount, View};
use serde_json::Value;
use serde_json::json;

use super::sources;
use crate::api::core::persistentvolumes::spec::check_basic_amount;
use crate::api::core::pod_spec::resource_names;
use crate::api::core::volume_claim::{self, CLASS_ANNOTATION, Tolerated};
use crate::support::go_text::{self, difference};
use crate::support::resource_list::round_up;
use crate::support::semantic;

const IMMUTABLE: &str = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims";
const STORAGE: [&str; 4] = ["spec", "resources", "requests", "storage"];
const CLASS: [&str; 2] = ["spec", "storageClassName"];
const ATTRIBUTES_CLASS: [&str; 2] = ["spec", "volumeAttributesClassName"];

/// Defaults, validation; a bound claim may be expanded.
pub(super) struct PersistentVolumeClaimStrategy;

impl ObjectStrategy for PersistentVolumeClaimStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        volume_claim::apply_defaults(&mut PersistentVolumeClaimMut(object).spec().or_new());
        let mut status = PersistentVolumeClaimMut(object).status().or_new();
        status.phase().or("Pending");
        round_up(status.capacity());
        round_up(status.allocated_resources());
    }

    fn prepare_for_create(&self, _context: &RequestContext, object: &mut Object) {
        object.set(&["status"], json!({"phase": "Pending"}));
        sources::normalize(object, None);
    }

    fn prepare_for_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        sources::normalize(new, Some(old));
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        volume_claim::check_spec(&PersistentVolumeClaim(object).spec(), Tolerated::default(), &mut errors);
        errors
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = PersistentVolumeClaim(new).spec();
        let tolerated = Tolerated::from_spec(&PersistentVolumeClaim(old).spec());
        volume_claim::check_spec(&spec, tolerated, &mut errors);
        check_spec_kept(new, old, &mut errors);
        check_growth(new, old, &mut errors);
        let mode = spec.volume_mode();
        if mode.value() != PersistentVolumeClaim(old).spec().volume_mode().value() {
            let value = mode.value().cloned().unwrap_or_default();
            // The path is without the spec.
            errors.push(FieldError::invalid(FieldPath::new("volumeMode"), value, "field is immutable"));
        }
        check_attributes_class_kept(new, old, &mut errors);
        errors
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        check_status(&PersistentVolumeClaim(new).status(), &mut errors);
        errors
    }

    fn warnings(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        let mut warnings = Vec::new();
        if object.annotation(CLASS_ANNOTATION).is_some() {
            warnings.push(format!(
                "metadata.annotations[{CLASS_ANNOTATION}]: deprecated since v1.8; use \"storageClassName\" attribute instead"
            ));
        }
        volume_claim::warn(&PersistentVolumeClaim(object).spec(), &mut warnings);
        warnings
    }
}

// === changes ===

fn check_spec_kept(new: &Object, old: &Object, errors: &mut ErrorList) {
    let mut after = Object::default();
    let mut before = Object::default();
    after.copy_field(new, &["spec"]);
    before.copy_field(old, &["spec"]);
    sources::complete(&mut before);
    // The volume name may be set once, also by a user.
    if PersistentVolumeClaim(old).spec().volume_name().text().is_empty() {
        before.copy_field(new, &["spec", "volumeName"]);
    }
    let class = PersistentVolumeClaim(new).spec().storage_class_name().optional_text();
    let had_class = PersistentVolumeClaim(old).spec().storage_class_name().exists();
    let (old_annotation, new_annotation) =
        (old.annotation(CLASS_ANNOTATION), new.annotation(CLASS_ANNOTATION));
    let replaces_annotation = old_annotation.is_some()
        && !had_class
        && class == old_annotation
        && new_annotation.is_none_or(|new| Some(new) == old_annotation);
    if replaces_annotation {
        after.remove(&CLASS);
    } else {
        if old_annotation.unwrap_or_default() != new_annotation.unwrap_or_default() {
            errors.push(FieldError::invalid(
                FieldPath::new("metadata").child("annotations").child(CLASS_ANNOTATION),
                new_annotation.unwrap_or_default(),
                "field is immutable",
            ));
        }
        if class.is_some() && !had_class && old_annotation.is_none_or(|old| class == Some(old)) {
            after.remove(&CLASS);
        }
    }
    if PersistentVolumeClaim(new).status().phase().text() == "Bound" {
        if after.get(&STORAGE[..3]).is_some() {
            after.copy_field(&before, &STORAGE);
        }
        after.copy_field(&before, &ATTRIBUTES_CLASS);
    }
    let (before, after) = (PersistentVolumeClaim(&before).spec(), PersistentVolumeClaim(&after).spec());
    if !semantic::equal(after.value(), before.value()) {
        let shown = |spec: Option<&Value>| go_text::text(spec, "<core.PersistentVolumeClaimSpec>");
        let difference = difference::difference(&shown(before.value()), &shown(after.value()));
        errors.push(FieldError::forbidden(FieldPath::new("spec"), format!("{IMMUTABLE}\n{difference}")));
    }
}

fn check_growth(new: &Object, old: &Object, errors: &mut ErrorList) {
    let amount = |amount: Amount<'_, '_>| amount.quantity().unwrap_or_else(|| Quantity::whole(0));
    let request =
        |claim: &Object| amount(PersistentVolumeClaim(claim).spec().resources().requests().entry("storage"));
    let wanted = request(new);
    if !wanted.compare(&request(old)).is_lt() {
        return;
    }
    // After a failed expansion the request may be reduced, but not below the volume's capacity.
    let capacity = amount(PersistentVolumeClaim(old).status().capacity().entry("storage"));
    if !wanted.compare(&capacity).is_gt() {
        let path = FieldPath::new("spec").child("resources").child("requests").child("storage");
        errors.push(FieldError::forbidden(path, "field can not be less than status.capacity"));
    }
}

fn check_attributes_class_kept(new: &Object, old: &Object, errors: &mut ErrorList) {
    let spec = PersistentVolumeClaim(new).spec();
    let class = spec.volume_attributes_class_name();
    let old = PersistentVolumeClaim(old);
    if class.value() == old.spec().volume_attributes_class_name().value()
        || !old.status().current_volume_attributes_class_name().exists()
    {
        return;
    }
    let what = match class.optional_text() {
        None => "nil",
        Some("") => "empty string",
        Some(_) => return,
    };
    let detail =
        format!("update to {what} is forbidden when status.currentVolumeAttributesClassName is not nil");
    errors.push(FieldError::forbidden(FieldPath::new("spec").child("volumeAttributesClassName"), detail));
}

// === status ===

fn check_status(status: &PersistentVolumeClaimStatus<'_, '_>, errors: &mut ErrorList) {
    const RESIZES: [&str; 5] = [
        "ControllerResizeInProgress",
        "ControllerResizeInfeasible",
        "NodeResizeInProgress",
        "NodeResizeInfeasible",
        "NodeResizePending",
    ];
    for (_, amount) in status.capacity().entries() {
        check_basic_amount(&amount, errors);
    }
    let statuses = status.allocated_resource_statuses();
    for (resource, state) in statuses.entries() {
        check_resource(&statuses, resource, errors);
        if !RESIZES.contains(&state.text()) {
            let mut sorted = RESIZES;
            sorted.sort_unstable();
            errors.push(FieldError::not_supported(statuses.path(), resource, &sorted));
        }
    }
    let allocated = status.allocated_resources();
    for (resource, amount) in allocated.entries() {
        let before = errors.0.len();
        check_resource(&allocated, resource, errors);
        if errors.0.len() > before {
            continue;
        }
        check_basic_amount(&amount, errors);
        if errors.0.len() == before && amount.quantity().is_some_and(|amount| amount.is_negative()) {
            errors.push(amount.invalid("must be greater than or equal to 0"));
        }
    }
}

/// Checks the name of a resource: of Kubernetes' own ones only storage can be allocated to a claim.
fn check_resource(map: &View<'_, '_>, resource: &str, errors: &mut ErrorList) {
    let complaints = names::qualified_name(resource);
    let is_good = complaints.is_empty();
    for complaint in complaints {
        errors.push(FieldError::invalid(map.path(), resource, complaint));
    }
    if is_good && resource_names::is_native(resource) && resource != "storage" {
        errors.push(FieldError::not_supported(map.path(), resource, &["storage"]));
    }
}
