//! The JSON type of a field as far as its Rust type determines it: what selectors can compare and columns can show.
//!
//! The derive generates `is_string_column(value, (&Classified(value)).class())`. Types of the standard library and of
//! Kubernetes' metadata have a class through [`Classify`]; a method call uses [`Unclassified`] for every other type,
//! whose JSON type is checked against the schema when the server starts.

use std::collections::{BTreeMap, HashMap};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, Time};
use serde_json::{Map, Value};

/// A field's value, to determine its class.
pub struct Classified<'a, T>(pub Option<&'a T>);

/// A string.
pub struct Text;
/// An integer.
pub struct WholeNumber;
/// A number with a fraction.
pub struct Fraction;
/// `true` or `false`.
pub struct Boolean;
/// A time.
pub struct Moment;
/// A list or a map.
pub struct Collection;
/// A type without a known class: an enum, a struct, a type of another crate.
pub struct Unknown;

/// A type of a known class.
pub trait Classify {
    /// The class.
    type Class;

    /// Returns the class of the type.
    fn class(&self) -> Self::Class;
}

/// Every other type.
pub trait Unclassified {
    /// Returns the unknown class.
    fn class(&self) -> Unknown {
        Unknown
    }
}

// Takes one reference more than `Classify`, so that a method call uses it only if there is no class.
impl<T> Unclassified for &Classified<'_, T> {}

/// Defines the classes of types.
macro_rules! classes {
    ($($class:ident: $([$($generic:ident),*] $ty:ty),+;)+) => {
        $($(
            impl<$($generic),*> Classify for Classified<'_, $ty> {
                type Class = $class;

                fn class(&self) -> $class {
                    $class
                }
            }
        )+)+
    };
}

classes! {
    Text: [] String;
    WholeNumber: [] i8, [] i16, [] i32, [] i64, [] u8, [] u16, [] u32, [] u64, [] usize, [] isize;
    Fraction: [] f32, [] f64;
    Boolean: [] bool;
    Moment: [] Time, [] MicroTime;
    Collection: [T] Vec<T>, [K, V] BTreeMap<K, V>, [K, V] HashMap<K, V>, [] Map<String, Value>;
}

/// The class of a field that `selectable(…)` accepts.
#[diagnostic::on_unimplemented(
    message = "`selectable(…)` cannot name a `{T}`",
    label = "selectors compare texts, whole numbers and booleans",
    note = "name a field below it, or add a field that holds what objects are selected by"
)]
pub trait SelectableClass<T> {}

/// The class of a field that a column of this type accepts.
#[diagnostic::on_unimplemented(
    message = "a column of type `string` cannot show a `{T}`",
    label = "the column has no `type = …`, or another one than the field",
    note = "give the type of the field: `column(\"Heading\", path, type = integer)`, or `number`, `boolean`, `date`; a list or a map is shown by a function, see `columns = …`"
)]
pub trait StringColumn<T> {}

/// The class of a field that a column of this type accepts.
#[diagnostic::on_unimplemented(
    message = "a column of type `integer` cannot show a `{T}`",
    label = "the column has another type than the field",
    note = "give the type of the field: `type = string`, `number`, `boolean` or `date`"
)]
pub trait IntegerColumn<T> {}

/// The class of a field that a column of this type accepts.
#[diagnostic::on_unimplemented(
    message = "a column of type `number` cannot show a `{T}`",
    label = "the column has another type than the field",
    note = "give the type of the field: `type = string`, `integer`, `boolean` or `date`"
)]
pub trait NumberColumn<T> {}

/// The class of a field that a column of this type accepts.
#[diagnostic::on_unimplemented(
    message = "a column of type `boolean` cannot show a `{T}`",
    label = "the column has another type than the field",
    note = "give the type of the field: `type = string`, `integer`, `number` or `date`"
)]
pub trait BooleanColumn<T> {}

/// The class of a field that a column of this type accepts.
#[diagnostic::on_unimplemented(
    message = "a column of type `date` cannot show a `{T}`",
    label = "the column has another type than the field",
    note = "a date is a `Time`, or a `String` that holds one in RFC 3339; for others give `type = string`, `integer`, `number` or `boolean`"
)]
pub trait DateColumn<T> {}

impl<T> SelectableClass<T> for Text {}
impl<T> SelectableClass<T> for WholeNumber {}
impl<T> SelectableClass<T> for Boolean {}
impl<T> SelectableClass<T> for Moment {}
impl<T> SelectableClass<T> for Unknown {}

impl<T> StringColumn<T> for Text {}
impl<T> StringColumn<T> for Moment {}
impl<T> StringColumn<T> for Unknown {}

impl<T> IntegerColumn<T> for WholeNumber {}
impl<T> IntegerColumn<T> for Unknown {}

impl<T> NumberColumn<T> for WholeNumber {}
impl<T> NumberColumn<T> for Fraction {}
impl<T> NumberColumn<T> for Unknown {}

impl<T> BooleanColumn<T> for Boolean {}
impl<T> BooleanColumn<T> for Unknown {}

impl<T> DateColumn<T> for Text {}
impl<T> DateColumn<T> for Moment {}
impl<T> DateColumn<T> for Unknown {}

/// Compiles only if selectors can compare the field.
pub fn is_selectable<T, C: SelectableClass<T>>(_: Option<&T>, _: C) {}

/// Compiles only if the column can show the field.
pub fn is_string_column<T, C: StringColumn<T>>(_: Option<&T>, _: C) {}

/// Compiles only if the column can show the field.
pub fn is_integer_column<T, C: IntegerColumn<T>>(_: Option<&T>, _: C) {}

/// Compiles only if the column can show the field.
pub fn is_number_column<T, C: NumberColumn<T>>(_: Option<&T>, _: C) {}

/// Compiles only if the column can show the field.
pub fn is_boolean_column<T, C: BooleanColumn<T>>(_: Option<&T>, _: C) {}

/// Compiles only if the column can show the field.
pub fn is_date_column<T, C: DateColumn<T>>(_: Option<&T>, _: C) {}
