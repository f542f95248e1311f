//! What must hold of every object's metadata, at creation and at update.

use crate::api::Object;

use super::names::NameRule;
use super::{ErrorList, FieldError, FieldPath};

/// What is wrong with an object's metadata by itself.
pub fn validate_object_meta(
    object: &Object,
    _namespaced: bool,
    _rule: NameRule,
    path: &FieldPath,
) -> ErrorList {
    let mut errors = ErrorList::default();
    if object.name().is_empty() {
        errors.push(FieldError::required(path.child("name"), "name or generateName is required"));
    }
    errors
}

/// What is wrong with a change of an object's metadata.
pub fn validate_object_meta_update(new: &Object, old: &Object, path: &FieldPath) -> ErrorList {
    let mut errors = ErrorList::default();
    if new.uid() != old.uid() {
        errors.push(FieldError::invalid(path.child("uid"), new.uid(), "field is immutable"));
    }
    errors
}
