//! Collects the fields that a value sets.

use serde_json::{Map, Value};

use crate::schema::TypeRef;

use super::element::PathElement;
use super::set::{FieldSet, Node};
use super::shape::{ValueShape, list_element};

// === impl FieldSet ===

impl<'a> FieldSet<'a> {
    /// Returns the fields that a value of this type sets: every leaf, every list element, and every key of a map. Omits
    /// list elements without an identity.
    pub fn from_value(value: &'a Value, ty: TypeRef<'a>) -> Self {
        collect(ValueShape::from_type(ty), value).1
    }

    /// Returns the fields that an object of this type sets.
    pub(super) fn from_fields(fields: &'a Map<String, Value>, shape: ValueShape<'a>) -> Self {
        collect_map(shape, fields)
    }
}

/// Returns whether the value itself is a member, and the fields set below it.
fn collect<'a>(shape: ValueShape<'a>, value: &'a Value) -> (bool, FieldSet<'a>) {
    match (shape, value) {
        (ValueShape::Leaf, _) => (true, FieldSet::default()),
        (ValueShape::Struct(_) | ValueShape::Map(_) | ValueShape::Open, Value::Object(map)) => {
            (false, collect_map(shape, map))
        }
        (ValueShape::List(list), Value::Array(items)) => (false, collect_list(list, shape.element(), items)),
        (ValueShape::Open, Value::Null)
        | (ValueShape::Struct(_) | ValueShape::Map(_) | ValueShape::List(_), _) => {
            (false, FieldSet::default())
        }
        (ValueShape::Open, _) => (true, FieldSet::default()),
    }
}

fn collect_map<'a>(shape: ValueShape<'a>, map: &'a Map<String, Value>) -> FieldSet<'a> {
    let nodes = map.iter().filter_map(|(key, value)| {
        let (member, children) = collect(shape.member(key), value);
        // A field that is present but empty still counts as set; so does every key of a map.
        let is_bare = match value {
            Value::Null => true,
            Value::Object(map) => map.is_empty(),
            _ => false,
        };
        let member = member || is_bare || !shape.names(key);
        (member || !children.is_empty()).then(|| Node { element: PathElement::field(key), member, children })
    });
    FieldSet::from_nodes(nodes.collect())
}

fn collect_list<'a>(list: TypeRef<'a>, shape: ValueShape<'a>, items: &'a [Value]) -> FieldSet<'a> {
    let nodes = items.iter().filter_map(|item| {
        let children = collect(shape, item).1;
        Some(Node { element: list_element(list, item).ok()?, member: true, children })
    });
    let mut nodes: Vec<Node<'a>> = nodes.collect();
    nodes.sort_by(|a, b| a.element.cmp(&b.element));
    // If an element is duplicated, only the element itself is a member: its fields cannot be attributed to one of the
    // duplicates.
    nodes.dedup_by(|later, first| {
        let is_same = later.element == first.element;
        if is_same {
            first.children = FieldSet::default();
        }
        is_same
    });
    FieldSet::from_nodes(nodes)
}
