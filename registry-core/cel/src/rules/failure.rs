//! Errors of rules that do not hold, with values as Kubernetes shows them.

use serde_json::Value;

use registry_meta::go_text::{float, quote};
use registry_meta::validation::{FieldError, FieldErrorKind, FieldPath};

/// The error of a rule that does not hold. Objects and arrays are not shown.
pub(super) fn rule_failure(
    field: FieldPath,
    value: &Value,
    type_name: &str,
    detail: String,
    reason: FieldErrorKind,
) -> FieldError {
    let shows_value = matches!(reason, FieldErrorKind::Invalid | FieldErrorKind::Duplicate);
    let is_shown = shows_value && !matches!(type_name, "object" | "array");
    let detail = if reason == FieldErrorKind::Duplicate { String::new() } else { detail };
    FieldError {
        kind: reason,
        field,
        value: is_shown.then(|| value.clone()),
        shown: if is_shown { shown(value) } else { None },
        detail,
    }
}

/// The value as Go shows it, where that is not its JSON.
fn shown(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(quote(text)),
        Value::Number(number) if number.as_i64().is_none() => number.as_f64().map(float),
        _ => None,
    }
}
