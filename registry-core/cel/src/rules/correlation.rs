//! The correlation of the new values of an update with the old values, and whether they differ.

use std::cell::OnceCell;
use std::collections::HashMap;

use serde_json::Value;

use super::tree::{Children, Node};

/// A value of an update and the old value that belongs to it.
#[derive(Debug)]
pub(super) struct Correlated<'a> {
    node: &'a Node,
    new: &'a Value,
    old: &'a Value,
    is_equal: OnceCell<bool>,
}

/// The correlations that decide whether an error of a value is tolerated because the update did not cause it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ratchet<'s, 'a> {
    /// The correlation of the value; `None` if no old value belongs to it.
    current: Option<&'s Correlated<'a>>,
    /// The correlation of the nearest enclosing value that has an old value.
    parent: Option<&'s Correlated<'a>>,
}

/// The items of a list of type map, by their keys.
#[derive(Debug)]
pub(super) struct MapList<'a> {
    names: &'a [String],
    items: HashMap<ItemKey<'a>, &'a Value>,
}

/// The key of an item: most lists have one key field.
#[derive(Debug, PartialEq, Eq, Hash)]
enum ItemKey<'a> {
    One(KeyPart<'a>),
    Many(Vec<KeyPart<'a>>),
}

#[derive(Debug, PartialEq, Eq, Hash)]
enum KeyPart<'a> {
    Bool(bool),
    Int(i64),
    Float(u64),
    /// A number as one of several keys, with six digits after the point.
    Decimal(String),
    String(&'a str),
}

// === impl Correlated ===

impl<'a> Correlated<'a> {
    pub(super) fn new(node: &'a Node, new: &'a Value, old: &'a Value) -> Self {
        Self { node, new, old, is_equal: OnceCell::new() }
    }

    /// Whether the value is unchanged. Computed once for a value, however many rules below it fail.
    fn is_equal(&self) -> bool {
        *self.is_equal.get_or_init(|| is_equal(self.node, self.new, self.old))
    }
}

/// Whether two values are the same; the order of lists of type map does not matter. Values of which the schema says nothing
/// are never the same.
fn is_equal(node: &Node, new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Array(new), Value::Array(old)) => {
            let Children::Items(items, names) = &node.children else {
                return new == old;
            };
            if new.len() != old.len() || names.is_empty() {
                return new == old;
            }
            let olds = MapList::new(names, old);
            new.iter().all(|item| olds.get(item).is_some_and(|old| is_equal(items, item, old)))
        }
        (Value::Object(new), Value::Object(old)) => {
            let same = |(name, value): (&String, &Value)| match (node.field(name), old.get(name)) {
                (Some(node), Some(old)) => is_equal(node, value, old),
                _ => false,
            };
            new.len() == old.len() && new.iter().all(same)
        }
        _ => new == old,
    }
}

// === impl Ratchet ===

impl<'s, 'a> Ratchet<'s, 'a> {
    pub(super) fn new(root: Option<&'s Correlated<'a>>) -> Self {
        Self { current: root, parent: None }
    }

    /// Whether errors of the value are warnings, because the update did not change it.
    pub(super) fn is_unchanged(self) -> bool {
        self.current.or(self.parent).is_some_and(Correlated::is_equal)
    }

    /// The pair of a field, or of the value of a key. `apiVersion` and `kind` of the object itself are not compared, because
    /// both objects were converted to the same version.
    pub(super) fn correlate_field(
        self,
        name: &str,
        node: &'a Node,
        new: &'a Value,
    ) -> Option<Correlated<'a>> {
        let current = self.current?;
        let old = current.old.as_object()?.get(name)?;
        Some(Correlated::new(node, new, old))
    }

    /// The pair of an item, with the old item that has the same keys.
    pub(super) fn correlate_item(
        self,
        node: &'a Node,
        new: &'a Value,
        old: Option<&'a Value>,
    ) -> Option<Correlated<'a>> {
        self.current?;
        old.map(|old| Correlated::new(node, new, old))
    }

    /// Returns the ratchet of a field.
    pub(super) fn field(self, name: &str, pair: Option<&'s Correlated<'a>>) -> Self {
        if self.current.is_some() && self.parent.is_none() && matches!(name, "apiVersion" | "kind") {
            return Self { current: None, parent: None };
        }
        self.item(pair)
    }

    /// Returns the ratchet of an item.
    pub(super) fn item(self, pair: Option<&'s Correlated<'a>>) -> Self {
        if self.current.is_none() {
            return self;
        }
        Self { current: pair, parent: self.current }
    }
}

// === impl MapList ===

impl<'a> MapList<'a> {
    /// Indexes items; of several with the same keys the first one counts.
    pub(super) fn new(names: &'a [String], items: &'a [Value]) -> Self {
        let mut indexed = HashMap::with_capacity(items.len());
        for item in items {
            if let Some(key) = ItemKey::from_item(names, item) {
                indexed.entry(key).or_insert(item);
            }
        }
        Self { names, items: indexed }
    }

    /// The item with the same keys as another one.
    pub(super) fn get(&self, item: &Value) -> Option<&'a Value> {
        let key = ItemKey::from_item(self.names, item)?;
        self.items.get(&key).copied()
    }
}

// === impl ItemKey ===

impl<'v> ItemKey<'v> {
    /// The key of an item; `None` if a key field is missing or no scalar.
    fn from_item(names: &[String], item: &'v Value) -> Option<Self> {
        let item = item.as_object()?;
        match names {
            [] => None,
            [name] => KeyPart::from_value(item.get(name)?, false).map(Self::One),
            many => {
                let parts = many.iter().map(|name| KeyPart::from_value(item.get(name)?, true));
                parts.collect::<Option<_>>().map(Self::Many)
            }
        }
    }
}

impl<'v> KeyPart<'v> {
    fn from_value(value: &'v Value, is_one_of_many: bool) -> Option<Self> {
        match value {
            Value::Bool(value) => Some(Self::Bool(*value)),
            Value::String(text) => Some(Self::String(text)),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(number), _) => Some(Self::Int(number)),
                (None, Some(number)) if is_one_of_many => Some(Self::Decimal(format!("{number:.6}"))),
                // Both zeros are the same key.
                (None, Some(number)) => Some(Self::Float((number + 0.0).to_bits())),
                (None, None) => None,
            },
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        }
    }
}
