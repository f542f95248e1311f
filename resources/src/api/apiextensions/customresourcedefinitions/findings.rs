//! Collects errors about a definition within a limit of work.
//!
//! A hostile definition has very many errors below very long names, or repeats a long list in each of its errors. Once
//! the texts of the errors have reached a limit, no more are collected: the definition is rejected either way.

use registry_core::api::go_text::escape_html;
use registry_core::api::validation::{ErrorList, FieldError, FieldPath};
use registry_core::context::Budget;
use serde_json::Value;

use crate::support::go_text;

/// Maximum total length of the collected errors' texts, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// Length after which no more of a value is shown, in bytes: each schema, however small, is more than a kilobyte long.
const MAX_SHOWN_BYTES: usize = 256 << 10;

/// Maximum estimated size of the regular expressions of all versions together.
const MAX_PATTERN_SIZE: u64 = 500_000;

/// The path of a field, and the length of its text.
#[derive(Clone)]
pub(super) struct Place {
    path: FieldPath,
    bytes: usize,
}

/// The errors found so far.
pub(super) struct Findings<'b> {
    /// The budget of the request.
    budget: &'b Budget,
    errors: Vec<FieldError>,
    bytes_left: usize,
    pattern_size_left: u64,
}

// === impl Place ===

impl Place {
    /// Creates the path of a top-level field.
    pub(super) fn new(root: &str) -> Self {
        Self { path: FieldPath::new(root), bytes: root.len() }
    }

    /// Returns the path of a field below this one.
    pub(super) fn child(&self, name: &str) -> Self {
        Self { path: self.path.child(name), bytes: self.bytes + name.len() + 1 }
    }

    /// Returns the path of an element of this list.
    pub(super) fn index(&self, index: usize) -> Self {
        Self { path: self.path.index(index), bytes: self.bytes + 8 }
    }

    /// Returns the path of an entry of this map.
    pub(super) fn key(&self, key: &str) -> Self {
        Self { path: self.path.key(key), bytes: self.bytes + key.len() + 2 }
    }

    /// Returns the approximate length of the path's text.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the path.
    pub(super) fn path(&self) -> &FieldPath {
        &self.path
    }
}

// === impl Findings ===

impl<'b> Findings<'b> {
    /// Creates an empty collection.
    pub(super) fn new(budget: &'b Budget) -> Self {
        Self { budget, errors: Vec::new(), bytes_left: MAX_BYTES, pattern_size_left: MAX_PATTERN_SIZE }
    }

    /// Returns the budget of the request.
    pub(super) fn budget(&self) -> &'b Budget {
        self.budget
    }

    /// Returns the number of errors.
    pub(super) fn len(&self) -> usize {
        self.errors.len()
    }

    /// Takes an expression's size from what all expressions may have together. Returns whether that much was left.
    pub(super) fn take_pattern_size(&mut self, size: u64) -> bool {
        let left = self.pattern_size_left.checked_sub(size);
        self.pattern_size_left = left.unwrap_or(self.pattern_size_left);
        left.is_some()
    }

    /// Returns a copy of the errors after the first `start`.
    pub(super) fn since(&self, start: usize) -> ErrorList {
        ErrorList(self.errors.get(start..).unwrap_or_default().to_vec())
    }

    /// Returns the errors in the order found.
    pub(super) fn into_list(self) -> ErrorList {
        ErrorList(self.errors)
    }

    /// Adds the error of a required field that is unset.
    pub(super) fn required(&mut self, place: &Place, detail: &str) {
        self.add(place, detail.len(), || FieldError::required(place.path.clone(), detail));
    }

    /// Adds the error of a required field, whose detail is only formatted if there is room for it.
    pub(super) fn required_with(
        &mut self,
        place: &Place,
        detail_bytes: usize,
        detail: impl FnOnce() -> String,
    ) {
        self.add(place, detail_bytes, || FieldError::required(place.path.clone(), detail()));
    }

    /// Adds the error of a field that must not be set.
    pub(super) fn forbidden(&mut self, place: &Place, detail: &str) {
        self.add(place, detail.len(), || FieldError::forbidden(place.path.clone(), detail));
    }

    /// Adds the error of a text that violates a rule.
    pub(super) fn invalid(&mut self, place: &Place, text: &str, detail: impl Into<String>) {
        let detail = detail.into();
        let bytes = text.len() + detail.len();
        self.add(place, bytes, || FieldError::invalid(place.path.clone(), text, detail));
    }

    /// Adds the error of any other value that violates a rule.
    pub(super) fn invalid_value(&mut self, place: &Place, value: Option<&Value>, detail: &str) {
        if self.bytes_left == 0 {
            return;
        }
        let value = value.unwrap_or(&Value::Null);
        let text = escape_html(value.to_string());
        self.add(place, text.len() + detail.len(), || {
            FieldError::invalid(place.path.clone(), value.clone(), detail).shown_as(text)
        });
    }

    /// Adds the error of a value that is shown as Kubernetes' internal type.
    pub(super) fn invalid_as(&mut self, shape: &str, place: &Place, value: Option<&Value>, detail: &str) {
        if self.bytes_left == 0 {
            return;
        }
        let text = go_text::text_within(value, shape, MAX_SHOWN_BYTES);
        self.add(place, text.len() + detail.len(), || {
            FieldError::invalid(place.path.clone(), Value::Null, detail).shown_as(text)
        });
    }

    /// Checks that a text is one of the accepted words.
    pub(super) fn check_word(&mut self, place: &Place, text: &str, accepted: &[&str]) {
        if text.is_empty() {
            self.required(place, "");
        } else if !accepted.contains(&text) {
            self.unsupported(place, text, accepted);
        }
    }

    /// Adds the error of a text that is not an accepted one.
    pub(super) fn unsupported(&mut self, place: &Place, text: &str, accepted: &[&str]) {
        self.add(place, text.len() + 128, || FieldError::not_supported(place.path.clone(), text, accepted));
    }

    /// Adds the error of a text that occurs twice.
    pub(super) fn duplicate(&mut self, place: &Place, text: &str) {
        self.add(place, text.len(), || FieldError::duplicate(place.path.clone(), text));
    }

    /// Adds the error of a list that is too long.
    pub(super) fn too_many(&mut self, place: &Place, count: usize, limit: usize) {
        self.add(place, 64, || FieldError::too_many(place.path.clone(), count, limit));
    }

    /// Adds errors found elsewhere.
    pub(super) fn append(&mut self, place: &Place, errors: ErrorList) {
        for error in errors.0 {
            self.add(place, error.detail.len() + 64, || error);
        }
    }

    /// Sorts the errors after the first `start` by their texts.
    pub(super) fn sort_from(&mut self, start: usize) {
        if let Some(errors) = self.errors.get_mut(start..) {
            errors.sort_by_cached_key(ToString::to_string);
        }
    }

    fn add(&mut self, place: &Place, bytes: usize, error: impl FnOnce() -> FieldError) {
        if self.bytes_left == 0 {
            return;
        }
        // The first error is always reported, however long it is.
        self.bytes_left = self.bytes_left.saturating_sub(place.bytes + bytes);
        self.errors.push(error());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn very_many_long_errors_stay_within_the_limit() {
        let budget = Budget::default();
        let mut findings = Findings::new(&budget);
        let place = Place::new("spec").key(&"x".repeat(100_000));
        for _ in 0..100_000 {
            findings.required(&place, "because");
        }
        assert!(findings.len() < 20);
        assert!(findings.len() > 5);
    }

    #[test]
    fn values_are_shown_as_go_writes_them() {
        let budget = Budget::default();
        let mut findings = Findings::new(&budget);
        findings.invalid_value(&Place::new("a"), Some(&serde_json::json!({"b": "<&>"})), "wrong");
        let list = findings.into_list();
        assert_eq!(list.0[0].body(), r#"Invalid value: {"b":"\u003c\u0026\u003e"}: wrong"#);
    }
}
