//! Field sets as JSON: `metadata.managedFields[*].fieldsV1`.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::element::{ElementError, PathElement};
use super::set::{FieldSet, Node};

/// Key that marks a field as a member itself, in addition to its children.
const SELF: &str = ".";

/// Prefix of the keys of fields.
pub(super) const FIELD: &str = "f:";

/// A field set in the JSON form of a `managedFields` entry, modified in place: a request changes few of an object's
/// fields, and the unchanged ones are neither parsed nor formatted.
///
/// Each element has exactly one encoding (see [`PathElement::to_key`]), so elements are compared as strings.
#[derive(Clone, Debug)]
pub(super) struct WrittenSet<'a>(Cow<'a, Map<String, Value>>);

// === impl FieldSet ===

impl<'a> FieldSet<'a> {
    /// Parses a `fieldsV1`. Ignores elements of unknown kinds.
    ///
    /// # Errors
    /// Fails if an element is malformed.
    pub fn from_fields_v1(value: &'a Value) -> Result<Self, ElementError> {
        match value {
            Value::Object(map) => Ok(read(map)?.1),
            _ => Ok(Self::default()),
        }
    }

    /// Formats the set as a `fieldsV1`.
    pub fn to_fields_v1(&self) -> Value {
        Value::Object(write(self, false))
    }
}

/// Returns whether the field itself is a member, and its children.
fn read(map: &Map<String, Value>) -> Result<(bool, FieldSet<'_>), ElementError> {
    let mut nodes = Vec::with_capacity(map.len());
    let mut is_member = false;
    for (key, below) in map {
        if key == SELF {
            is_member = true;
            continue;
        }
        let element = match PathElement::parse(key) {
            Ok(element) => element,
            Err(ElementError::Unknown) => continue,
            Err(error) => return Err(error),
        };
        let (member, children) = match below {
            Value::Object(below) => read(below)?,
            _ => (true, FieldSet::default()),
        };
        nodes.push(Node { element, member, children });
    }
    is_member |= nodes.is_empty();
    Ok((is_member, FieldSet::from_nodes(nodes)))
}

fn write(set: &FieldSet<'_>, is_member: bool) -> Map<String, Value> {
    let mut map = Map::new();
    if is_member && !set.is_empty() {
        map.insert(SELF.to_owned(), Value::Object(Map::new()));
    }
    for node in set.nodes() {
        map.insert(node.element.to_key(), Value::Object(write(&node.children, node.member)));
    }
    map
}

// === impl WrittenSet ===

impl<'a> WrittenSet<'a> {
    /// Parses a set sent by a client.
    ///
    /// # Errors
    /// Fails if an element is malformed.
    pub(super) fn claimed(fields_v1: &Value) -> Result<Self, ElementError> {
        FieldSet::from_fields_v1(fields_v1).map(|set| Self::from_set(&set))
    }

    /// Wraps a stored set, which this type wrote before.
    pub(super) fn stored(fields_v1: Cow<'a, Value>) -> Self {
        match fields_v1 {
            Cow::Borrowed(Value::Object(map)) => Self(Cow::Borrowed(map)),
            Cow::Owned(Value::Object(map)) => Self(Cow::Owned(map)),
            _ => Self::default(),
        }
    }

    /// Converts a field set.
    pub(super) fn from_set(set: &FieldSet<'_>) -> Self {
        Self(Cow::Owned(write(set, false)))
    }

    /// Returns the `fieldsV1`.
    pub(super) fn into_value(self) -> Value {
        Value::Object(self.0.into_owned())
    }

    /// Parses all elements. A stored set has no malformed elements.
    pub(super) fn to_set(&self) -> FieldSet<'_> {
        read(&self.0).map(|(_, set)| set).unwrap_or_default()
    }

    pub(super) fn map(&self) -> &Map<String, Value> {
        &self.0
    }

    pub(super) fn map_mut(&mut self) -> &mut Map<String, Value> {
        self.0.to_mut()
    }

    /// Whether the set is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.0.keys().all(|key| key == SELF)
    }

    /// Whether the field at this path is a member.
    pub(super) fn has(&self, path: &[PathElement<'_>]) -> bool {
        let Some((last, above)) = path.split_last() else { return false };
        let mut map = &*self.0;
        for element in above {
            let Some(below) = map.get(&element.to_key()).and_then(Value::as_object) else { return false };
            map = below;
        }
        map.get(&last.to_key()).and_then(Value::as_object).is_some_and(is_member)
    }

    /// Whether all members of the other set are members of this one.
    pub(super) fn covers(&self, other: &WrittenSet<'_>) -> bool {
        covers(&self.0, &other.0)
    }

    /// Returns the intersection of both sets.
    pub(super) fn intersection<'s>(&self, other: &FieldSet<'s>) -> FieldSet<'s> {
        intersection(&self.0, other)
    }

    /// Adds the members of the other set.
    pub(super) fn add(&mut self, other: &FieldSet<'_>) {
        if self.0.is_empty() {
            *self = Self::from_set(other);
        } else if !other.is_empty() {
            add(self.0.to_mut(), other);
        }
    }

    /// Removes the members of the other set. Removing a field does not remove its children.
    pub(super) fn subtract(&mut self, other: &FieldSet<'_>) {
        if !other.is_empty() {
            subtract(self.0.to_mut(), other);
        }
    }
}

impl Default for WrittenSet<'_> {
    fn default() -> Self {
        Self(Cow::Owned(Map::new()))
    }
}

/// Whether the field with these children is a member itself.
fn is_member(below: &Map<String, Value>) -> bool {
    below.is_empty() || below.contains_key(SELF)
}

fn covers(all: &Map<String, Value>, some: &Map<String, Value>) -> bool {
    some.iter().filter(|(key, _)| *key != SELF).all(|(key, below)| {
        match (all.get(key).and_then(Value::as_object), below.as_object()) {
            (Some(all), Some(some)) => (is_member(all) || !is_member(some)) && covers(all, some),
            _ => false,
        }
    })
}

fn intersection<'s>(map: &Map<String, Value>, set: &FieldSet<'s>) -> FieldSet<'s> {
    let mut both = FieldSet::default();
    for (key, node) in shared_nodes(map, set) {
        if let Some(below) = map.get(&key).and_then(Value::as_object) {
            let member = node.member && is_member(below);
            both.push(node.element.clone(), member, intersection(below, &node.children));
        }
    }
    both
}

/// Returns the nodes of the set whose keys the map may have, in order, with their keys. An object can have thousands of
/// managers, and a change thousands of fields; the cost for each manager is bounded by the smaller of its own fields
/// and the change.
fn shared_nodes<'n, 's>(map: &Map<String, Value>, set: &'n FieldSet<'s>) -> Vec<(String, &'n Node<'s>)> {
    if set.nodes().len() <= map.len() {
        return set.nodes().iter().map(|node| (node.element.to_key(), node)).collect();
    }
    let mut shared: Vec<(String, &Node<'s>)> = Vec::with_capacity(map.len());
    for key in map.keys().filter(|key| *key != SELF) {
        if let Some(node) = PathElement::parse(key).ok().and_then(|element| set.find(&element)) {
            shared.push((key.clone(), node));
        }
    }
    shared.sort_by(|(_, a), (_, b)| a.element.cmp(&b.element));
    // Two spellings of one element.
    shared.dedup_by(|(_, a), (_, b)| std::ptr::eq(*a, *b));
    shared
}

fn add(map: &mut Map<String, Value>, set: &FieldSet<'_>) {
    for node in set.nodes() {
        match map.get_mut(&node.element.to_key()) {
            Some(Value::Object(below)) => {
                let is_member = node.member || is_member(below);
                add(below, &node.children);
                mark(below, is_member);
            }
            _ => {
                map.insert(node.element.to_key(), Value::Object(write(&node.children, node.member)));
            }
        }
    }
}

fn subtract(map: &mut Map<String, Value>, set: &FieldSet<'_>) {
    for (key, node) in shared_nodes(map, set) {
        let Some(Value::Object(below)) = map.get_mut(&key) else { continue };
        let is_left = is_member(below) && !node.member;
        subtract(below, &node.children);
        mark(below, is_left);
        if below.is_empty() && !is_left {
            map.remove(&key);
        }
    }
}

/// Sets whether the field with these children is a member itself.
fn mark(below: &mut Map<String, Value>, is_member: bool) {
    below.remove(SELF);
    if is_member && !below.is_empty() {
        below.insert(SELF.to_owned(), Value::Object(Map::new()));
    }
}
