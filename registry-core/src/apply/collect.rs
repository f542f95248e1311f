//! Which fields a value sets.

use serde_json::{Map, Value};

use crate::schema::TypeRef;

use super::element::PathElement;
use super::set::{FieldSet, Node};
use super::shape::{Shape, list_element};

// === impl FieldSet ===

impl<'a> FieldSet<'a> {
    /// The fields a value of this type sets: every leaf, every list element, and every key of a map.
    /// List elements that nothing tells apart are left out.
    pub fn of(value: &'a Value, ty: TypeRef<'a>) -> Self {
        collect(Shape::of(ty), value).1
    }

    /// The fields an object of this type sets.
    pub(super) fn of_fields(fields: &'a Map<String, Value>, shape: Shape<'a>) -> Self {
        collect_map(shape, fields)
    }
}

/// Whether the value itself is a member, and what it sets below.
fn collect<'a>(shape: Shape<'a>, value: &'a Value) -> (bool, FieldSet<'a>) {
    match (shape, value) {
        (Shape::Leaf, _) => (true, FieldSet::default()),
        (Shape::Struct(_) | Shape::Map(_) | Shape::Open, Value::Object(map)) => {
            (false, collect_map(shape, map))
        }
        (Shape::List(list), Value::Array(items)) => (false, collect_list(list, shape.element(), items)),
        (Shape::Open, Value::Null) | (Shape::Struct(_) | Shape::Map(_) | Shape::List(_), _) => {
            (false, FieldSet::default())
        }
        (Shape::Open, _) => (true, FieldSet::default()),
    }
}

fn collect_map<'a>(shape: Shape<'a>, map: &'a Map<String, Value>) -> FieldSet<'a> {
    let nodes = map.iter().filter_map(|(key, value)| {
        let (member, children) = collect(shape.member(key), value);
        // A field that is there and has nothing below it is set all the same; so is every key of a map.
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

fn collect_list<'a>(list: TypeRef<'a>, shape: Shape<'a>, items: &'a [Value]) -> FieldSet<'a> {
    let nodes = items.iter().filter_map(|item| {
        let children = collect(shape, item).1;
        Some(Node { element: list_element(list, item).ok()?, member: true, children })
    });
    let mut nodes: Vec<Node<'a>> = nodes.collect();
    nodes.sort_by(|a, b| a.element.cmp(&b.element));
    // Of elements that are there twice only the element is a member: its parts belong to no one of them.
    nodes.dedup_by(|later, first| {
        let is_same = later.element == first.element;
        if is_same {
            first.children = FieldSet::default();
        }
        is_same
    });
    FieldSet::from_nodes(nodes)
}
