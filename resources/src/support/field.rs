//! A value in an object and its path, for validation. Paths are only written out for errors. A null is the same as an
//! absent field.

use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, FieldError, FieldPath};
use serde_json::Value;

use crate::support::go_text::{self, GoShape};

mod checks;

/// A field, which may be absent, and its path. The value outlives the path.
#[derive(Clone, Copy)]
pub(crate) struct Field<'v, 'p> {
    value: Option<&'v Value>,
    parent: Option<&'p Field<'v, 'p>>,
    step: PathStep<'p>,
}

#[derive(Clone, Copy)]
enum PathStep<'p> {
    Name(&'p str),
    Index(usize),
    Key(&'p str),
}

fn something(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null())
}

// === impl Field: going down ===

impl<'v, 'p> Field<'v, 'p> {
    /// Returns a top-level field of an object.
    pub(crate) fn of(object: &'v Object, name: &'p str) -> Self {
        Self { value: something(object.0.get(name)), parent: None, step: PathStep::Name(name) }
    }

    /// Returns a field of this one.
    pub(crate) fn get(&'p self, name: &'p str) -> Self {
        let value = something(self.value.and_then(|value| value.get(name)));
        Self { value, parent: Some(self), step: PathStep::Name(name) }
    }

    /// Returns this field under another name in errors.
    pub(crate) fn called(self, name: &'p str) -> Self {
        Self { step: PathStep::Name(name), ..self }
    }

    /// Returns this field with another value.
    pub(crate) fn holding(self, value: &'v Value) -> Self {
        Self { value: something(Some(value)), ..self }
    }

    /// Returns the elements of this list; none if it is absent.
    pub(crate) fn elements(&'p self) -> impl Iterator<Item = Field<'v, 'p>> {
        let elements = self.value.and_then(Value::as_array).into_iter().flatten();
        elements.enumerate().map(|(index, value)| Field {
            value: Some(value),
            parent: Some(self),
            step: PathStep::Index(index),
        })
    }

    /// Returns the entries of this map; none if it is absent.
    pub(crate) fn entries(&'p self) -> impl Iterator<Item = (&'v str, Field<'v, 'p>)>
    where
        'v: 'p,
    {
        let entries = self.value.and_then(Value::as_object).into_iter().flatten();
        entries.map(|(key, value)| {
            let field = Field { value: Some(value), parent: Some(self), step: PathStep::Key(key) };
            (key.as_str(), field)
        })
    }
}

// === impl Field: reading ===

impl<'v> Field<'v, '_> {
    /// Returns the value, if present.
    pub(crate) fn value(&self) -> Option<&'v Value> {
        self.value
    }

    /// Returns the value as messages show one that Kubernetes holds in a Go struct of this shape.
    pub(crate) fn go_text(&self, shape: GoShape) -> String {
        go_text::text(self.value, shape)
    }

    /// Whether it is present.
    pub(crate) fn exists(&self) -> bool {
        self.value.is_some()
    }

    /// Returns its text; empty if absent.
    pub(crate) fn text(&self) -> &'v str {
        self.value.and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns its integer, if present.
    pub(crate) fn integer(&self) -> Option<i64> {
        self.value.and_then(Value::as_i64)
    }

    /// Returns its integer; 0 if absent, for fields whose 0 means unset.
    pub(crate) fn number(&self) -> i64 {
        self.integer().unwrap_or_default()
    }

    /// Returns its truth value, if present.
    pub(crate) fn truth(&self) -> Option<bool> {
        self.value.and_then(Value::as_bool)
    }

    /// Returns its text, if present: for fields that distinguish an empty text from none.
    pub(crate) fn optional_text(&self) -> Option<&'v str> {
        self.value.and_then(Value::as_str)
    }

    /// Whether it is present and true.
    pub(crate) fn is_true(&self) -> bool {
        self.value.and_then(Value::as_bool).unwrap_or_default()
    }

    /// Returns the entries of this map of texts; none if it is absent.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&'v str, &'v str)> + use<'v> {
        let entries = self.value.and_then(Value::as_object).into_iter().flatten();
        entries.map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
    }

    /// Whether it is absent, or has no elements or entries.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of elements or entries.
    pub(crate) fn len(&self) -> usize {
        match self.value {
            Some(Value::Array(elements)) => elements.len(),
            Some(Value::Object(entries)) => entries.len(),
            _ => 0,
        }
    }

    /// Returns its path.
    pub(crate) fn path(&self) -> FieldPath {
        let above = self.parent.map(Field::path).unwrap_or_default();
        match self.step {
            PathStep::Name(name) => above.child(name),
            PathStep::Index(index) => above.index(index),
            PathStep::Key(key) => above.key(key),
        }
    }
}

// === impl Field: what may be wrong with it ===

impl Field<'_, '_> {
    /// Returns the error of a value that violates a rule.
    pub(crate) fn invalid(&self, detail: impl Into<String>) -> FieldError {
        FieldError::invalid(self.path(), self.value.cloned().unwrap_or_default(), detail)
    }

    /// Returns the error of a text that violates a rule; an absent one is shown as empty.
    pub(crate) fn invalid_text(&self, detail: impl Into<String>) -> FieldError {
        FieldError::invalid(self.path(), self.text(), detail)
    }

    /// Returns the error of a name that refers to nothing.
    pub(crate) fn not_found(&self) -> FieldError {
        FieldError::not_found(self.path(), self.text())
    }

    /// Returns the error of a required field that is unset.
    pub(crate) fn required(&self, detail: impl Into<String>) -> FieldError {
        FieldError::required(self.path(), detail)
    }

    /// Returns the error of a field that must not be set or changed.
    pub(crate) fn forbidden(&self, detail: impl Into<String>) -> FieldError {
        FieldError::forbidden(self.path(), detail)
    }

    /// Returns the error of a value that is not an accepted one.
    pub(crate) fn unsupported(&self, accepted: &[&str]) -> FieldError {
        let value = self.value.cloned().unwrap_or_else(|| Value::from(""));
        FieldError::not_supported(self.path(), value, accepted)
    }

    /// Returns the error of a duplicate.
    pub(crate) fn duplicate(&self) -> FieldError {
        FieldError::duplicate(self.path(), self.value.cloned().unwrap_or_else(|| Value::from("")))
    }

    /// Adds an error if its text is empty; returns whether it is not.
    pub(crate) fn check_present(&self, errors: &mut ErrorList) -> bool {
        let present = !self.text().is_empty();
        if !present {
            errors.push(self.required(""));
        }
        present
    }

    /// Adds an error if it has no elements or entries.
    pub(crate) fn check_not_empty(&self, errors: &mut ErrorList) {
        if self.is_empty() {
            errors.push(self.required(""));
        }
    }

    /// Adds an error if it is present.
    pub(crate) fn check_absent(&self, detail: &str, errors: &mut ErrorList) {
        if self.exists() {
            errors.push(self.forbidden(detail));
        }
    }

    /// Adds an error for each complaint of a rule if its text is set.
    pub(crate) fn check_if_set(&self, rule: impl Fn(&str) -> Vec<String>, errors: &mut ErrorList) {
        if !self.text().is_empty() {
            self.check(rule, errors);
        }
    }

    /// Adds an error if its text is empty, or else for each complaint of a rule.
    pub(crate) fn check_named(&self, rule: impl Fn(&str) -> Vec<String>, errors: &mut ErrorList) {
        if self.check_present(errors) {
            self.check(rule, errors);
        }
    }

    /// Adds an error if its number is no port.
    pub(crate) fn check_port(&self, errors: &mut ErrorList) {
        self.check_between(1, 65_535, errors);
    }

    /// Adds an error if its number is negative.
    pub(crate) fn check_not_negative(&self, errors: &mut ErrorList) {
        if self.integer().is_some_and(|number| number < 0) {
            errors.push(self.invalid("must be greater than or equal to 0"));
        }
    }

    /// Adds an error if its number is outside a range.
    pub(crate) fn check_between(&self, least: i64, most: i64, errors: &mut ErrorList) {
        if self.integer().is_some_and(|number| !(least..=most).contains(&number)) {
            errors.push(self.invalid(format!("must be between {least} and {most}, inclusive")));
        }
    }

    /// Adds an error if it is set to none of the accepted words.
    pub(crate) fn check_one_of(&self, accepted: &[&str], errors: &mut ErrorList) {
        if self.exists() && !accepted.contains(&self.text()) {
            errors.push(self.unsupported(accepted));
        }
    }

    /// Adds an error if its text is empty, or else if it is none of the accepted words.
    pub(crate) fn check_word(&self, accepted: &[&str], errors: &mut ErrorList) {
        if self.check_present(errors) && !accepted.contains(&self.text()) {
            errors.push(self.unsupported(accepted));
        }
    }

    /// Adds an error if it is present and violates a rule of optional texts, which may not be empty either.
    pub(crate) fn check_if_present(&self, rule: impl Fn(&str) -> Vec<String>, errors: &mut ErrorList) {
        if self.exists() {
            self.check(rule, errors);
        }
    }

    /// Adds an error for each complaint of a rule about its text.
    pub(crate) fn check(&self, rule: impl Fn(&str) -> Vec<String>, errors: &mut ErrorList) {
        for complaint in rule(self.text()) {
            errors.push(self.invalid_text(complaint));
        }
    }

    /// Adds an error if its number is not positive; an absent one is 0.
    pub(crate) fn check_positive(&self, errors: &mut ErrorList) {
        if self.number() <= 0 {
            errors.push(FieldError::invalid(self.path(), self.number(), "must be greater than zero"));
        }
    }

    /// Adds an error if the value differs from the old one.
    pub(crate) fn check_immutable(&self, old: &Field<'_, '_>, errors: &mut ErrorList) {
        if self.value != old.value {
            errors.push(self.invalid("field is immutable"));
        }
    }
}
