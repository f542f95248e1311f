//! Checks that a schema is structural: every field is described once outside of `allOf`, `anyOf`, `oneOf` and `not`,
//! which only restrict values. (`apiserver/schema/validation.go`.)

use registry_core::api::validation::ErrorList;
use registry_core::context::Budget;
use serde_json::{Value, json};

use super::super::findings::{Findings, Place};
use super::super::schema::{Additional, Schema};
use super::completeness;
use super::patterns::Patterns;

/// The level of a schema.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Checks a schema. Its errors are sorted by their texts.
pub(super) fn check(schema: Schema<'_>, place: &Place, findings: &mut Findings<'_>) {
    let start = findings.len();
    let mut walk = Walk { patterns: Patterns::new(), findings };
    walk.invariants(schema, Level::Root, place);
    completeness::check(schema, place, findings);
    findings.sort_from(start);
}

/// Whether a schema is not structural.
pub(super) fn is_violated(schema: Schema<'_>) -> bool {
    if schema.why_not_structural().is_some() {
        return true;
    }
    let budget = Budget::unlimited();
    let mut findings = Findings::new(&budget);
    check(schema, &Place::new("schema"), &mut findings);
    findings.len() > 0
}

/// Whether a schema, as a definition contains it, is structural.
pub fn is_structural(schema: &Value) -> bool {
    Schema::from_value(Some(schema)).is_none_or(|schema| !is_violated(schema))
}

/// Error of a schema that cannot be read as a structural one, with Kubernetes' reason.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(in super::super) struct NotStructural(&'static str);

/// Returns how a schema is not structural: a reason why it has no structural form at all, or the single violations.
pub(in super::super) fn why_not_structural(
    schema: Option<&Value>,
    path: &Place,
) -> Result<ErrorList, NotStructural> {
    let Some(schema) = Schema::from_value(schema) else { return Ok(ErrorList::default()) };
    if let Some(reason) = schema.why_not_structural() {
        return Err(NotStructural(reason));
    }
    let budget = Budget::unlimited();
    let mut findings = Findings::new(&budget);
    check(schema, path, &mut findings);
    Ok(findings.into_list())
}

/// Collects the violations of a schema.
struct Walk<'a, 'f, 'b> {
    patterns: Patterns<'a>,
    findings: &'f mut Findings<'b>,
}

// === impl Walk ===

impl<'a> Walk<'a, '_, '_> {
    fn invariants(&mut self, schema: Schema<'a>, level: Level, place: &Place) {
        let item = schema.item();
        if schema.kind() == "array" && item.is_none() {
            self.findings.required(&place.child("items"), "must be specified");
        }
        if let Some(item) = item {
            self.invariants(item, Level::Item, &place.child("items"));
        }
        if schema.has_properties() {
            let properties = place.child("properties");
            for (name, property) in schema.entries("properties") {
                self.invariants(property, Level::Field, &properties.key(name));
            }
        }
        if let Some(additional) = schema.additional("additionalProperties") {
            let place = place.child("additionalProperties");
            if level == Level::Root {
                self.findings.forbidden(&place, "must not be used at the root");
            }
            if let Additional::Schema(additional) = additional {
                self.invariants(additional, Level::Field, &place);
            }
        }
        check_extensions(schema, place, self.findings);
        let skips_any_of = is_int_or_string(schema);
        let first = schema.schemas("allOf").next().map(|(_, first)| first);
        let skips_first = first.is_some_and(is_int_or_string);
        self.values(schema, skips_any_of, skips_first, place);
        check_type(schema, level, place, self.findings);
        check_meta(schema, level, place, self.findings);
        let is_bare = schema.is_true("x-kubernetes-embedded-resource")
            && !schema.is_true("x-kubernetes-preserve-unknown-fields")
            && !schema.has_properties();
        if is_bare {
            let detail = "must not be empty if x-kubernetes-embedded-resource is true without \
                          x-kubernetes-preserve-unknown-fields";
            self.findings.required(&place.child("properties"), detail);
        }
    }

    /// Checks the restrictions of values.
    fn values(&mut self, schema: Schema<'a>, skips_any_of: bool, skips_first_any_of: bool, place: &Place) {
        if !skips_any_of {
            self.alternatives(schema, "anyOf", place);
        }
        for (index, part) in schema.schemas("allOf") {
            let skips = skips_first_any_of && index == 0;
            self.nested(part, skips, &place.child("allOf").index(index));
        }
        self.alternatives(schema, "oneOf", place);
        if let Some(not) = schema.child("not") {
            self.nested(not, false, &place.child("not"));
        }
        let pattern = schema.text("pattern");
        if !pattern.is_empty() {
            self.patterns.check(pattern, &place.child("pattern"), self.findings);
        }
    }

    fn alternatives(&mut self, schema: Schema<'a>, list: &str, place: &Place) {
        for (index, alternative) in schema.schemas(list) {
            self.nested(alternative, false, &place.child(list).index(index));
        }
    }

    /// Checks a schema below `allOf`, `anyOf`, `oneOf` or `not`.
    fn nested(&mut self, schema: Schema<'a>, skips_any_of: bool, place: &Place) {
        self.values(schema, skips_any_of, false, place);
        if let Some(item) = schema.item() {
            self.nested(item, false, &place.child("items"));
        }
        for (name, property) in schema.entries("properties") {
            self.nested(property, false, &place.child("properties").key(name));
        }
        check_forbidden(schema, place, self.findings);
    }
}

/// Whether the `anyOf` says that a value is an integer or a text, and nothing else.
fn is_int_or_string(schema: Schema<'_>) -> bool {
    match schema.list("anyOf") {
        [first, second] => *first == json!({"type": "integer"}) && *second == json!({"type": "string"}),
        _ => false,
    }
}

fn check_extensions(schema: Schema<'_>, place: &Place, findings: &mut Findings<'_>) {
    if !schema.is_true("x-kubernetes-int-or-string") {
        return;
    }
    for field in ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"] {
        if schema.is_true(field) {
            let detail = "must be false if x-kubernetes-int-or-string is true";
            findings.invalid_value(&place.child(field), schema.get(field), detail);
        }
    }
}

fn check_type(schema: Schema<'_>, level: Level, place: &Place, findings: &mut Findings<'_>) {
    let kind = schema.kind();
    let place_of_type = place.child("type");
    let is_embedded = schema.is_true("x-kubernetes-embedded-resource");
    if is_embedded && kind != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        if kind.is_empty() {
            findings.required(&place_of_type, detail);
        } else {
            findings.invalid(&place_of_type, kind, detail);
        }
    } else if kind.is_empty()
        && !schema.is_true("x-kubernetes-int-or-string")
        && !schema.is_true("x-kubernetes-preserve-unknown-fields")
    {
        let detail = match level {
            Level::Root => "must not be empty at the root",
            Level::Item => "must not be empty for specified array items",
            Level::Field => "must not be empty for specified object fields",
        };
        findings.required(&place_of_type, detail);
    }
    if is_embedded && schema.additional("additionalProperties").is_some() {
        let detail = "must not be used if x-kubernetes-embedded-resource is set";
        findings.forbidden(&place.child("additionalProperties"), detail);
    }
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        findings.invalid(&place_of_type, kind, "must be object at the root");
    }
}

/// Checks what is said about the fields that every Kubernetes object has.
fn check_meta(schema: Schema<'_>, level: Level, place: &Place, findings: &mut Findings<'_>) {
    let is_object = level == Level::Root || schema.is_true("x-kubernetes-embedded-resource");
    let properties = place.child("properties");
    for name in ["kind", "apiVersion"] {
        if let Some(field) = schema.property(name).filter(|field| is_object && field.kind() != "string") {
            findings.invalid(&properties.key(name).child("type"), field.kind(), "must be string");
        }
    }
    let Some(metadata) = schema.property("metadata") else { return };
    let place = properties.key("metadata");
    if is_object && metadata.kind() != "object" {
        findings.invalid(&place.child("type"), metadata.kind(), "must be object");
    }
    if level == Level::Root && restricts_metadata(metadata) {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly \
                      specified";
        findings.forbidden(&place, detail);
    }
}

/// Whether a schema of `metadata` restricts anything but the name.
fn restricts_metadata(metadata: Schema<'_>) -> bool {
    let only_names = metadata.entries("properties").all(|(name, _)| ["name", "generateName"].contains(&name));
    metadata.set_fields().any(|field| match field {
        "type" | "default" => false,
        "properties" => !only_names,
        _ => true,
    })
}

/// Checks that a schema below `allOf`, `anyOf`, `oneOf` or `not` only restricts values.
fn check_forbidden(schema: Schema<'_>, place: &Place, findings: &mut Findings<'_>) {
    const EMPTY: &str = "must be empty to be structural";
    const FALSE: &str = "must be false to be structural";
    const UNDEFINED: &str = "must be undefined to be structural";
    const FORBIDDEN: [(&str, &str); 11] = [
        ("type", EMPTY),
        ("default", UNDEFINED),
        ("title", EMPTY),
        ("description", EMPTY),
        ("nullable", FALSE),
        ("x-kubernetes-preserve-unknown-fields", FALSE),
        ("x-kubernetes-embedded-resource", FALSE),
        ("x-kubernetes-int-or-string", FALSE),
        ("x-kubernetes-list-map-keys", EMPTY),
        ("x-kubernetes-list-type", UNDEFINED),
        ("x-kubernetes-map-type", UNDEFINED),
    ];
    match schema.additional("additionalProperties") {
        None | Some(Additional::Allowed(false)) => {}
        Some(_) => findings.forbidden(&place.child("additionalProperties"), UNDEFINED),
    }
    for (field, detail) in FORBIDDEN {
        let is_set = match schema.get(field) {
            None | Some(Value::Bool(false)) if field != "default" => false,
            Some(_) if detail == EMPTY => schema.has(field),
            value => value.is_some(),
        };
        if is_set {
            findings.forbidden(&place.child(field), detail);
        }
    }
    if schema.has("x-kubernetes-validations") {
        findings.forbidden(&place.child("x-kubernetes-validations"), EMPTY);
    }
    if schema.property("metadata").is_some() {
        let place = place.child("properties").key("metadata");
        findings.forbidden(&place, "must not be specified in a nested context");
    }
}
