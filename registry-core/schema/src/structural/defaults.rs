//! Defaulting of custom resources.
//!
//! Kubernetes concept: `k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting`.

use serde_json::{Map, Value};

use registry_meta::budget::memory::{self, MAP_BYTES, VALUE_BYTES};
use registry_meta::budget::{Budget, Exhausted};

use super::node::{Flags, Node, NodeId, Tree};

/// Removes the nulls of properties that are not nullable. Nulls with a default are left for [`apply`].
pub(super) fn prune_nulls(tree: &Tree, id: NodeId, value: &mut Value) {
    let node = tree.node(id);
    match value {
        Value::Object(map) => map.retain(|key, value| {
            let Some(id) = node.member(key) else { return true };
            if value.is_null() {
                return is_null_allowed(tree.node(id)) || tree.node(id).default.is_some();
            }
            prune_nulls(tree, id, value);
            true
        }),
        Value::Array(list) => {
            if let Some(items) = node.items {
                for item in list {
                    prune_nulls(tree, items, item);
                }
            }
        }
        _ => {}
    }
}

/// Sets the defaults of absent properties, and replaces nulls that are not allowed by them.
pub(super) fn apply(tree: &Tree, id: NodeId, value: &mut Value, budget: &Budget) -> Result<(), Exhausted> {
    let node = tree.node(id);
    if !node.is(Flags::HAS_DEFAULTS) {
        return Ok(());
    }
    match (value, node.items) {
        (Value::Object(map), _) => apply_to_object(tree, node, map, budget),
        (Value::Array(list), Some(items)) => {
            list.iter_mut().try_for_each(|item| apply_to_member(tree, items, item, budget))
        }
        _ => Ok(()),
    }
}

fn apply_to_object(
    tree: &Tree,
    node: &Node,
    map: &mut Map<String, Value>,
    budget: &Budget,
) -> Result<(), Exhausted> {
    budget.take_steps(1)?;
    for (name, id) in &node.properties {
        if let Some(default) = &tree.node(*id).default
            && !map.contains_key(&**name)
        {
            let leaf = if map.is_empty() { MAP_BYTES } else { 0 };
            // Before each one: a default may be as large as its definition.
            budget.take_bytes(leaf + VALUE_BYTES + name.len() + memory::value_bytes(default))?;
            map.insert(name.to_string(), Value::clone(default));
        }
    }
    for (key, value) in map {
        if let Some(id) = node.member(key) {
            apply_to_member(tree, id, value, budget)?;
        }
    }
    Ok(())
}

fn apply_to_member(tree: &Tree, id: NodeId, value: &mut Value, budget: &Budget) -> Result<(), Exhausted> {
    let node = tree.node(id);
    if value.is_null()
        && !is_null_allowed(node)
        && let Some(default) = &node.default
    {
        budget.take_bytes(memory::value_bytes(default))?;
        *value = Value::clone(default);
    }
    apply(tree, id, value, budget)
}

/// Whether [`apply`] would set a default in an object.
pub(super) fn are_lacking(tree: &Tree, node: &Node, map: &Map<String, Value>) -> bool {
    let is_absent = |name: &str, id| tree.node(id).default.is_some() && !map.contains_key(name);
    let is_lacking = |key: &str, value| node.member(key).is_some_and(|id| is_member_lacking(tree, id, value));
    node.properties.iter().any(|(name, id)| is_absent(name, *id))
        || map.iter().any(|(key, value)| is_lacking(key, value))
}

fn is_member_lacking(tree: &Tree, id: NodeId, value: &Value) -> bool {
    let node = tree.node(id);
    match (value, node.items) {
        (Value::Null, _) => !is_null_allowed(node) && node.default.is_some(),
        (Value::Object(map), _) => node.is(Flags::HAS_DEFAULTS) && are_lacking(tree, node, map),
        (Value::Array(list), Some(items)) => {
            node.is(Flags::HAS_DEFAULTS) && list.iter().any(|item| is_member_lacking(tree, items, item))
        }
        _ => false,
    }
}

fn is_null_allowed(node: &Node) -> bool {
    node.is(Flags::NULLABLE)
}
