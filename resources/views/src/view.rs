//! A value in an object and its path, whatever its type.

use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, FieldError, FieldPath};
use serde_json::Value;

/// A field, which may be absent, and its path. The value outlives the path.
#[derive(Clone, Copy)]
pub struct View<'v, 'p> {
    value: Option<&'v Value>,
    parent: Option<&'p View<'v, 'p>>,
    step: PathStep<'p>,
}

#[derive(Clone, Copy)]
enum PathStep<'p> {
    Name(&'p str),
    Index(usize),
    Key(&'p str),
}

/// A view of a field whose type is known.
pub trait Typed<'v, 'p> {
    /// Returns the view of a field of this type.
    fn typed(view: View<'v, 'p>) -> Self;

    /// Returns the view of a value that is not part of an object, whose path is empty.
    fn from_value(value: &'v Value) -> Self
    where
        Self: Sized,
        'v: 'p,
    {
        Self::typed(View::root(value))
    }

    /// Returns this field under another name in errors.
    fn shown_as(self, name: &'p str) -> Self
    where
        Self: std::ops::Deref<Target = View<'v, 'p>> + Sized,
        'v: 'p,
    {
        Self::typed(self.renamed(name))
    }
}

fn something(value: Option<&Value>) -> Option<&Value> {
    value.filter(|value| !value.is_null())
}

// === impl View: going down ===

impl<'v, 'p> View<'v, 'p> {
    /// Returns a top-level field of an object.
    #[inline]
    pub(crate) fn top(object: &'v Object, name: &'p str) -> Self {
        Self { value: something(object.0.get(name)), parent: None, step: PathStep::Name(name) }
    }

    /// Returns a value that is not part of an object, whose path is empty.
    pub fn root(value: &'v Value) -> Self {
        Self { value: something(Some(value)), parent: None, step: PathStep::Name("") }
    }

    /// Returns a field of this one, under the name that paths show.
    #[inline]
    pub(crate) fn child_shown_as(&'p self, name: &str, shown: &'p str) -> Self {
        let value = something(self.value.and_then(|value| value.get(name)));
        Self { value, parent: Some(self), step: PathStep::Name(shown) }
    }

    /// Returns a field of this one.
    #[inline]
    pub(crate) fn child(&'p self, name: &'p str) -> Self {
        self.child_shown_as(name, name)
    }

    /// Returns an entry of this map, under the name that paths show.
    pub(crate) fn entry_shown_as(&'p self, key: &str, shown: &'p str) -> Self {
        let value = something(self.value.and_then(|value| value.get(key)));
        Self { value, parent: Some(self), step: PathStep::Key(shown) }
    }

    /// Returns the elements of this list; none if it is absent.
    pub(crate) fn all_elements(&'p self) -> impl Iterator<Item = Self> {
        let elements = self.value.and_then(Value::as_array).into_iter().flatten();
        elements.enumerate().map(|(index, value)| View {
            value: Some(value),
            parent: Some(self),
            step: PathStep::Index(index),
        })
    }

    /// Returns the entries of this map; none if it is absent.
    pub(crate) fn all_entries(&'p self) -> impl Iterator<Item = (&'v str, Self)>
    where
        'v: 'p,
    {
        let entries = self.value.and_then(Value::as_object).into_iter().flatten();
        entries.map(|(key, value)| {
            let view = View { value: Some(value), parent: Some(self), step: PathStep::Key(key) };
            (key.as_str(), view)
        })
    }

    /// Returns this field under another name in errors.
    pub(crate) fn renamed(self, name: &'p str) -> Self {
        Self { step: PathStep::Name(name), ..self }
    }

    /// Returns this field without the path to it, which a view that is kept longer than those above it cannot have.
    pub fn detached<'q>(&self) -> View<'v, 'q> {
        View { value: self.value, parent: None, step: PathStep::Name("") }
    }

    /// Returns this field with another value.
    pub fn with_value(self, value: &'v Value) -> Self {
        Self { value: something(Some(value)), ..self }
    }
}

// === impl View: reading ===

impl<'v> View<'v, '_> {
    /// Returns the value, if present.
    pub fn value(&self) -> Option<&'v Value> {
        self.value
    }

    /// Whether it is present.
    pub fn exists(&self) -> bool {
        self.value.is_some()
    }

    /// Whether it is absent, or a struct without fields.
    pub fn has_no_fields(&self) -> bool {
        self.count() == 0
    }

    /// Returns the text; empty if absent.
    pub(crate) fn any_text(&self) -> &'v str {
        self.value.and_then(Value::as_str).unwrap_or_default()
    }

    /// Returns the number of elements or entries.
    pub(crate) fn count(&self) -> usize {
        match self.value {
            Some(Value::Array(elements)) => elements.len(),
            Some(Value::Object(entries)) => entries.len(),
            _ => 0,
        }
    }

    /// Returns its path.
    pub fn path(&self) -> FieldPath {
        let above = self.parent.map(View::path).unwrap_or_default();
        match self.step {
            PathStep::Name(name) => above.child(name),
            PathStep::Index(index) => above.index(index),
            PathStep::Key(key) => above.key(key),
        }
    }
}

// === impl View: possible errors ===

impl View<'_, '_> {
    /// Returns the error of a value that violates a rule.
    pub fn invalid(&self, detail: impl Into<String>) -> FieldError {
        FieldError::invalid(self.path(), self.value.cloned().unwrap_or_default(), detail)
    }

    /// Returns the error of a required field that is unset.
    pub fn required(&self, detail: impl Into<String>) -> FieldError {
        FieldError::required(self.path(), detail)
    }

    /// Returns the error of a field that must not be set or changed.
    pub fn forbidden(&self, detail: impl Into<String>) -> FieldError {
        FieldError::forbidden(self.path(), detail)
    }

    /// Returns the error of a value that is not an accepted one.
    pub fn unsupported(&self, accepted: &[&str]) -> FieldError {
        let value = self.value.cloned().unwrap_or_else(|| Value::from(""));
        FieldError::not_supported(self.path(), value, accepted)
    }

    /// Returns the error of a duplicate.
    pub fn duplicate(&self) -> FieldError {
        FieldError::duplicate(self.path(), self.value.cloned().unwrap_or_else(|| Value::from("")))
    }

    /// Adds an error if it is present.
    pub fn check_absent(&self, detail: &str, errors: &mut ErrorList) {
        if self.exists() {
            errors.push(self.forbidden(detail));
        }
    }

    /// Adds an error if the value differs from the old one.
    pub fn check_immutable(&self, old: &View<'_, '_>, errors: &mut ErrorList) {
        if self.value != old.value {
            errors.push(self.invalid("field is immutable"));
        }
    }
}
