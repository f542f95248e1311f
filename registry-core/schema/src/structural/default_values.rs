//! The defaults of a schema, without what the schema does not have.
//!
//! A default in the metadata of an embedded resource is a part of an `ObjectMeta`, whatever the schema says.
//!
//! Kubernetes concept: `PruneDefaults` in `k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting`.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::{Map, Value};

use super::node::{Flags, NodeId, Tree};
use super::{metadata, prune};

/// The key that stands for any key of a map.
const ANY_KEY: &str = "*";

/// A step from a value to a part of it.
#[derive(Clone)]
enum Step {
    Key(Arc<str>),
    Element,
}

/// Removes from the defaults what the schema does not have.
pub(super) fn normalise(tree: &mut Tree) {
    let in_metadata = defaults_in_metadata(tree);
    for place in 0..tree.len() {
        let id = NodeId(u32::try_from(place).unwrap_or(u32::MAX));
        let Some(default) = tree.node(id).default.clone() else { continue };
        let normalised = match in_metadata.get(&id) {
            Some(path) => part_of_metadata(&default, path).map(Arc::new),
            None if default.is_array() || default.is_object() => Some(Arc::new(pruned(tree, id, &default))),
            None => continue,
        };
        if let Some(node) = tree.nodes.get_mut(place) {
            node.default = normalised;
        }
    }
}

/// Returns a default without the fields that its schema and its embedded resources do not have.
fn pruned(tree: &Tree, id: NodeId, default: &Value) -> Value {
    let mut value = default.clone();
    // Dropping invalid fields cannot fail, and nobody reads the issues of a schema here.
    let mut issues = Vec::new();
    let _ = metadata::coerce_embedded(tree, id, &mut value, true, &mut issues);
    if !tree.preserves_unknown_fields {
        prune::prune_part(tree, id, &mut value);
    }
    value
}

/// Returns the nodes with defaults in the metadata of embedded resources, and their paths in it.
fn defaults_in_metadata(tree: &Tree) -> HashMap<NodeId, Vec<Step>> {
    let mut found = HashMap::new();
    let mut seen = HashSet::new();
    let embedded = tree.nodes.iter().filter(|node| node.is(Flags::EMBEDDED));
    let mut pending: Vec<(NodeId, Vec<Step>)> =
        embedded.filter_map(|node| Some((node.property(metadata::METADATA)?, Vec::new()))).collect();
    while let Some((id, path)) = pending.pop() {
        if !seen.insert(id) {
            continue;
        }
        let node = tree.node(id);
        let below = |step: Step| path.iter().cloned().chain([step]).collect();
        let named = node.properties.iter().map(|(name, id)| (*id, below(Step::Key(name.clone()))));
        let others = node.additional_schema().map(|id| (id, below(Step::Key(ANY_KEY.into()))));
        let items = node.items.map(|id| (id, below(Step::Element)));
        pending.extend(named.chain(others).chain(items));
        if node.default.is_some() {
            found.insert(id, path);
        }
    }
    found
}

/// Returns a default in its form as the part of an `ObjectMeta` at a path; `None` if that does not have it.
fn part_of_metadata(default: &Value, path: &[Step]) -> Option<Value> {
    let around = |value, step: &Step| match step {
        Step::Key(name) => Value::Object(Map::from_iter([(name.to_string(), value)])),
        Step::Element => Value::Array(vec![value]),
    };
    let mut whole = path.iter().rev().fold(default.clone(), around);
    metadata::drop_malformed(&mut whole).ok()?;
    let inside = |value: Value, step: &Step| match (step, value) {
        (Step::Key(name), Value::Object(mut map)) => map.remove(&**name),
        (Step::Element, Value::Array(list)) => list.into_iter().next(),
        _ => None,
    };
    path.iter().try_fold(whole, inside)
}
