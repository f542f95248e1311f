//! The form of numbers.

use serde_json::Value;

use crate::scalars::shorten_whole;

use super::kind::Kind;
use super::node::{NodeId, Tree};

/// Writes whole numbers without a fraction, as they are stored. Numbers of a wrong type remain, because the errors about
/// them tell integers from other numbers.
pub(super) fn shorten(tree: &Tree, id: Option<NodeId>, value: &mut Value) {
    let node = id.map(|id| tree.node(id));
    match value {
        Value::Number(number) => {
            let kind = node.map_or(Kind::Any, |node| node.kind);
            if matches!(kind, Kind::Any | Kind::Integer | Kind::Number | Kind::IntOrString) {
                shorten_whole(number);
            }
        }
        Value::Array(list) => {
            let items = node.and_then(|node| node.items);
            for item in list {
                shorten(tree, items, item);
            }
        }
        Value::Object(map) => {
            for (key, value) in map {
                shorten(tree, node.and_then(|node| node.member(key)), value);
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}
