//! Rules that claims, their templates and volumes share: access modes, amounts of storage, the spec of a claim.

use registry_core::api::validation::{ErrorList, FieldPath, names};
use registry_core::api::{FieldError, Object};
use resource_views::core::v1::{
    PersistentVolumeClaimSpec, PersistentVolumeClaimSpecMut, TypedLocalObjectReference,
};
use resource_views::{List, Quantity as Amount, Text};
use serde_json::{Value, json};

use crate::support::resource_list::round_up;
use crate::support::{label_selector, printers};

/// The annotation that named the storage class of a claim or volume before there was a field.
pub(crate) const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

const ALONE: &str = "ReadWriteOncePod";
const MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", ALONE];

/// The invalid values that a claim's spec may have because the claim had them before.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tolerated {
    /// Values in the selector that are no labels.
    pub(crate) selector_values: bool,
    /// Groups of data sources that are no domains.
    pub(crate) groups: bool,
}

impl Tolerated {
    /// Returns what the spec of an older object has.
    pub(crate) fn from_spec(spec: &PersistentVolumeClaimSpec<'_, '_>) -> Self {
        let selector = spec.selector();
        let mut errors = ErrorList::default();
        label_selector::check(&selector, &mut errors);
        let has_group =
            spec.data_source().api_group().exists() || spec.data_source_ref().api_group().exists();
        Self { selector_values: !errors.is_empty(), groups: has_group }
    }
}

/// Returns the storage class of a claim or volume: the annotation, or else the field.
pub(crate) fn storage_class(object: &Object) -> Value {
    match object.annotation(CLASS_ANNOTATION) {
        Some(class) => class.into(),
        None => printers::text(object, &["spec", "storageClassName"]),
    }
}

/// Sets the defaults of a claim's spec, or of that of a template.
pub(crate) fn apply_defaults(spec: &mut PersistentVolumeClaimSpecMut<'_>) {
    spec.volume_mode().or_if_absent("Filesystem");
    spec.resources().edit(|mut resources| {
        round_up(resources.limits());
        round_up(resources.requests());
    });
}

/// Checks the access modes; one of them must be the only one.
pub(crate) fn check_access_modes(modes: &List<Text<'_, '_>>, errors: &mut ErrorList) {
    let (mut alone, mut others) = (false, false);
    for mode in modes.elements() {
        if mode.text() == ALONE {
            alone = true;
        } else if MODES.contains(&mode.text()) {
            others = true;
        } else {
            errors.push(FieldError::not_supported(modes.path(), mode.text(), &MODES));
        }
    }
    if alone && others {
        errors.push(modes.forbidden("may not use ReadWriteOncePod with other access modes"));
    }
}

/// Adds an error if an amount is not positive.
pub(crate) fn check_positive(amount: &Amount<'_, '_>, errors: &mut ErrorList) {
    if is_not_positive(amount) {
        errors.push(amount.invalid("must be greater than zero"));
    }
}

fn is_not_positive(amount: &Amount<'_, '_>) -> bool {
    amount.quantity().is_some_and(|amount| !amount.is_positive())
}

/// Checks the spec of a claim or of a template of claims.
pub(crate) fn check_spec(
    spec: &PersistentVolumeClaimSpec<'_, '_>,
    tolerated: Tolerated,
    errors: &mut ErrorList,
) {
    let modes = spec.access_modes();
    if modes.is_empty() {
        errors.push(modes.required("at least 1 access mode is required"));
    }
    let selector = spec.selector();
    if tolerated.selector_values {
        label_selector::check_except_values(&selector, errors);
    } else {
        label_selector::check(&selector, errors);
    }
    check_access_modes(&modes, errors);
    check_request(spec, errors);
    spec.storage_class_name().check_if_set(names::dns_subdomain, errors);
    spec.volume_mode().check_one_of(&["Block", "Filesystem"], errors);
    check_sources(spec, tolerated.groups, errors);
    spec.volume_attributes_class_name().check_if_set(names::dns_subdomain, errors);
}

fn check_request(spec: &PersistentVolumeClaimSpec<'_, '_>, errors: &mut ErrorList) {
    let resources = spec.resources();
    let requests = resources.requests();
    let storage = requests.entry("storage");
    if !storage.exists() {
        errors.push(FieldError::required(resources.path().key("storage"), ""));
    } else if is_not_positive(&storage) {
        let path = resources.path().key("storage");
        errors.push(FieldError::invalid(path, storage.text(), "must be greater than zero"));
    }
}

fn check_sources(spec: &PersistentVolumeClaimSpec<'_, '_>, tolerates_groups: bool, errors: &mut ErrorList) {
    let source = spec.data_source();
    let reference = spec.data_source_ref();
    if source.exists() {
        check_source(&source, tolerates_groups, errors);
    }
    if !reference.exists() {
        return;
    }
    check_source(&reference.into(), tolerates_groups, errors);
    let namespace = reference.namespace();
    namespace.check_if_set(names::dns_label, errors);
    if !source.exists() {
        return;
    }
    let is_same = source.api_group().value() == reference.api_group().value()
        && source.kind().value() == reference.kind().value()
        && source.name().value() == reference.name().value();
    let detail = if !namespace.text().is_empty() {
        "may not be specified when dataSourceRef.namespace is specified"
    } else if !is_same {
        "must match dataSourceRef"
    } else {
        return;
    };
    errors.push(FieldError::invalid(spec.path(), json!({}), detail));
}

fn check_source(source: &TypedLocalObjectReference<'_, '_>, tolerates_groups: bool, errors: &mut ErrorList) {
    source.name().check_present(errors);
    let kind = source.kind();
    kind.check_present(errors);
    let group = source.api_group();
    if group.text().is_empty() {
        if kind.text() != "PersistentVolumeClaim" {
            let detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
            errors.push(FieldError::invalid(source.path(), kind.text(), detail));
        }
    } else if !tolerates_groups {
        group.check(names::dns_subdomain, errors);
    }
}

/// Warns of amounts that are no whole number of bytes.
pub(crate) fn warn(spec: &PersistentVolumeClaimSpec<'_, '_>, warnings: &mut Vec<String>) {
    warn_at(spec, &spec.path(), warnings);
}

/// The same for a spec at another path.
pub(crate) fn warn_at(
    spec: &PersistentVolumeClaimSpec<'_, '_>,
    place: &FieldPath,
    warnings: &mut Vec<String>,
) {
    let resources = spec.resources();
    for (name, amounts) in [("requests", resources.requests()), ("limits", resources.limits())] {
        let amount = amounts.entry("storage");
        let Some(quantity) = amount.quantity() else { continue };
        if !quantity.is_whole() {
            let path = place.child("resources").child(name).key("storage");
            let value: Value = quantity.to_string().into();
            warnings.push(format!("{path}: fractional byte value {value} is invalid, must be an integer"));
        }
    }
}
