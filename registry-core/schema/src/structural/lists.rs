//! Distinct elements of sets and keyed lists.
//!
//! Kubernetes concept: `k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype`.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use serde_json::{Map, Value};

use crate::types::ListKind;
use registry_meta::go_text::escape_html;
use registry_meta::{ErrorList, FieldError, FieldPath};

use super::limited::Limited;
use super::node::{Flags, Node, NodeId, Tree};

/// Whether a value violates the rules of its lists.
pub(super) fn has_duplicates(tree: &Tree, root: NodeId, value: &Value) -> bool {
    let mut errors = ErrorList::default();
    Walk { tree, errors: Limited::new(&mut errors) }.value(root, value, &FieldPath::root());
    !errors.is_empty()
}

/// Validates the lists of a value.
pub(super) fn validate(tree: &Tree, root: NodeId, path: &FieldPath, value: &Value, errors: &mut ErrorList) {
    Walk { tree, errors: Limited::new(errors) }.value(root, value, path);
}

struct Walk<'a> {
    tree: &'a Tree,
    errors: Limited<'a>,
}

// === impl Walk ===

impl Walk<'_> {
    fn value(&mut self, id: NodeId, value: &Value, path: &FieldPath) {
        let node = self.tree.node(id);
        if !node.is(Flags::HAS_KEYED_LISTS) || self.errors.is_full() {
            return;
        }
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    if let Some(id) = node.property(key) {
                        self.value(id, value, &path.child(key));
                    } else if let Some(id) = node.additional_schema() {
                        self.value(id, value, &path.key(key));
                    }
                }
            }
            Value::Array(list) => {
                self.list(node, list, path);
                if let Some(items) = node.items
                    && self.tree.node(items).is(Flags::HAS_KEYED_LISTS)
                {
                    for (index, item) in list.iter().enumerate() {
                        self.value(items, item, &path.index(index));
                    }
                }
            }
            _ => {}
        }
    }

    fn list(&mut self, node: &Node, list: &[Value], path: &FieldPath) {
        match node.list_kind {
            Some(ListKind::Set) => {
                for index in repeated(list.iter().map(canonical)) {
                    if self.errors.is_full() {
                        return;
                    }
                    self.duplicate(path.index(index), list.get(index).cloned().unwrap_or_default());
                }
            }
            Some(ListKind::Map) => self.keyed_list(node, list, path),
            Some(ListKind::Atomic) | None => {}
        }
    }

    fn keyed_list(&mut self, node: &Node, list: &[Value], path: &FieldPath) {
        let odd = list.iter().enumerate().find(|(_, item)| !item.is_object() && !item.is_null());
        if let Some((index, item)) = odd {
            let detail = "must be an object for an array of list-type map";
            self.add(FieldError::invalid(path.index(index), item.clone(), detail));
            return;
        }
        let key_of = |item: &Value| {
            let fields = node.list_keys().iter();
            let set = fields.filter_map(|name| Some((name.to_string(), item.get(&**name)?.clone())));
            Value::Object(set.collect::<Map<_, _>>())
        };
        for index in repeated(list.iter().map(|item| canonical(&key_of(item)))) {
            if self.errors.is_full() {
                return;
            }
            self.duplicate(path.index(index), list.get(index).map(key_of).unwrap_or_default());
        }
    }

    fn duplicate(&mut self, path: FieldPath, value: Value) {
        self.add(FieldError::duplicate(path, value));
    }

    fn add(&mut self, error: FieldError) {
        let is_tree = error.value.as_ref().is_some_and(|value| value.is_object() || value.is_array());
        let shown = error.value.as_ref().filter(|_| is_tree).map(ToString::to_string);
        self.errors.push(match shown {
            Some(text) => error.shown_as(escape_html(text)),
            None => error,
        });
    }
}

/// Returns the places of the second of equal elements, in order.
fn repeated(elements: impl ExactSizeIterator<Item = String>) -> Vec<usize> {
    if elements.len() <= 1 {
        return Vec::new();
    }
    let mut times: HashMap<String, usize> = HashMap::with_capacity(elements.len());
    let mut found = Vec::new();
    for (index, element) in elements.enumerate() {
        match times.entry(element) {
            Entry::Vacant(entry) => {
                entry.insert(1);
            }
            Entry::Occupied(mut entry) => {
                if *entry.get() == 1 {
                    found.push(index);
                }
                *entry.get_mut() += 1;
            }
        }
    }
    found
}

/// Returns a text that only equal values have. Integers differ from numbers with a fraction, even if that is zero.
fn canonical(value: &Value) -> String {
    match value {
        Value::Number(number) if number.as_f64() == Some(0.0) && number.is_f64() => "0.0".to_owned(),
        other => other.to_string(),
    }
}
