//! Selection of the objects of a list or a watch.

use registry_meta::selector::{FieldSelector, LabelSelector};

use super::entry::Attributes;

/// A selection by labels and fields.
///
/// Kubernetes concept: `storage.SelectionPredicate`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Predicate {
    /// Requirements on the labels.
    pub labels: LabelSelector,
    /// Requirements on the selectable fields.
    pub fields: FieldSelector,
}

impl Predicate {
    /// Whether every object is selected.
    pub fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether an object with these attributes is selected.
    pub fn matches(&self, attributes: &Attributes) -> bool {
        self.labels.matches(|key| attributes.label(key)) && self.fields.matches(|name| attributes.field(name))
    }
}
