//! Finds the value before an update that corresponds to a value after it.
//!
//! Properties correspond by name, elements of keyed lists by their keys; elements of other lists do not. Equality is
//! computed once for each value, because an error asks for it at every level around it.
//!
//! Kubernetes concept: `CorrelatedObject` of `k8s.io/apiserver/pkg/cel/common`.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use serde_json::Value;

use crate::types::ListKind;

use super::kind::Kind;
use super::node::{Node, NodeId, Tree};

/// A value before the update and the schema of both.
#[derive(Clone, Copy)]
pub(super) struct Before<'a> {
    pub(super) value: &'a Value,
    pub(super) node: NodeId,
}

/// Caches of comparisons between the values before and after an update.
pub(super) struct Correlation<'a> {
    tree: &'a Tree,
    /// Whether a value after the update equals the value before it, by the address of the former.
    equal: RefCell<HashMap<usize, bool>>,
    /// The elements of keyed lists before the update, by the addresses of the lists.
    indexes: RefCell<HashMap<usize, Rc<Index<'a>>>>,
}

/// The elements of a keyed list by their keys.
type Index<'a> = HashMap<String, &'a Value>;

// === impl Correlation ===

impl<'a> Correlation<'a> {
    pub(super) fn new(tree: &'a Tree) -> Self {
        Self { tree, equal: RefCell::default(), indexes: RefCell::default() }
    }

    /// Returns what a property was before the update.
    pub(super) fn member(&self, before: Before<'a>, name: &str) -> Option<Before<'a>> {
        let value = before.value.as_object()?.get(name)?;
        Some(Before { value, node: self.tree.node(before.node).member(name)? })
    }

    /// Returns what an element was before the update.
    pub(super) fn element(&self, before: Before<'a>, item: &Value) -> Option<Before<'a>> {
        let node = self.tree.node(before.node);
        let items = node.items?;
        if node.kind != Kind::Array || node.list_kind != Some(ListKind::Map) || node.list_keys().is_empty() {
            return None;
        }
        let key = key(node, item)?;
        let index = self.index(node, before.value)?;
        Some(Before { value: index.get(&key)?, node: items })
    }

    fn index(&self, node: &Node, list: &'a Value) -> Option<Rc<Index<'a>>> {
        let elements = list.as_array()?;
        let mut indexes = self.indexes.borrow_mut();
        let index = indexes.entry(address(list)).or_insert_with(|| {
            let mut index = Index::with_capacity(elements.len());
            for element in elements {
                if let Some(key) = key(node, element) {
                    index.entry(key).or_insert(element);
                }
            }
            Rc::new(index)
        });
        Some(Rc::clone(index))
    }

    /// Whether the update does not change a value. The order of a keyed list does not matter; a value with parts that
    /// the schema does not have counts as changed.
    pub(super) fn is_unchanged(&self, before: Before<'a>, after: &'a Value) -> bool {
        if let Some(known) = self.equal.borrow().get(&address(after)) {
            return *known;
        }
        let is_unchanged = self.compare(before, after);
        self.equal.borrow_mut().insert(address(after), is_unchanged);
        is_unchanged
    }

    fn compare(&self, before: Before<'a>, after: &'a Value) -> bool {
        match (before.value, after) {
            (Value::Array(old), Value::Array(new)) => {
                if old.len() != new.len() {
                    return false;
                }
                if self.tree.node(before.node).list_kind != Some(ListKind::Map) {
                    return old == new;
                }
                new.iter().all(|item| {
                    let before = self.element(before, item);
                    before.is_some_and(|before| self.is_unchanged(before, item))
                })
            }
            (Value::Object(old), Value::Object(new)) => {
                old.len() == new.len()
                    && new.iter().all(|(name, value)| {
                        let before = self.member(before, name);
                        before.is_some_and(|before| self.is_unchanged(before, value))
                    })
            }
            (old, new) => old == new,
        }
    }
}

/// Returns the identity of a value, which does not move while it is validated.
fn address(value: &Value) -> usize {
    std::ptr::from_ref(value).addr()
}

/// Returns the key of an element as text; `None` if a part of it is absent or not a scalar.
fn key(node: &Node, element: &Value) -> Option<String> {
    let fields = element.as_object()?;
    let mut key = String::new();
    for name in node.list_keys() {
        match fields.get(&**name)? {
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
            scalar => key.push_str(&scalar.to_string()),
        }
        // Not a part of any JSON text.
        key.push('\0');
    }
    Some(key)
}
