//! The spec of a volume, of a PersistentVolume or inline in a VolumeAttachment.

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};
use resource_views::core::v1::{PersistentVolumeSpec, VolumeNodeAffinity};
use resource_views::{Map, Quantity, View};

use super::sources;
use crate::api::core::{node_selector, volume_claim};

const RECLAIM_POLICIES: [&str; 3] = ["Delete", "Recycle", "Retain"];
const NOT_INLINE: &str = "may not be specified in the context of inline volumes";

/// Checks the spec of a PersistentVolume; `old` is what it was before.
pub(super) fn check(
    spec: &PersistentVolumeSpec<'_, '_>,
    name: &str,
    old: Option<&PersistentVolumeSpec<'_, '_>>,
    errors: &mut ErrorList,
) {
    check_modes(spec, errors);
    check_capacity(&spec.capacity(), errors);
    let policy = spec.persistent_volume_reclaim_policy();
    if !policy.text().is_empty() {
        policy.check_one_of(&RECLAIM_POLICIES, errors);
    }
    check_affinity(&spec.node_affinity(), old, errors);
    sources::check(spec, name, errors);
    check_recycling(spec, errors);
    spec.storage_class_name().check_if_set(names::dns_subdomain, errors);
    spec.volume_mode().check_one_of(&["Block", "Filesystem"], errors);
    check_attributes_class(spec, errors);
}

/// Checks the spec of a volume inline in an attachment, which may only have what the driver needs.
pub(crate) fn check_inline(spec: &PersistentVolumeSpec<'_, '_>, errors: &mut ErrorList) {
    let forbid = |field: &View<'_, '_>, errors: &mut ErrorList| errors.push(field.forbidden(NOT_INLINE));
    let claim = spec.claim_ref();
    if claim.exists() {
        forbid(&claim, errors);
    }
    let capacity = spec.capacity();
    if !capacity.is_empty() {
        forbid(&capacity, errors);
    }
    let csi = spec.csi();
    if !csi.exists() {
        errors.push(csi.required("has to be specified in the context of inline volumes"));
    }
    check_modes(spec, errors);
    let policy = spec.persistent_volume_reclaim_policy();
    if !matches!(policy.text(), "" | "Retain") {
        errors.push(policy.forbidden("may only be Retain in the context of inline volumes"));
    }
    let affinity = spec.node_affinity();
    if affinity.exists() {
        forbid(&affinity, errors);
    }
    sources::check(spec, "", errors);
    check_recycling(spec, errors);
    let class = spec.storage_class_name();
    if !class.text().is_empty() {
        forbid(&class, errors);
    }
    let mode = spec.volume_mode();
    if mode.exists() && mode.text() != "Filesystem" {
        let detail = "may not specify volumeMode other than Filesystem in the context of inline volumes";
        errors.push(mode.forbidden(detail));
    }
}

fn check_modes(spec: &PersistentVolumeSpec<'_, '_>, errors: &mut ErrorList) {
    let modes = spec.access_modes();
    modes.check_not_empty(errors);
    volume_claim::check_access_modes(&modes, errors);
}

fn check_capacity(capacity: &Map<Quantity<'_, '_>>, errors: &mut ErrorList) {
    capacity.check_not_empty(errors);
    if !capacity.entry("storage").exists() || capacity.len() > 1 {
        let value = capacity.value().cloned().unwrap_or_default();
        errors.push(FieldError::not_supported(capacity.path(), value, &["storage"]));
    }
    for (_, amount) in capacity.entries() {
        check_basic_amount(&amount, errors);
        volume_claim::check_positive(&amount, errors);
    }
}

/// Adds an error if an amount is negative.
pub(crate) fn check_basic_amount(amount: &Quantity<'_, '_>, errors: &mut ErrorList) {
    let negative = amount.quantity().filter(registry_core::schema::Quantity::is_negative);
    let whole = negative.map(|amount| amount.value().unwrap_or(i128::MIN));
    if let Some(whole) = whole.filter(|whole| *whole < 0) {
        let whole = i64::try_from(whole).unwrap_or(i64::MIN);
        errors.push(FieldError::invalid(amount.path(), whole, "must be a valid resource quantity"));
    }
}

fn check_affinity(
    affinity: &VolumeNodeAffinity<'_, '_>,
    old: Option<&PersistentVolumeSpec<'_, '_>>,
    errors: &mut ErrorList,
) {
    if !affinity.exists() {
        return;
    }
    let required = affinity.required();
    if !required.exists() {
        errors.push(required.required("must specify required node constraints"));
        return;
    }
    match old {
        Some(old) => {
            node_selector::check_changed(&required, Some(&old.node_affinity().required()), errors);
        }
        None => node_selector::check(&required, errors),
    }
}

/// Checks that a host's root is not emptied for reuse.
fn check_recycling(spec: &PersistentVolumeSpec<'_, '_>, errors: &mut ErrorList) {
    let host = spec.host_path();
    let policy = spec.persistent_volume_reclaim_policy();
    if host.exists() && policy.text() == "Recycle" && is_root(host.path().text()) {
        errors.push(policy.forbidden("may not be 'recycle' for a hostPath mount of '/'"));
    }
}

/// Whether a path leads to the root: `/`, `/a/..`.
fn is_root(path: &str) -> bool {
    let mut depth = 0_usize;
    for step in path.split('/') {
        match step {
            "" | "." => {}
            ".." => depth = depth.saturating_sub(1),
            _ => depth += 1,
        }
    }
    path.starts_with('/') && depth == 0
}

fn check_attributes_class(spec: &PersistentVolumeSpec<'_, '_>, errors: &mut ErrorList) {
    let class = spec.volume_attributes_class_name();
    if !class.exists() {
        return;
    }
    if class.text().is_empty() {
        errors.push(class.required("an empty string is disallowed"));
    } else {
        class.check(names::dns_subdomain, errors);
    }
    let csi = spec.csi();
    if !csi.exists() {
        errors.push(csi.required("has to be specified when using volumeAttributesClassName"));
    }
}
