//! Validates the spec of a definition.

use std::collections::HashSet;

use registry_core::api::validation::names as formats;
use resource_views::Text;

use super::super::findings::{Findings, Place};
use super::super::schema::Schema;
use super::super::view::Spec;
use super::Options;
use super::{conversion, names, root, versions};

/// Maximum number of versions. Each has routes, documents and a compiled schema.
const MAX_VERSIONS: usize = 100;

/// The Go type of the versions.
const VERSIONS: &str = "[<apiextensions.CustomResourceDefinitionVersion>";

/// Checks a spec.
pub(super) fn check(spec: &Spec<'_>, options: &Options<'_>, place: &Place, findings: &mut Findings<'_>) {
    check_group(spec.written.group().text(), &place.child("group"), findings);
    findings.check_word(&place.child("scope"), spec.written.scope().text(), &["Cluster", "Namespaced"]);
    check_schemas_present(spec, options, place, findings);
    let preserves = spec.preserves_unknown_fields();
    let has_defaults = spec.any_schema(&|schema| schema.get("default").is_some());
    if has_defaults && preserves {
        let detail = "must be false in order to use defaults in the schema";
        let value = spec.written.preserve_unknown_fields().value();
        findings.invalid_value(&place.child("preserveUnknownFields"), value, detail);
    }
    let is_structural =
        options.is_structural || !preserves || has_defaults || spec.any_schema(&has_extensions);

    versions::check_all(spec, is_structural, options, &place.child("versions"), findings);
    check_version_list(spec, place, findings);

    let names_place = place.child("names");
    let names = spec.written.names();
    for (field, name) in [
        ("plural", names.plural()),
        ("singular", names.singular()),
        ("kind", names.kind()),
        ("listKind", names.list_kind()),
    ] {
        if name.text().is_empty() {
            findings.required(&names_place.child(field), "");
        }
    }
    names::check(&names, &names_place, findings);
    check_shared(spec, is_structural, options, place, findings);
    conversion::check(spec, options, &place.child("conversion"), findings);
}

/// Checks that what is fixed did not change.
pub(super) fn check_unchanged(
    new: &Spec<'_>,
    old: &Spec<'_>,
    options: &Options<'_>,
    place: &Place,
    findings: &mut Findings<'_>,
) {
    const DETAIL: &str = "field is immutable";
    let names_place = place.child("names");
    let mut compare = |new: Text<'_, '_>, old: Text<'_, '_>, place: &Place| {
        if new.text() != old.text() {
            findings.invalid(place, new.text(), DETAIL);
        }
    };
    let (new_names, old_names) = (new.written.names(), old.written.names());
    if options.names_are_fixed {
        compare(new.written.scope(), old.written.scope(), &place.child("scope"));
        compare(new_names.kind(), old_names.kind(), &names_place.child("kind"));
    }
    compare(new.written.group(), old.written.group(), &place.child("group"));
    compare(new_names.plural(), old_names.plural(), &names_place.child("plural"));
}

fn check_group(group: &str, place: &Place, findings: &mut Findings<'_>) {
    let complaints = formats::dns_subdomain(group);
    if group.is_empty() {
        findings.required(place, "");
    } else if !complaints.is_empty() {
        findings.invalid(place, group, complaints.join(","));
    } else if !group.contains('.') {
        findings.invalid(place, group, "should be a domain with at least one dot");
    }
}

fn check_schemas_present(spec: &Spec<'_>, options: &Options<'_>, place: &Place, findings: &mut Findings<'_>) {
    if spec.shared.schema().is_some() {
        return;
    }
    let detail = if options.schema_is_required {
        ""
    } else if spec.preserves_unknown_fields() {
        return;
    } else {
        "because otherwise all fields are pruned"
    };
    for (index, version) in spec.versions.iter().enumerate() {
        let matters = options.schema_is_required || version.served;
        if matters && version.parts.schema().is_none() {
            let place = place.child("versions").index(index).child("schema").child("openAPIV3Schema");
            findings.required(&place, detail);
        }
    }
}

/// Whether a schema says anything that only Kubernetes knows.
fn has_extensions(schema: Schema<'_>) -> bool {
    schema.is_true("x-kubernetes-embedded-resource")
        || schema.get("x-kubernetes-preserve-unknown-fields").is_some()
        || schema.is_true("x-kubernetes-int-or-string")
        || schema.has("x-kubernetes-list-map-keys")
        || schema.get("x-kubernetes-list-type").is_some()
        || schema.has("x-kubernetes-validations")
}

/// Checks that versions have different names, and that one of them is stored.
fn check_version_list(spec: &Spec<'_>, place: &Place, findings: &mut Findings<'_>) {
    let versions_place = place.child("versions");
    if spec.versions.len() > MAX_VERSIONS {
        findings.too_many(&versions_place, spec.versions.len(), MAX_VERSIONS);
    }
    let mut seen = HashSet::new();
    if !spec.versions.iter().all(|version| seen.insert(version.name)) {
        let shown = spec.own_parts_of_versions();
        let detail = "must contain unique version names";
        findings.invalid_as(VERSIONS, &versions_place, shown.as_ref(), detail);
    }
    if spec.versions.iter().filter(|version| version.storage).count() != 1 {
        let shown = spec.own_parts_of_versions();
        let detail = "must have exactly one version marked as storage version";
        findings.invalid_as(VERSIONS, &versions_place, shown.as_ref(), detail);
    }
    // The first version was once a field of its own.
    if let Some(first) = spec.versions.first().filter(|first| !first.name.is_empty()) {
        names::check_label(first.name, &place.child("version"), findings);
    }
}

/// Checks what all versions share.
fn check_shared(
    spec: &Spec<'_>,
    is_structural: bool,
    options: &Options<'_>,
    place: &Place,
    findings: &mut Findings<'_>,
) {
    let rules = root::SchemaRules {
        options,
        is_structural,
        has_status: spec.has_any_status(),
        is_unchanged: spec.versions.first().is_some_and(|first| options.unchanged.contains(first.name)),
    };
    root::check(spec.shared, &rules, &place.child("validation"), findings);
    versions::check_subresources(spec.shared, &place.child("subresources"), findings);
    versions::check_columns(spec.shared, &place.child("additionalPrinterColumns"), findings);
    if !spec.shared.selectable.is_empty() {
        let selectable = place.child("selectableFields");
        if spec.shared.validation.is_none() {
            findings.invalid(&selectable, "", "may only be set when validations.schema is included");
        } else {
            let too_many = options.many_selectable.contains("");
            let parts = spec.shared;
            versions::check_selectable(parts, parts.schema(), too_many, place, findings);
        }
    }
}
