//! The nodes of an object.

use std::collections::HashMap;
use std::sync::Arc;

/// The nodes that an object belongs to, each with the number of other objects by which it does.
///
/// Most objects belong to one node; a ConfigMap that is in every pod belongs to all.
#[derive(Debug, Default)]
pub(super) enum NodeCounts {
    #[default]
    None,
    One(Arc<str>, usize),
    #[expect(
        clippy::box_collection,
        reason = "most objects have one node, and should not have the size of a map"
    )]
    Several(Box<HashMap<Arc<str>, usize>>),
}

// === impl NodeCounts ===

impl NodeCounts {
    /// Returns whether the object belongs to a node.
    pub(super) fn contains(&self, node: &str) -> bool {
        match self {
            Self::None => false,
            Self::One(only, _) => **only == *node,
            Self::Several(counts) => counts.contains_key(node),
        }
    }

    /// Returns whether the object belongs to no node.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::None => true,
            Self::One(..) => false,
            Self::Several(counts) => counts.is_empty(),
        }
    }

    /// Counts one more object by which this one belongs to a node.
    pub(super) fn add(&mut self, node: &Arc<str>) {
        match self {
            Self::None => *self = Self::One(node.clone(), 1),
            Self::One(only, count) if *only == *node => *count += 1,
            Self::One(only, count) => {
                let counts = HashMap::from([(only.clone(), *count), (node.clone(), 1)]);
                *self = Self::Several(Box::new(counts));
            }
            Self::Several(counts) => *counts.entry(node.clone()).or_default() += 1,
        }
    }

    /// Counts one object less.
    pub(super) fn remove(&mut self, node: &str) {
        match self {
            Self::None => {}
            Self::One(only, count) if **only == *node => {
                *count -= 1;
                if *count == 0 {
                    *self = Self::None;
                }
            }
            Self::One(..) => {}
            Self::Several(counts) => {
                let Some(count) = counts.get_mut(node) else { return };
                *count -= 1;
                if *count == 0 {
                    counts.remove(node);
                }
            }
        }
    }
}
