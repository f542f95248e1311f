//! Selectors of the object's labels.

use registry_core::api::selector::{LabelSelector, SelectorError};
use registry_core::api::{Object, StatusError};
use serde_json::Value;

/// Reads a selector. A missing one is the default, which selects everything.
pub(super) fn read(selector: Option<&Value>) -> Result<LabelSelector, SelectorError> {
    match selector {
        None | Some(Value::Null) => Ok(LabelSelector::default()),
        Some(selector) => LabelSelector::from_object(selector),
    }
}

/// Returns a selector that was read.
///
/// # Errors
/// 500 if it is invalid.
pub(super) fn valid(selector: &Result<LabelSelector, SelectorError>) -> Result<&LabelSelector, StatusError> {
    selector.as_ref().map_err(StatusError::internal)
}

/// Returns whether a selector selects the object or the old one: neither a label that is added nor one that is removed
/// hides a write.
pub(super) fn selects(
    selector: &Result<LabelSelector, SelectorError>,
    object: Option<&Object>,
    old: Option<&Object>,
) -> Result<bool, StatusError> {
    let selector = valid(selector)?;
    let is_selected =
        |object: Option<&Object>| object.is_some_and(|object| selects_labels_of(selector, object));
    Ok(selector.is_empty() || is_selected(object) || is_selected(old))
}

/// Returns whether a selector selects the labels of an object.
pub(super) fn selects_labels_of(selector: &LabelSelector, object: &Object) -> bool {
    let labels = object.get(&["metadata", "labels"]);
    selector.matches(|key| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str))
}
