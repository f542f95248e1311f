//! A value in an object together with where it is: what validation reads. Paths are written out only for errors.
//! A null says the same as nothing.

use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, FieldError, FieldPath};
use serde_json::Value;

use crate::support::go_text::{self, GoShape};

/// A field that may be there or not, and its place. The value outlives the path to it.
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
    /// A top-level field of an object.
    pub(crate) fn of(object: &'v Object, name: &'p str) -> Self {
        Self { value: something(object.0.get(name)), parent: None, step: PathStep::Name(name) }
    }

    /// A field below this one.
    pub(crate) fn get(&'p self, name: &'p str) -> Self {
        let value = something(self.value.and_then(|value| value.get(name)));
        Self { value, parent: Some(self), step: PathStep::Name(name) }
    }

    /// The elements of this list; none when it is absent.
    pub(crate) fn elements(&'p self) -> impl Iterator<Item = Field<'v, 'p>> {
        let elements = self.value.and_then(Value::as_array).into_iter().flatten();
        elements.enumerate().map(|(index, value)| Field {
            value: Some(value),
            parent: Some(self),
            step: PathStep::Index(index),
        })
    }

    /// The entries of this map; none when it is absent.
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
    /// The value, if it is there.
    pub(crate) fn value(&self) -> Option<&'v Value> {
        self.value
    }

    /// Its value as messages show one that Kubernetes keeps in a Go struct of this shape.
    pub(crate) fn go_text(&self, shape: GoShape) -> String {
        go_text::text(self.value, shape)
    }

    /// Whether it is there.
    pub(crate) fn exists(&self) -> bool {
        self.value.is_some()
    }

    /// Its text; empty when absent.
    pub(crate) fn text(&self) -> &'v str {
        self.value.and_then(Value::as_str).unwrap_or_default()
    }

    /// Its whole number, if it is there.
    pub(crate) fn integer(&self) -> Option<i64> {
        self.value.and_then(Value::as_i64)
    }

    /// Whether it is there and true.
    pub(crate) fn is_true(&self) -> bool {
        self.value.and_then(Value::as_bool).unwrap_or_default()
    }

    /// The entries of this map of texts; none when it is absent.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (&'v str, &'v str)> + use<'v> {
        let entries = self.value.and_then(Value::as_object).into_iter().flatten();
        entries.map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
    }

    /// How many elements or entries it has.
    pub(crate) fn len(&self) -> usize {
        match self.value {
            Some(Value::Array(elements)) => elements.len(),
            Some(Value::Object(entries)) => entries.len(),
            _ => 0,
        }
    }

    /// Where it is.
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
    /// Its value breaks a rule.
    pub(crate) fn invalid(&self, detail: impl Into<String>) -> FieldError {
        FieldError::invalid(self.path(), self.value.cloned().unwrap_or_default(), detail)
    }

    /// It must be set.
    pub(crate) fn required(&self, detail: impl Into<String>) -> FieldError {
        FieldError::required(self.path(), detail)
    }

    /// It may not be set, or not changed.
    pub(crate) fn forbidden(&self, detail: impl Into<String>) -> FieldError {
        FieldError::forbidden(self.path(), detail)
    }

    /// It is none of the accepted values.
    pub(crate) fn unsupported(&self, accepted: &[&str]) -> FieldError {
        FieldError::not_supported(self.path(), self.value.cloned().unwrap_or_default(), accepted)
    }

    /// It comes twice.
    pub(crate) fn duplicate(&self) -> FieldError {
        FieldError::duplicate(self.path(), self.value.cloned().unwrap_or_default())
    }

    /// Notes when its text is empty; says whether it is not.
    pub(crate) fn check_present(&self, errors: &mut ErrorList) -> bool {
        let present = !self.text().is_empty();
        if !present {
            errors.push(self.required(""));
        }
        present
    }

    /// Notes when its text is set and a rule complains about it.
    pub(crate) fn check_if_set(&self, rule: impl Fn(&str) -> Vec<String>, errors: &mut ErrorList) {
        if !self.text().is_empty() {
            self.check(rule, errors);
        }
    }

    /// Notes when its text is empty, or else what a rule complains about.
    pub(crate) fn check_named(&self, rule: impl Fn(&str) -> Vec<String>, errors: &mut ErrorList) {
        if self.check_present(errors) {
            self.check(rule, errors);
        }
    }

    /// Notes when its number is no port.
    pub(crate) fn check_port(&self, errors: &mut ErrorList) {
        self.check_between(1, 65_535, errors);
    }

    /// Notes when its number is below zero.
    pub(crate) fn check_not_negative(&self, errors: &mut ErrorList) {
        if self.integer().is_some_and(|number| number < 0) {
            errors.push(self.invalid("must be greater than or equal to 0"));
        }
    }

    /// Notes when its number is outside a range.
    pub(crate) fn check_between(&self, least: i64, most: i64, errors: &mut ErrorList) {
        if self.integer().is_some_and(|number| !(least..=most).contains(&number)) {
            errors.push(self.invalid(format!("must be between {least} and {most}, inclusive")));
        }
    }

    /// Notes when it is set to none of the accepted words.
    pub(crate) fn check_one_of(&self, accepted: &[&str], errors: &mut ErrorList) {
        if self.exists() && !accepted.contains(&self.text()) {
            errors.push(self.unsupported(accepted));
        }
    }

    /// Notes every complaint a rule has about its text.
    pub(crate) fn check(&self, rule: impl Fn(&str) -> Vec<String>, errors: &mut ErrorList) {
        for complaint in rule(self.text()) {
            errors.push(self.invalid(complaint));
        }
    }

    /// Notes when the value differs from an older state of the same field.
    pub(crate) fn check_immutable(&self, old: &Field<'_, '_>, errors: &mut ErrorList) {
        if self.value != old.value {
            errors.push(self.invalid("field is immutable"));
        }
    }
}
