//! Checks of what a rule declares, apart from its expressions.

use serde_json::Value;

use crate::rules::field_path;
use registry_meta::go_text::{escape_html, quote};
use registry_meta::validation::{ErrorList, FieldError, FieldPath};

/// The reasons that a rule can give.
const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Checks the texts of a rule.
pub(super) fn check(rule: &Value, schema: &Value, path: &FieldPath, errors: &mut ErrorList) {
    let text = |name: &str| rule.get(name).and_then(Value::as_str).unwrap_or_default();
    let invalid = |name: &str, detail: &str| {
        let value = text(name);
        FieldError::invalid(path.child(name), value, detail).shown_as(quote(value))
    };
    let required = |name: &str, detail: &str| FieldError::required(path.child(name), detail);
    let source = text("rule").trim();
    let message = text("message").trim();
    if source.is_empty() {
        errors.push(required("rule", "rule is not specified"));
    } else if message.is_empty() && !text("message").is_empty() {
        errors.push(invalid("message", "must be non-empty if specified"));
    } else if has_line_breaks(message) {
        errors.push(invalid("message", "must not contain line breaks"));
    } else if has_line_breaks(source) && message.is_empty() {
        errors.push(required("message", "message must be specified if rule contains line breaks"));
    }
    if !text("messageExpression").is_empty() && text("messageExpression").trim().is_empty() {
        errors.push(required("messageExpression", "messageExpression must be non-empty if specified"));
    }
    let reason = rule.get("reason").and_then(Value::as_str);
    if let Some(reason) = reason.filter(|reason| !REASONS.contains(reason)) {
        errors.push(FieldError::not_supported(path.child("reason"), reason, &REASONS));
    }
    let field = text("fieldPath");
    if field.is_empty() {
        return;
    }
    if field.trim().is_empty() {
        errors.push(invalid("fieldPath", "must be non-empty if specified"));
    }
    if has_line_breaks(field) {
        errors.push(invalid("fieldPath", "must not contain line breaks"));
    }
    if field_path::resolve(field, schema).is_none() {
        errors.push(invalid("fieldPath", "must be a valid path"));
    }
}

fn has_line_breaks(text: &str) -> bool {
    text.contains(['\n', '\r'])
}

/// The rule as messages show it: as JSON of Kubernetes' type, with the characters escaped that HTML gives a meaning.
pub(super) fn shown(rule: &Value) -> String {
    let text = |name: &str| json(Some(rule.get(name).unwrap_or(&Value::String(String::new()))));
    let optional = |name: &str| json(rule.get(name));
    format!(
        r#"{{"Rule":{},"Message":{},"MessageExpression":{},"Reason":{},"FieldPath":{},"OptionalOldSelf":{}}}"#,
        text("rule"),
        text("message"),
        text("messageExpression"),
        optional("reason"),
        text("fieldPath"),
        optional("optionalOldSelf"),
    )
}

fn json(value: Option<&Value>) -> String {
    escape_html(value.unwrap_or(&Value::Null).to_string())
}
