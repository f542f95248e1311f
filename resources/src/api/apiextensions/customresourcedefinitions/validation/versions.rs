//! Validates versions, and what may be stated for each of them or for all at once.

use std::collections::HashSet;

use registry_core::api::go_text::is_printable;

use super::super::findings::{Findings, Place};
use super::super::schema::Schema;
use super::super::view::{Parts, Spec, Version};
use super::{Options, field_paths, names, root};

const COLUMN_TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const COLUMN_FORMATS: [&str; 8] =
    ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];

/// Maximum number of selectable fields of a version.
pub(super) const MAX_SELECTABLE_FIELDS: usize = 8;

/// Maximum length of a deprecation warning, in bytes.
const MAX_WARNING_BYTES: usize = 256;

/// Checks the versions, without what they share.
pub(super) fn check_all(
    spec: &Spec<'_>,
    is_structural: bool,
    options: &Options<'_>,
    place: &Place,
    findings: &mut Findings<'_>,
) {
    // Of versions with the same name, the first one determines the subresources.
    let mut with_status = HashSet::new();
    let mut seen = HashSet::new();
    for version in &spec.versions {
        if seen.insert(version.name) && version.parts.has_status() {
            with_status.insert(version.name);
        }
    }
    for (index, version) in spec.versions.iter().enumerate() {
        let place = place.index(index);
        names::check_label(version.name, &place.child("name"), findings);
        let has_status = if spec.has_own_subresources() {
            with_status.contains(version.name)
        } else {
            spec.shared.has_status()
        };
        let rules = root::SchemaRules {
            options,
            is_structural,
            has_status,
            is_unchanged: options.unchanged.contains(version.name),
        };
        check(version, &rules, &place, findings);
    }
}

fn check(
    version: &Version<'_>,
    rules: &root::SchemaRules<'_, '_>,
    place: &Place,
    findings: &mut Findings<'_>,
) {
    check_deprecation(version, &place.child("deprecationWarning"), findings);
    root::check(version.parts, rules, &place.child("schema"), findings);
    check_subresources(version.parts, &place.child("subresources"), findings);
    check_columns(version.parts, &place.child("additionalPrinterColumns"), findings);
    if !version.parts.selectable.is_empty() {
        // The schema may be shared although the selectable fields are not.
        match version.parts.schema() {
            None => {
                let detail = "may only be set when `version.schema.openAPIV3Schema` is not included";
                findings.invalid(&place.child("selectableFields"), "", detail);
            }
            schema => {
                let too_many = rules.options.many_selectable.contains(version.name);
                check_selectable(version.parts, schema, too_many, place, findings);
            }
        }
    }
}

fn check_deprecation(version: &Version<'_>, place: &Place, findings: &mut Findings<'_>) {
    let Some(warning) = version.deprecation_warning() else { return };
    if !version.deprecated {
        findings.invalid(place, warning, "can only be set for deprecated versions");
        return;
    }
    if warning.len() > MAX_WARNING_BYTES {
        findings.invalid(place, warning, "must be <= 256 characters long");
    }
    if warning.is_empty() {
        findings.invalid(place, warning, "must not be an empty string");
    }
    if let Some((at, _)) = warning.char_indices().find(|(_, letter)| !is_printable(*letter)) {
        let detail = format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {at}"
        );
        findings.invalid(place, warning, detail);
    }
}

/// Checks subresources.
pub(super) fn check_subresources(parts: Parts<'_>, place: &Place, findings: &mut Findings<'_>) {
    let subresources = parts.subresources();
    let scale = subresources.scale();
    if !scale.exists() {
        return;
    }
    for (field, path, parent) in [
        ("specReplicasPath", scale.spec_replicas_path().text(), ".spec."),
        ("statusReplicasPath", scale.status_replicas_path().text(), ".status."),
    ] {
        let place = place.child("scale").child(field);
        if path.is_empty() {
            findings.required(&place, "");
        } else if check_simple_path(path, &place, findings) && !path.starts_with(parent) {
            let parent = parent.trim_end_matches('.');
            findings.invalid(&place, path, format!("should be a json path under {parent}"));
        }
    }
    let selector = scale.label_selector_path().text();
    let place = place.child("scale").child("labelSelectorPath");
    if !selector.is_empty()
        && check_simple_path(selector, &place, findings)
        && !selector.starts_with(".spec.")
        && !selector.starts_with(".status.")
    {
        findings.invalid(&place, selector, "should be a json path under either .spec or .status");
    }
}

/// Checks the columns of tables.
pub(super) fn check_columns(parts: Parts<'_>, place: &Place, findings: &mut Findings<'_>) {
    for (index, column) in parts.columns().enumerate() {
        let place = place.index(index);
        if column.name().text().is_empty() {
            findings.required(&place.child("name"), "");
        }
        let types = format!("must be one of {}", COLUMN_TYPES.join(","));
        let kind = column.r#type().text();
        if kind.is_empty() {
            findings.required(&place.child("type"), &types);
        } else if !COLUMN_TYPES.contains(&kind) {
            findings.invalid(&place.child("type"), kind, types);
        }
        let format = column.format().text();
        if !format.is_empty() && !COLUMN_FORMATS.contains(&format) {
            let detail = format!("must be one of {}", COLUMN_FORMATS.join(","));
            findings.invalid(&place.child("format"), format, detail);
        }
        let path = column.json_path().text();
        let place = place.child("JSONPath");
        if path.is_empty() {
            findings.required(&place, "");
        } else {
            check_simple_path(path, &place, findings);
        }
    }
}

/// Checks that a path starts with a dot; returns whether it does.
fn check_simple_path(path: &str, place: &Place, findings: &mut Findings<'_>) -> bool {
    let is_simple = path.starts_with('.');
    if !is_simple {
        findings.invalid(place, path, "must be a simple json path starting with .");
    }
    is_simple
}

/// Checks that selectable fields are scalars in the schema.
pub(super) fn check_selectable(
    parts: Parts<'_>,
    schema: Option<Schema<'_>>,
    allows_too_many: bool,
    place: &Place,
    findings: &mut Findings<'_>,
) {
    const DETAIL: &str = "must point to a field of type string, boolean or integer. Enum string fields and strings \
                          with formats are allowed.";
    if let Some(reason) = schema.and_then(Schema::why_not_structural) {
        findings.invalid(&place.child("schema").child("openAPIV3Schema"), "", reason);
    }
    let place = place.child("selectableFields");
    let mut unique = HashSet::new();
    for (index, field) in parts.selectable().enumerate() {
        let place = place.index(index).child("jsonPath");
        let path = field.json_path().text();
        if path.is_empty() {
            findings.required(&place, "");
            continue;
        }
        let found = match field_paths::resolve(path, schema) {
            Ok(found) => found,
            Err(reason) => {
                findings.invalid(&place, path, format!("is an invalid path: {reason}"));
                continue;
            }
        };
        if found.starts_at("metadata") {
            findings.invalid(&place, path, "must not point to fields in metadata");
        }
        let kind = found.schema.map(Schema::kind).unwrap_or_default();
        if !["string", "boolean", "integer"].contains(&kind) {
            findings.invalid(&place, path, DETAIL);
        }
        if !unique.insert(found.text()) {
            findings.duplicate(&place, path);
        }
    }
    if unique.len() > MAX_SELECTABLE_FIELDS && !allows_too_many {
        findings.too_many(&place, unique.len(), MAX_SELECTABLE_FIELDS);
    }
}
