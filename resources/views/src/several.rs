//! Views of lists and maps.

use std::collections::HashSet;
use std::hash::Hash;
use std::ops::Deref;

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;
use serde_json::Value;

use crate::scalars::Text;
use crate::view::{Typed, View};

/// A list of elements of one type. The type has the lifetimes of the list too, so its place is kept as one of an element.
#[derive(Clone, Copy)]
pub struct List<T>(T);

/// A map from texts to values of one type, which has the lifetimes of the map too.
#[derive(Clone, Copy)]
pub struct Map<T>(T);

macro_rules! several {
    ($name:ident) => {
        impl<T: Deref> Deref for $name<T> {
            type Target = T::Target;

            #[inline]
            fn deref(&self) -> &T::Target {
                &self.0
            }
        }

        impl<'v, 'p, T: Typed<'v, 'p>> Typed<'v, 'p> for $name<T> {
            #[inline]
            fn typed(view: View<'v, 'p>) -> Self {
                Self(T::typed(view))
            }
        }

        impl<'v: 'p, 'p, T: Deref<Target = View<'v, 'p>>> $name<T> {
            /// Whether it is absent, or nothing is in it.
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Returns the number of its elements or entries.
            pub fn len(&self) -> usize {
                self.count()
            }

            /// Adds an error if nothing is in it.
            pub fn check_not_empty(&self, errors: &mut ErrorList) {
                if self.is_empty() {
                    errors.push(self.required(""));
                }
            }

            /// Adds an error if there are more elements or entries than allowed; returns whether there are not.
            pub fn check_count(&self, most: usize, errors: &mut ErrorList) -> bool {
                let fits = self.len() <= most;
                if !fits {
                    errors.push(FieldError::too_many(self.path(), self.len(), most));
                }
                fits
            }
        }
    };
}
several!(List);
several!(Map);

// === impl List ===

impl<'v: 'p, 'p, T: Typed<'v, 'p> + Deref<Target = View<'v, 'p>>> List<T> {
    /// Returns the elements; none if it is absent.
    pub fn elements(&'p self) -> impl Iterator<Item = T> {
        (**self).all_elements().map(T::typed)
    }

    /// Returns the elements as JSON; none if it is absent.
    pub fn values(&self) -> &'v [Value] {
        self.value().and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns the element of a list that has no other.
    pub fn only_element(&'p self) -> Option<T> {
        self.elements().next().filter(|_| self.count() == 1)
    }

    /// Returns the list as one of structs alike.
    pub fn seen_as<U: Typed<'v, 'p> + From<T>>(&self) -> List<U> {
        List::typed(**self)
    }

    /// Adds an error for each element whose key occurred before.
    pub fn check_unique<K: Eq + Hash>(
        &'p self,
        key: impl Fn(&T) -> K,
        error: impl Fn(&T) -> FieldError,
        errors: &mut ErrorList,
    ) {
        check_unique(self.elements(), key, error, errors);
    }
}

/// Adds an error for each element whose key occurred before.
pub(crate) fn check_unique<T, K: Eq + Hash>(
    elements: impl Iterator<Item = T>,
    key: impl Fn(&T) -> K,
    error: impl Fn(&T) -> FieldError,
    errors: &mut ErrorList,
) {
    let mut seen = HashSet::new();
    for element in elements {
        if !seen.insert(key(&element)) {
            errors.push(error(&element));
        }
    }
}

impl<'v: 'p, 'p> List<Text<'v, 'p>> {
    /// Returns the texts of the elements; none if it is absent.
    pub fn texts(&self) -> impl Iterator<Item = &'v str> + use<'v> {
        let elements = self.value().and_then(Value::as_array).into_iter().flatten();
        elements.map(|value| value.as_str().unwrap_or_default())
    }

    /// Adds an error for each element whose text occurred before.
    pub fn check_unique_texts(&'p self, errors: &mut ErrorList) {
        self.check_unique(Text::text, |element| element.duplicate(), errors);
    }
}

// === impl Map ===

impl<'v: 'p, 'p, T: Typed<'v, 'p> + Deref<Target = View<'v, 'p>>> Map<T> {
    /// Returns the entries; none if it is absent.
    pub fn entries(&'p self) -> impl Iterator<Item = (&'v str, T)> {
        (**self).all_entries().map(|(key, view)| (key, T::typed(view)))
    }

    /// Returns the entry of a key, which paths show as a field.
    pub fn entry_as_field(&'p self, key: &'p str) -> T {
        T::typed((**self).child(key))
    }

    /// Returns the entry of a key, under the name that paths show.
    pub fn entry_named(&'p self, key: &str, shown: &'p str) -> T {
        T::typed((**self).entry_shown_as(key, shown))
    }

    /// Returns the entry of a key.
    pub fn entry(&'p self, key: &'p str) -> T {
        T::typed((**self).entry_shown_as(key, key))
    }
}

impl<'v: 'p, 'p> Map<Text<'v, 'p>> {
    /// Returns the keys and their texts; none if it is absent.
    pub fn texts(&self) -> impl Iterator<Item = (&'v str, &'v str)> + use<'v> {
        let entries = self.value().and_then(Value::as_object).into_iter().flatten();
        entries.map(|(key, value)| (key.as_str(), value.as_str().unwrap_or_default()))
    }
}
