//! Checks every schema in a schema for what Kubernetes supports of OpenAPI.
//! (`ValidateCustomResourceDefinitionOpenAPISchema`.)

use super::super::findings::{Findings, Place};
use super::super::schema::{Additional, Items, Schema};
use super::{Options, lists};

/// The types that a schema may name, in the order of messages.
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// The rules that apply to a part of a schema.
#[derive(Clone, Copy)]
struct Scope<'o, 'a> {
    options: &'o Options<'a>,
    /// The reason for which there must be no defaults.
    forbids_defaults: Option<&'static str>,
    /// Whether this describes the type or the metadata of a Kubernetes object.
    is_in_meta: bool,
}

/// Checks a schema and everything below it.
pub(super) fn check(schema: Schema<'_>, options: &Options<'_>, place: &Place, findings: &mut Findings<'_>) {
    let scope = Scope { options, forbids_defaults: None, is_in_meta: false };
    scope.check(schema, true, place, findings);
}

/// Whether a schema names a type that OpenAPI does not have.
pub(super) fn has_unknown_type(schema: Schema<'_>) -> bool {
    !schema.kind().is_empty() && !TYPES.contains(&schema.kind())
}

impl Scope<'_, '_> {
    /// Checks a schema and everything below it.
    fn check(self, schema: Schema<'_>, is_root: bool, place: &Place, findings: &mut Findings<'_>) {
        self.check_fields(schema, place, findings);
        if schema.is_true("uniqueItems") {
            let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            findings.forbidden(&place.child("uniqueItems"), detail);
        }
        self.check_additional(schema, place, findings);
        self.check_properties(schema, is_root, place, findings);
        self.check_alternatives(schema, place, findings);
        for (name, definition) in schema.entries("definitions") {
            self.check(definition, false, &place.child("definitions").key(name), findings);
        }
        match schema.items() {
            Some(Items::One(item)) => self.check(item, false, &place.child("items"), findings),
            Some(items) => {
                for (index, item) in items.many() {
                    self.check(item, false, &place.child("items").index(index), findings);
                }
            }
            None => {}
        }
        for (name, dependency) in schema.entries("dependencies") {
            self.check(dependency, false, &place.child("dependencies").key(name), findings);
        }
        let preserves = schema.get("x-kubernetes-preserve-unknown-fields");
        if preserves.is_some() && !schema.is_true("x-kubernetes-preserve-unknown-fields") {
            let place = place.child("x-kubernetes-preserve-unknown-fields");
            findings.invalid_value(&place, preserves, "must be true or undefined");
        }
        lists::check(schema, self.options, place, findings);
    }

    /// Checks the fields that need no other schema.
    fn check_fields(self, schema: Schema<'_>, place: &Place, findings: &mut Findings<'_>) {
        let kind = schema.kind();
        if self.options.types_are_known && has_unknown_type(schema) {
            findings.unsupported(&place.child("type"), kind, &TYPES);
        }
        if let Some(reason) = self.forbids_defaults.filter(|_| schema.get("default").is_some()) {
            findings.forbidden(&place.child("default"), &format!("must not be set {reason}"));
        }
        for field in ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] {
            let is_set = match field {
                "id" | "patternProperties" | "definitions" => schema.has(field),
                _ => schema.get(field).is_some(),
            };
            if is_set {
                findings.forbidden(&place.child(field), &format!("{field} is not supported"));
            }
        }
        if kind == "null" {
            let detail = "type cannot be set to null, use nullable as an alternative";
            findings.forbidden(&place.child("type"), detail);
        }
        if matches!(schema.items(), Some(Items::Many(list)) if !list.is_empty()) {
            findings.forbidden(&place.child("items"), "items must be a schema object and not an array");
        }
        if self.is_in_meta && schema.is_true("x-kubernetes-embedded-resource") {
            let place = place.child("x-kubernetes-embedded-resource");
            findings.forbidden(&place, "must not be used inside of resource meta");
        }
    }

    /// Fields that are not described are ignored, so a schema describes either fields or the values of a map.
    fn check_additional(self, schema: Schema<'_>, place: &Place, findings: &mut Findings<'_>) {
        let Some(additional) = schema.additional("additionalProperties") else { return };
        let place = place.child("additionalProperties");
        if schema.has_properties() && !matches!(additional, Additional::Allowed(true)) {
            findings.forbidden(&place, "additionalProperties and properties are mutual exclusive");
        }
        let Additional::Schema(additional) = additional else { return };
        let mut scope = self;
        if self.is_in_meta {
            // Without a value it is not known what would be pruned from a default.
            scope.forbids_defaults = Some("inside additionalProperties applying to object metadata");
        }
        scope.check(additional, false, &place, findings);
    }

    fn check_properties(self, schema: Schema<'_>, is_root: bool, place: &Place, findings: &mut Findings<'_>) {
        if !schema.has_properties() {
            return;
        }
        let is_object = is_root || schema.is_true("x-kubernetes-embedded-resource");
        let place = place.child("properties");
        for (name, property) in schema.entries("properties") {
            let mut scope = self;
            let reason = match name {
                "metadata" => Some("in top-level metadata"),
                "kind" => Some("in top-level kind"),
                "apiVersion" => Some("in top-level apiVersion"),
                _ => None,
            };
            if is_object && reason.is_some() {
                scope.is_in_meta = true;
                if is_root {
                    scope.forbids_defaults = reason;
                }
            }
            scope.check(property, false, &place.key(name), findings);
        }
    }

    fn check_alternatives(self, schema: Schema<'_>, place: &Place, findings: &mut Findings<'_>) {
        if let Some(not) = schema.child("not") {
            self.check(not, false, &place.child("not"), findings);
        }
        for list in ["allOf", "oneOf", "anyOf"] {
            for (index, alternative) in schema.schemas(list) {
                self.check(alternative, false, &place.child(list).index(index), findings);
            }
        }
    }
}
