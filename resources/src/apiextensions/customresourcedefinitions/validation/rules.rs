//! Checks what a schema says about its rules (`x-kubernetes-validations`).

use registry_core::api::Object;
use serde_json::Value;

use super::super::findings::{Findings, Place};
use super::super::schema::Schema;
use super::super::view;
use super::field_paths::{self, Notation};

const RULES: &str = "x-kubernetes-validations";
const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Compiles the expressions of the rules in a valid schema, and estimates their cost.
pub(super) fn validate_rules(
    _schema: &Value,
    _stored: Option<&Object>,
    _is_unchanged: bool,
    _place: &Place,
    _findings: &mut Findings,
) {
}

/// Checks the rules of one schema, but not their expressions.
pub(super) fn check(schema: Schema<'_>, is_convertible: bool, place: &Place, findings: &mut Findings) {
    if !schema.has(RULES) {
        return;
    }
    let place = place.child(RULES);
    for (index, rule) in schema.list(RULES).iter().enumerate() {
        let place = place.index(index);
        let rule = Some(rule);
        check_message(rule, &place, findings);
        let expression = view::text(rule, "messageExpression");
        if !expression.is_empty() && expression.trim().is_empty() {
            let detail = "messageExpression must be non-empty if specified";
            findings.required(&place.child("messageExpression"), detail);
        }
        if view::get(rule, "reason").is_some() {
            let reason = view::text(rule, "reason");
            if !REASONS.contains(&reason) {
                findings.unsupported(&place.child("reason"), reason, &REASONS);
            }
        }
        check_field_path(schema, view::text(rule, "fieldPath"), is_convertible, &place, findings);
    }
}

fn check_message(rule: Option<&Value>, place: &Place, findings: &mut Findings) {
    let message = view::text(rule, "message");
    let expression = view::text(rule, "rule").trim();
    let place_of_message = place.child("message");
    if expression.is_empty() {
        findings.required(&place.child("rule"), "rule is not specified");
    } else if !message.is_empty() && message.trim().is_empty() {
        findings.invalid(&place_of_message, message, "must be non-empty if specified");
    } else if has_line_breaks(message.trim()) {
        findings.invalid(&place_of_message, message, "must not contain line breaks");
    } else if has_line_breaks(expression) && message.is_empty() {
        findings.required(&place_of_message, "message must be specified if rule contains line breaks");
    }
}

fn check_field_path(
    schema: Schema<'_>,
    path: &str,
    is_convertible: bool,
    place: &Place,
    findings: &mut Findings,
) {
    let place = place.child("fieldPath");
    if path.is_empty() {
        return;
    }
    if path.trim().is_empty() {
        findings.invalid(&place, path, "must be non-empty if specified");
    }
    if has_line_breaks(path) {
        findings.invalid(&place, path, "must not contain line breaks");
    }
    // A path through a schema without a structural form is not known to be wrong.
    if is_convertible && field_paths::resolve(path, Some(schema), Notation::WithBrackets).is_err() {
        findings.invalid(&place, path, "must be a valid path");
    }
}

fn has_line_breaks(text: &str) -> bool {
    text.contains(['\n', '\r'])
}
