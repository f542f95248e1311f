//! Removes the fields that a schema does not have.
//!
//! Kubernetes concept: `k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning`.

use std::fmt;

use serde_json::Value;

use crate::FieldIssue;
use crate::conform::MAX_ISSUE_BYTES;

use super::node::{Additional, Flags, Node, NodeId, Tree};

/// The fields of every resource, which its schema need not list.
const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The path of the current value. Kept on the stack; it is formatted only for a field that is removed.
#[derive(Clone, Copy)]
enum Trail<'t> {
    Root,
    Key(&'t Trail<'t>, &'t str),
    Index(&'t Trail<'t>, usize),
}

struct Pruner<'t> {
    tree: &'t Tree,
    removed: Vec<String>,
    bytes_left: usize,
}

/// Prunes an object. Its own `apiVersion`, `kind` and `metadata` are kept.
pub(super) fn prune(tree: &Tree, root: NodeId, value: &mut Value, issues: &mut Vec<FieldIssue>) {
    let mut pruner = Pruner { tree, removed: Vec::new(), bytes_left: MAX_ISSUE_BYTES };
    pruner.value(Some(tree.node(root)), true, value, Trail::Root);
    pruner.removed.sort_unstable();
    issues.extend(pruner.removed.into_iter().map(FieldIssue::Unknown));
}

/// Prunes a value below the root, such as a default.
pub(super) fn prune_part(tree: &Tree, id: NodeId, value: &mut Value) {
    let mut pruner = Pruner { tree, removed: Vec::new(), bytes_left: 0 };
    pruner.below(Some(id), value, Trail::Root);
}

// === impl Pruner ===

impl<'t> Pruner<'t> {
    /// Prunes a value; without a schema all fields of objects in it. `is_resource`: it has metadata, which is kept.
    fn value(&mut self, node: Option<&'t Node>, is_resource: bool, value: &mut Value, trail: Trail<'_>) {
        if let Some(node) = node
            && node.is(Flags::KEEPS_UNKNOWN)
        {
            self.listed(node, is_resource, value, trail);
            return;
        }
        match value {
            Value::Object(map) => map.retain(|key, value| {
                if is_resource && META_FIELDS.contains(&key.as_str()) {
                    return true;
                }
                let trail = Trail::Key(&trail, key);
                let is_known = node.is_some_and(|node| self.member(node, key, value, trail));
                if !is_known {
                    self.note(trail);
                }
                is_known
            }),
            Value::Array(list) => {
                let items = node.and_then(|node| node.items);
                for (index, item) in list.iter_mut().enumerate() {
                    self.below(items, item, Trail::Index(&trail, index));
                }
            }
            _ => {}
        }
    }

    /// Prunes only in the properties that the schema lists; the value keeps unknown fields.
    fn listed(&mut self, node: &'t Node, is_resource: bool, value: &mut Value, trail: Trail<'_>) {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    if !(is_resource && META_FIELDS.contains(&key.as_str())) {
                        self.member(node, key, value, Trail::Key(&trail, key));
                    }
                }
            }
            Value::Array(list) => {
                let Some(items) = node.items.map(|id| self.tree.node(id)) else { return };
                for (index, item) in list.iter_mut().enumerate() {
                    self.listed(items, items.is(Flags::EMBEDDED), item, Trail::Index(&trail, index));
                }
            }
            _ => {}
        }
    }

    /// Prunes in a property; returns false if the schema does not have it.
    fn member(&mut self, node: &'t Node, key: &str, value: &mut Value, trail: Trail<'_>) -> bool {
        match (node.property(key), node.additional) {
            (Some(id), _) | (None, Additional::Schema(id)) => self.below(Some(id), value, trail),
            (None, Additional::Allowed | Additional::Forbidden) => self.below(None, value, trail),
            (None, Additional::Unspecified) => return false,
        }
        true
    }

    fn below(&mut self, id: Option<NodeId>, value: &mut Value, trail: Trail<'_>) {
        let node = id.map(|id| self.tree.node(id));
        self.value(node, node.is_some_and(|node| node.is(Flags::EMBEDDED)), value, trail);
    }

    /// Adds a removed field to the issues, within the length limit. The first one is always added.
    fn note(&mut self, trail: Trail<'_>) {
        if self.bytes_left > 0 {
            let path = trail.to_string();
            self.bytes_left = self.bytes_left.saturating_sub(path.len());
            self.removed.push(path);
        }
    }
}

// === impl Trail ===

/// Formats as in strict decoding errors: `spec.list[0].field`.
impl fmt::Display for Trail<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Key(Self::Root, key) => f.write_str(key),
            Self::Key(parent, key) => write!(f, "{parent}.{key}"),
            Self::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}
