//! Fields that can be set, for defaulting.
//!
//! A default replaces a field that is *unset*: missing, null, or empty text. That is a field's zero value in Kubernetes.

use std::marker::PhantomData;

use serde_json::{Map as Entries, Value};

use crate::scalars::{Boolean, IntOrString, Integer, Quantity, Text, Time};
use crate::several::{List, Map};
use crate::view::View;

/// The fields of one JSON object.
pub type Fields = Entries<String, Value>;

/// The place of a field of a type, in the object that contains it.
pub struct Slot<'m, T> {
    fields: &'m mut Fields,
    name: &'static str,
    ty: PhantomData<T>,
}

/// The fields of a struct that can be set.
pub trait Fill<'m> {
    /// Returns the fields of this JSON object.
    fn fill(fields: &'m mut Fields) -> Self;
}

/// Returns the object in a field, which becomes an empty one unless it is one.
fn new_object<'m>(fields: &'m mut Fields, name: &str) -> &'m mut Fields {
    let value = fields.entry(name).or_insert(Value::Null);
    if !value.is_object() {
        *value = Value::Object(Fields::new());
    }
    match value {
        Value::Object(fields) => fields,
        _ => unreachable!("it is an object now"),
    }
}

/// Whether a field is unset.
pub fn is_unset(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null) => true,
        Some(Value::String(text)) => text.is_empty(),
        Some(_) => false,
    }
}

// === impl Slot: fields of any type ===

impl<'m, T> Slot<'m, T> {
    #[inline]
    pub(crate) fn new(fields: &'m mut Fields, name: &'static str) -> Self {
        Self { fields, name, ty: PhantomData }
    }

    /// Returns the value, if present; it may be null.
    pub fn value(&self) -> Option<&Value> {
        self.fields.get(self.name)
    }

    /// Whether it is missing, null, or empty text.
    pub fn is_unset(&self) -> bool {
        is_unset(self.value())
    }

    /// Whether it is missing or null.
    pub fn is_absent(&self) -> bool {
        self.value().is_none_or(Value::is_null)
    }

    /// Whether it is unset, or an empty map or list.
    pub fn is_empty(&self) -> bool {
        match self.value() {
            Some(Value::Object(entries)) => entries.is_empty(),
            Some(Value::Array(elements)) => elements.is_empty(),
            other => is_unset(other),
        }
    }

    /// Removes the field; returns its value.
    pub fn remove(self) -> Option<Value> {
        self.fields.remove(self.name)
    }

    /// Sets the field to the value of another, or removes it if that is absent.
    pub fn copy_from(self, other: &View<'_, '_>) {
        match other.value() {
            Some(value) => self.set_value(value.clone()),
            None => drop(self.remove()),
        }
    }

    /// Sets the field to a JSON value.
    pub fn set_value(self, value: Value) {
        self.fields.insert(self.name.to_owned(), value);
    }

    /// Sets the field to a JSON value if it is unset, or an empty map or list.
    pub fn or_if_empty(self, default: impl FnOnce() -> Value) {
        if self.is_empty() {
            self.set_value(default());
        }
    }

    /// Sets the field to a JSON value if it is missing or null.
    pub fn or_value(self, default: impl FnOnce() -> Value) {
        if self.is_absent() {
            self.set_value(default());
        }
    }
}

// === impl Slot: scalars ===

macro_rules! settable {
    ($($view:ident: $value:ty)*) => {
        $(
            impl Slot<'_, $view<'_, '_>> {
                /// Sets the field.
                pub fn set(self, value: $value) {
                    self.set_value(value.into());
                }

                /// Sets the field if it is unset.
                pub fn or(self, default: $value) {
                    if self.is_unset() {
                        self.set(default);
                    }
                }

                /// Sets the field if it is missing or null, for fields whose empty text is a value.
                pub fn or_if_absent(self, default: $value) {
                    if self.is_absent() {
                        self.set(default);
                    }
                }
            }
        )*
    };
}

settable! {
    Text: &str
    Integer: i64
    Boolean: bool
    Quantity: &str
    Time: &str
}

impl<'m> Slot<'m, Text<'_, '_>> {
    /// Returns its text; empty if absent.
    pub fn text(self) -> &'m str {
        self.fields.get(self.name).and_then(Value::as_str).unwrap_or_default()
    }

    /// Whether its text is this one.
    pub fn is(&self, text: &str) -> bool {
        self.value().and_then(Value::as_str) == Some(text)
    }
}

impl Slot<'_, Boolean<'_, '_>> {
    /// Whether it is present and true.
    pub fn is_true(&self) -> bool {
        self.value() == Some(&Value::Bool(true))
    }
}

impl Slot<'_, Integer<'_, '_>> {
    /// Returns its integer, if present.
    pub fn integer(&self) -> Option<i64> {
        self.value().and_then(Value::as_i64)
    }

    /// Sets the field if it is unset or 0, for fields whose 0 means unset.
    pub fn or_if_zero(self, default: i64) {
        if self.is_unset() || self.value().and_then(Value::as_i64) == Some(0) {
            self.set(default);
        }
    }
}

impl Slot<'_, IntOrString<'_, '_>> {
    /// Sets the field if it is unset.
    pub fn or(self, default: impl Into<Value>) {
        if self.is_unset() {
            self.set_value(default.into());
        }
    }

    /// Sets the field if it is missing or null, for fields whose empty text is a value.
    pub fn or_if_absent(self, default: impl Into<Value>) {
        self.or_value(|| default.into());
    }
}

// === impl Slot: structs, lists, maps ===

impl<'m, T: Fill<'m>> Slot<'m, T> {
    /// Returns the fields in it, if it is present.
    pub fn present(self) -> Option<T> {
        self.fields.get_mut(self.name).and_then(Value::as_object_mut).map(T::fill)
    }

    /// Calls a function with the fields in it, if it is present.
    pub fn edit(self, edit: impl FnOnce(T)) {
        if let Some(fields) = self.present() {
            edit(fields);
        }
    }

    /// Returns the fields in it, for which it becomes an empty object unless it is one.
    pub fn or_new(self) -> T {
        T::fill(new_object(self.fields, self.name))
    }
}

impl<'m, T: Fill<'m>> Slot<'m, List<T>> {
    /// Returns the elements that are objects; none if it is absent.
    pub fn elements(self) -> impl Iterator<Item = T> {
        let elements = self.fields.get_mut(self.name).and_then(Value::as_array_mut).into_iter().flatten();
        elements.filter_map(Value::as_object_mut).map(T::fill)
    }
}

impl<T> Slot<'_, List<T>> {
    /// Keeps the elements that a test accepts.
    pub fn retain(self, test: impl Fn(&View<'_, '_>) -> bool) {
        if let Some(elements) = self.fields.get_mut(self.name).and_then(Value::as_array_mut) {
            elements.retain(|element| test(&View::root(element)));
        }
    }

    /// Appends elements to the list, which is created unless there is one.
    pub fn append(self, mut elements: Vec<Value>) {
        match self.fields.get_mut(self.name).and_then(Value::as_array_mut) {
            Some(list) => list.append(&mut elements),
            None => self.set_value(elements.into()),
        }
    }
}

impl<'m> Slot<'m, List<Text<'_, '_>>> {
    /// Returns the texts of the elements; none if it is absent.
    pub fn texts(self) -> impl Iterator<Item = &'m str> {
        let elements = self.fields.get(self.name).and_then(Value::as_array).into_iter().flatten();
        elements.map(|value| value.as_str().unwrap_or_default())
    }
}

impl<'m, T: Fill<'m>> Slot<'m, Map<T>> {
    /// Returns the values that are objects; none if it is absent.
    pub fn values(self) -> impl Iterator<Item = T> {
        let entries = self.fields.get_mut(self.name).and_then(Value::as_object_mut).into_iter().flatten();
        entries.filter_map(|(_, value)| value.as_object_mut()).map(T::fill)
    }
}

impl<'m, T> Slot<'m, Map<T>> {
    /// Returns the entries, if it is present.
    pub fn entries(self) -> Option<&'m mut Fields> {
        self.fields.get_mut(self.name).and_then(Value::as_object_mut)
    }

    /// Returns the entries, for which it becomes an empty map unless it is one.
    pub fn or_new_entries(self) -> &'m mut Fields {
        new_object(self.fields, self.name)
    }
}
