//! Fields without a type, whose parts are read by their names.

use std::hash::Hash;
use std::ops::Deref;

use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, FieldError};
use serde_json::Value;

use crate::scalars::{Boolean, Integer, Text};
use crate::several::{List, Map};
use crate::view::{Typed, View};

/// A field of any type, which may be absent, and its path.
#[derive(Clone, Copy)]
pub struct Field<'v, 'p>(Text<'v, 'p>);

impl<'v, 'p> Deref for Field<'v, 'p> {
    type Target = Text<'v, 'p>;

    fn deref(&self) -> &Text<'v, 'p> {
        &self.0
    }
}

impl<'v, 'p> Typed<'v, 'p> for Field<'v, 'p> {
    fn typed(view: View<'v, 'p>) -> Self {
        Self(Text::typed(view))
    }
}

impl<'v, 'p> From<View<'v, 'p>> for Field<'v, 'p> {
    fn from(view: View<'v, 'p>) -> Self {
        Self::typed(view)
    }
}

// === impl Field: going down ===

impl<'v, 'p> Field<'v, 'p> {
    /// Returns a top-level field of an object.
    pub fn top_level(object: &'v Object, name: &'p str) -> Self {
        Self::typed(View::top(object, name))
    }

    /// Returns the view of a field whose type is known here.
    pub fn view<T: Typed<'v, 'p>>(&self) -> T {
        T::typed(***self)
    }

    /// Returns a field of this one.
    pub fn get(&'p self, name: &'p str) -> Self {
        Self::typed(self.child(name))
    }

    /// Returns a field of this one, under the name that paths show.
    pub fn get_shown_as(&'p self, name: &str, shown: &'p str) -> Self {
        Self::typed(self.child_shown_as(name, shown))
    }

    /// Returns an entry of this map, under the name that paths show.
    pub fn entry_named(&'p self, key: &str, shown: &'p str) -> Self {
        Self::typed(self.entry_shown_as(key, shown))
    }

    /// Returns this field under another name in errors.
    pub fn called(self, name: &'p str) -> Self {
        Self::typed(self.renamed(name))
    }

    /// Returns this field with another value.
    pub fn holding(self, value: &'v Value) -> Self {
        Self::typed(self.with_value(value))
    }

    /// Returns the elements of this list; none if it is absent.
    pub fn elements(&'p self) -> impl Iterator<Item = Self> {
        self.all_elements().map(Self::typed)
    }

    /// Returns the entries of this map; none if it is absent.
    pub fn entries(&'p self) -> impl Iterator<Item = (&'v str, Self)>
    where
        'v: 'p,
    {
        self.all_entries().map(|(key, view)| (key, Self::typed(view)))
    }
}

// === impl Field: reading ===

impl<'v> Field<'v, '_> {
    /// Returns its integer, if present.
    pub fn integer(&self) -> Option<i64> {
        Integer::typed(***self).integer()
    }

    /// Returns its integer; 0 if absent, for fields whose 0 means unset.
    pub fn number(&self) -> i64 {
        Integer::typed(***self).number()
    }

    /// Returns its truth value, if present.
    pub fn truth(&self) -> Option<bool> {
        Boolean::typed(***self).truth()
    }

    /// Whether it is present and true.
    pub fn is_true(&self) -> bool {
        Boolean::typed(***self).is_true()
    }

    /// Returns the entries of this map of texts; none if it is absent.
    pub fn texts(&self) -> impl Iterator<Item = (&'v str, &'v str)> + use<'v> {
        Map::<Text<'_, '_>>::typed(***self).texts()
    }

    /// Whether it is absent, or has no elements or entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of elements or entries.
    pub fn len(&self) -> usize {
        self.count()
    }
}

// === impl Field: checks ===

impl<'v, 'p> Field<'v, 'p> {
    fn list(&self) -> List<Text<'v, 'p>> {
        List::typed(***self)
    }

    /// Adds an error if it has no elements or entries.
    pub fn check_not_empty(&self, errors: &mut ErrorList) {
        self.list().check_not_empty(errors);
    }

    /// Adds an error if its number is no port.
    pub fn check_port(&self, errors: &mut ErrorList) {
        Integer::typed(***self).check_port(errors);
    }

    /// Adds an error if its number is negative.
    pub fn check_not_negative(&self, errors: &mut ErrorList) {
        Integer::typed(***self).check_not_negative(errors);
    }

    /// Adds an error if its number is outside a range.
    pub fn check_between(&self, least: i64, most: i64, errors: &mut ErrorList) {
        Integer::typed(***self).check_between(least, most, errors);
    }

    /// Adds an error if its number is not positive; an absent one is 0.
    pub fn check_positive(&self, errors: &mut ErrorList) {
        Integer::typed(***self).check_positive(errors);
    }

    /// Adds an error if there are more elements or entries than allowed; returns whether there are not.
    pub fn check_count(&self, most: usize, errors: &mut ErrorList) -> bool {
        self.list().check_count(most, errors)
    }

    /// Adds an error for each element whose text occurred before.
    pub fn check_unique_texts(&self, errors: &mut ErrorList) {
        self.check_unique(|element| element.text(), |element| element.duplicate(), errors);
    }

    /// Adds an error for each element whose key occurred before.
    pub fn check_unique<'s, K: Eq + Hash>(
        &'s self,
        key: impl Fn(&Field<'v, 's>) -> K,
        error: impl Fn(&Field<'v, 's>) -> FieldError,
        errors: &mut ErrorList,
    ) {
        let list: &'s View<'v, 's> = self;
        crate::several::check_unique(list.all_elements().map(Field::typed), key, error, errors);
    }
}
