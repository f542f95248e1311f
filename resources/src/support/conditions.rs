//! Conditions in the form that most kinds share (`metav1.Condition`).

use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, Object};
use resource_views::meta::v1::Condition;
use resource_views::{List, Typed as _};
use serde_json::Value;

/// Maximum length of a reason, in bytes.
const MAX_REASON_BYTES: usize = 1 << 10;
/// Maximum length of a message, in bytes.
const MAX_MESSAGE_BYTES: usize = 32 << 10;
const NO_REASON: &str = "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

/// Returns the conditions in `status.conditions`, with the fields that those of all kinds have.
pub(crate) fn all(object: &Object) -> impl Iterator<Item = Condition<'_, '_>> {
    let conditions = object.get(&["status", "conditions"]).and_then(Value::as_array);
    conditions.into_iter().flatten().map(Condition::from_value)
}

/// Returns the condition of a type.
pub(crate) fn find<'a>(object: &'a Object, wanted: &str) -> Option<Condition<'a, 'a>> {
    all(object).find(|condition| condition.r#type().text() == wanted)
}

/// Whether the condition of a type is true.
pub(crate) fn is_true(object: &Object, wanted: &str) -> bool {
    find(object, wanted).is_some_and(|condition| condition.status().text() == "True")
}

/// Checks a list of conditions; no two may have the same type.
pub(crate) fn check(conditions: &List<Condition<'_, '_>>, errors: &mut ErrorList) {
    let mut seen = std::collections::HashSet::new();
    for condition in conditions.elements() {
        let kind = condition.r#type();
        if !seen.insert(kind.text()) {
            errors.push(kind.duplicate());
        }
        check_one(&condition, errors);
    }
}

fn check_one(condition: &Condition<'_, '_>, errors: &mut ErrorList) {
    condition.r#type().check(names::qualified_name, errors);
    let status = condition.status();
    if !["False", "True", "Unknown"].contains(&status.text()) {
        errors.push(FieldError::not_supported(status.path(), status.text(), &["False", "True", "Unknown"]));
    }
    let generation = condition.observed_generation();
    if generation.number() < 0 {
        errors.push(generation.invalid("must be greater than or equal to zero"));
    }
    condition.last_transition_time().as_text().check_present(errors);
    let reason = condition.reason();
    if reason.check_present(errors) {
        if !is_reason(reason.text()) {
            errors.push(reason.invalid(NO_REASON));
        }
        reason.check_length(MAX_REASON_BYTES, errors);
    }
    condition.message().check_length(MAX_MESSAGE_BYTES, errors);
}

fn is_reason(text: &str) -> bool {
    let is_outer = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().next_back().is_some_and(is_outer)
        && text.bytes().all(|byte| is_outer(byte) || byte == b',' || byte == b':')
}
