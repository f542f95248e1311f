//! Access to one element of a path of typed fields, through `Option` if necessary.
//!
//! The derive generates `Field(&object.spec).get()?` after every path element. A method call prefers an inherent
//! method, so an `Option` is unwrapped and every other type is used as it is, without a distinction in the source.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

pub mod class;

/// The value of a field in a path.
pub struct Field<'a, T>(pub &'a T);

/// A field that is not an `Option`.
pub trait Present<'a> {
    /// The field's type.
    type Value;

    /// Returns the field itself.
    fn get(&self) -> Option<&'a Self::Value>;
}

/// A field from which a scale can read its replica counts.
#[diagnostic::on_unimplemented(
    message = "a replica count cannot be a `{Self}`",
    label = "`scale(replicas = …, current = …)` names whole numbers",
    note = "use `i32`, as Kubernetes does, or `Option<i32>`"
)]
pub trait ReplicaCount {}

/// A field from which a scale can read its selector.
#[diagnostic::on_unimplemented(
    message = "a label selector cannot be a `{Self}`",
    label = "`scale(selector = …)` names a label selector",
    note = "use `LabelSelector` or a `String` that holds one, or an `Option` of them"
)]
pub trait SelectorValue {}

/// A field of a Go type that selectors can use.
#[diagnostic::on_unimplemented(
    message = "selectors cannot compare a `{Self}`",
    label = "`selectable(…)` names texts, whole numbers and booleans"
)]
pub trait Selectable {
    /// Go's zero value of the type, as written in selectors. JSON may omit it.
    const ZERO: &'static str;
}

// === impl Field ===

impl<'a, T> Field<'a, Option<T>> {
    /// Returns the option's value.
    pub const fn get(&self) -> Option<&'a T> {
        self.0.as_ref()
    }
}

impl<'a, T> Present<'a> for Field<'a, T> {
    type Value = T;

    fn get(&self) -> Option<&'a T> {
        Some(self.0)
    }
}

impl Selectable for String {
    const ZERO: &'static str = "";
}

impl Selectable for bool {
    const ZERO: &'static str = "false";
}

impl Selectable for i32 {
    const ZERO: &'static str = "0";
}

impl Selectable for i64 {
    const ZERO: &'static str = "0";
}

impl ReplicaCount for i32 {}
impl ReplicaCount for i64 {}
impl ReplicaCount for u32 {}

impl SelectorValue for String {}
impl SelectorValue for LabelSelector {}
/// `ReplicationController` selects by equality only.
impl SelectorValue for std::collections::BTreeMap<String, String> {}

/// Compiles only if the field can be a replica count.
pub const fn is_replica_count<T: ReplicaCount>(_: Option<&T>) {}

/// Compiles only if the field can be a label selector.
pub const fn is_selector<T: SelectorValue>(_: Option<&T>) {}

/// Returns the value for selectors if an object does not have the field.
pub const fn zero<Object, T: Selectable>(_: fn(&Object) -> Option<&T>) -> &'static str {
    T::ZERO
}

#[cfg(test)]
mod tests {
    use super::{Field, Present as _};

    struct Outer {
        plain: Inner,
        optional: Option<Inner>,
    }

    struct Inner {
        text: Option<String>,
    }

    #[test]
    fn options_are_looked_into_and_all_else_is_taken_as_it_is() {
        let inner = || Inner { text: Some("here".to_owned()) };
        let mut outer = Outer { plain: inner(), optional: Some(inner()) };
        let through_plain = |outer: &Outer| Field(&Field(&outer.plain).get()?.text).get().cloned();
        let through_option = |outer: &Outer| Field(&Field(&outer.optional).get()?.text).get().cloned();
        assert_eq!(through_plain(&outer).as_deref(), Some("here"));
        assert_eq!(through_option(&outer).as_deref(), Some("here"));
        outer.optional = None;
        assert_eq!(through_option(&outer), None);
    }
}
