//! Selection of the objects of a list or a watch.

use registry_meta::selector::{FieldSelector, LabelSelector};
use registry_meta::sharding::ShardSelector;

use super::entry::{Attributes, Entry};

/// A selection by labels and fields.
///
/// Kubernetes concept: `storage.SelectionPredicate`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Predicate {
    /// Requirements on the labels.
    pub labels: LabelSelector,
    /// Requirements on the selectable fields.
    pub fields: FieldSelector,
    /// The shard that objects belong to.
    pub shard: Option<ShardSelector>,
}

impl Predicate {
    /// Whether every object is selected.
    pub fn is_everything(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty() && self.shard.is_none()
    }

    /// Whether every object of the shard is selected. The objects that follow a page are counted, whatever shard they
    /// belong to, as in Kubernetes.
    pub fn has_no_selector(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether an object, which has its attributes, is selected.
    pub fn selects(&self, object: &Entry) -> bool {
        let is_in = |shard: &ShardSelector| {
            let value = object.metadata_text(shard.key().field());
            value.is_some_and(|value| shard.matches(&value))
        };
        self.matches(&object.attributes) && self.shard.as_ref().is_none_or(is_in)
    }

    /// Whether an object with these attributes is selected, whatever shard it belongs to.
    pub fn matches(&self, attributes: &Attributes) -> bool {
        self.labels.matches(|key| attributes.label(key)) && self.fields.matches(|name| attributes.field(name))
    }
}
