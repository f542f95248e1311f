//! Further checks of fields: bounds and uniqueness of lists, and values that may not change.

use std::collections::HashSet;
use std::hash::Hash;

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;

use super::{Field, PathStep, something};
use crate::support::go_text::internal;
use crate::support::semantic;

// === impl Field: going down ===

impl<'p> Field<'_, 'p> {
    /// Returns a field of this one, under the name that paths show.
    pub(crate) fn get_shown_as(&'p self, name: &str, shown: &'p str) -> Self {
        let value = something(self.value.and_then(|value| value.get(name)));
        Self { value, parent: Some(self), step: PathStep::Name(shown) }
    }

    /// Returns an entry of this map, under the name that paths show.
    pub(crate) fn entry_shown_as(&'p self, key: &str, shown: &'p str) -> Self {
        let value = something(self.value.and_then(|value| value.get(key)));
        Self { value, parent: Some(self), step: PathStep::Key(shown) }
    }
}

// === impl Field: what may be wrong with it ===

impl<'v> Field<'v, '_> {
    /// Returns the error of a value that violates a rule, shown as Kubernetes' internal type (`<core.Taint>`).
    pub(crate) fn invalid_as(&self, shape: &str, detail: impl Into<String>) -> FieldError {
        self.invalid(detail).shown_as(internal::text(self.value, shape))
    }

    /// Adds an error if the value differs from the old one, which is shown as Kubernetes' internal type.
    pub(crate) fn check_immutable_as(&self, shape: &str, old: &Field<'_, '_>, errors: &mut ErrorList) {
        if !semantic::equal(self.value, old.value) {
            errors.push(self.invalid_as(shape, "field is immutable"));
        }
    }

    /// Adds an error if there are more elements or entries than allowed; returns whether there are not.
    pub(crate) fn check_count(&self, most: usize, errors: &mut ErrorList) -> bool {
        let fits = self.len() <= most;
        if !fits {
            errors.push(FieldError::too_many(self.path(), self.len(), most));
        }
        fits
    }

    /// Adds an error for each element whose text occurred before.
    pub(crate) fn check_unique_texts(&self, errors: &mut ErrorList) {
        self.check_unique(Field::text, Field::duplicate, errors);
    }

    /// Adds an error for each element whose key occurred before.
    pub(crate) fn check_unique<'s, K: Eq + Hash>(
        &'s self,
        key: impl Fn(&Field<'v, 's>) -> K,
        error: impl Fn(&Field<'v, 's>) -> FieldError,
        errors: &mut ErrorList,
    ) {
        let mut seen = HashSet::with_capacity(self.len());
        for element in self.elements() {
            if !seen.insert(key(&element)) {
                errors.push(error(&element));
            }
        }
    }

    /// Adds an error if its text has more bytes than allowed.
    pub(crate) fn check_length(&self, most_bytes: usize, errors: &mut ErrorList) {
        if self.text().len() > most_bytes {
            errors.push(FieldError::too_long(self.path(), most_bytes));
        }
    }
}
