//! Validates one schema as a whole.

use registry_core::cel::DefinitionCheck;
use serde_json::Value;

use super::super::findings::{Findings, Place};
use super::super::schema::Schema;
use super::super::view::Parts;
use super::Options;
use super::{defaulting, openapi, structural};
use crate::support::go_text;

/// The fields that a schema with the `status` subresource may have at its root, as messages list them.
const FIELDS_BESIDE_STATUS: [&str; 22] = [
    "Description",
    "Type",
    "Format",
    "Title",
    "Maximum",
    "ExclusiveMaximum",
    "Minimum",
    "ExclusiveMinimum",
    "MaxLength",
    "MinLength",
    "Pattern",
    "MaxItems",
    "MinItems",
    "UniqueItems",
    "MultipleOf",
    "Required",
    "Items",
    "Properties",
    "ExternalDocs",
    "Example",
    "XPreserveUnknownFields",
    "XValidations",
];

/// The rules for a schema.
pub(super) struct SchemaRules<'o, 'a> {
    pub(super) options: &'o Options<'a>,
    /// Whether it must be structural.
    pub(super) is_structural: bool,
    /// Whether custom resources have the `status` subresource.
    pub(super) has_status: bool,
    /// Whether it is the same as before the change.
    pub(super) is_unchanged: bool,
}

/// Checks the schema of a version, or of all versions.
pub(super) fn check(
    parts: Parts<'_>,
    rules: &SchemaRules<'_, '_>,
    place: &Place,
    findings: &mut Findings<'_>,
) {
    let place = place.child("openAPIV3Schema");
    check_schema(parts.schema_value(), rules, &place, findings);
}

/// Checks a schema.
pub(super) fn check_schema(
    value: Option<&Value>,
    rules: &SchemaRules<'_, '_>,
    place: &Place,
    findings: &mut Findings<'_>,
) {
    let Some(schema) = Schema::from_value(value) else { return };
    let start = findings.len();
    if rules.has_status {
        check_root_beside_status(schema, value, place, findings);
    }
    if schema.is_true("nullable") {
        findings.forbidden(&place.child("nullable"), "nullable cannot be true at the root");
    }
    let mut unconvertible = None;
    let mut evaluates_rules = false;
    if rules.is_structural {
        unconvertible = schema.why_not_structural();
        if unconvertible.is_none() {
            let before = findings.len();
            structural::check(schema, place, findings);
            if findings.len() == before {
                defaulting::check(schema, rules.options.defaults_are_pruned, place, findings);
            }
            evaluates_rules = findings.len() == before;
        }
    }
    let before_openapi = findings.len();
    openapi::check(schema, rules.options, place, findings);
    if let Some(value) = value {
        let mut check = DefinitionCheck::default()
            .with_unchanged_schema(rules.is_unchanged)
            .with_schema_errors(&findings.since(before_openapi))
            .with_stored_expressions(rules.options.stored.clone());
        if !evaluates_rules {
            check = check.without_expressions();
        }
        let errors = check.check(value, place.path(), findings.budget());
        findings.append(place, errors);
    }
    if let Some(reason) = unconvertible.filter(|_| findings.len() == start) {
        // Most reasons have an error of their own, which says where.
        findings.invalid(place, "", reason);
    }
}

/// The schema of `status` is taken out of the schema, so what the root says about it would be lost.
fn check_root_beside_status(
    schema: Schema<'_>,
    value: Option<&Value>,
    place: &Place,
    findings: &mut Findings<'_>,
) {
    for (name, _) in
        go_text::fields("apiextensions.JSONSchemaProps").filter(|(_, json)| schema.get(json).is_some())
    {
        if name == "Type" && schema.kind() != "object" {
            let detail = "only \"object\" is allowed as the type at the root of the schema if the status \
                          subresource is enabled";
            findings.invalid(&place.child("type"), schema.kind(), detail);
            return;
        }
        if !FIELDS_BESIDE_STATUS.contains(&name) {
            let detail = format!(
                "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
                FIELDS_BESIDE_STATUS.join(" ")
            );
            findings.invalid_as("*<apiextensions.JSONSchemaProps>", place, value, &detail);
            return;
        }
    }
}
