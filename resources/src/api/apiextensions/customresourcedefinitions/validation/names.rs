//! Validates the names of a definition.

use registry_core::api::Object;
use registry_core::api::validation::names as formats;
use resource_views::apiextensions::v1::{CustomResourceDefinition, CustomResourceDefinitionNames};
use resource_views::{List, Text};

use super::super::findings::{Findings, Place};

/// Maximum number of short names, and of categories. The server keeps each name for as long as it runs.
const MAX_LABELS: usize = 100;

/// Checks that the object is named after the resource that it defines.
pub(super) fn check_object_name(new: &Object, findings: &mut Findings<'_>) {
    let spec = CustomResourceDefinition(new).spec();
    let required = format!("{}.{}", spec.names().plural().text(), spec.group().text());
    if !new.name().is_empty() && new.name() != required {
        let place = Place::new("metadata").child("name");
        findings.invalid(&place, new.name(), "must be spec.names.plural+\".\"+spec.group");
    }
}

/// Checks the names of a resource; unset ones are allowed.
pub(super) fn check(
    names: &CustomResourceDefinitionNames<'_, '_>,
    place: &Place,
    findings: &mut Findings<'_>,
) {
    for (field, name) in [("plural", names.plural().text()), ("singular", names.singular().text())] {
        if !name.is_empty() {
            check_label(name, &place.child(field), findings);
        }
    }
    let (kind, list_kind) = (names.kind().text(), names.list_kind().text());
    check_kind(kind, &place.child("kind"), findings);
    check_kind(list_kind, &place.child("listKind"), findings);
    check_labels(&names.short_names(), &place.child("shortNames"), findings);
    if !kind.is_empty() && kind == list_kind {
        findings.invalid(&place.child("listKind"), kind, "kind and listKind may not be the same");
    }
    check_labels(&names.categories(), &place.child("categories"), findings);
}

/// Checks that a text is a label of a host name that starts with a letter.
pub(super) fn check_label(text: &str, place: &Place, findings: &mut Findings<'_>) {
    let complaints = formats::dns_1035_label(text);
    if !complaints.is_empty() {
        findings.invalid(place, text, complaints.join(","));
    }
}

fn check_labels(labels: &List<Text<'_, '_>>, place: &Place, findings: &mut Findings<'_>) {
    if labels.len() > MAX_LABELS {
        findings.too_many(place, labels.len(), MAX_LABELS);
    }
    for (index, name) in labels.texts().enumerate() {
        check_label(name, &place.index(index), findings);
    }
}

fn check_kind(kind: &str, place: &Place, findings: &mut Findings<'_>) {
    let complaints = formats::dns_1035_label(&kind.to_lowercase());
    if !kind.is_empty() && !complaints.is_empty() {
        let detail = format!("may have mixed case, but should otherwise match: {}", complaints.join(","));
        findings.invalid(place, kind, detail);
    }
}
