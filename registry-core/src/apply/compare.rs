//! Differences between two values of one type.

use serde_json::{Map, Value};

use crate::schema::TypeRef;

use super::element::{PathElement, compare_values};
use super::set::FieldSet;
use super::shape::{ValueShape, list_element};

/// The differences between an old and a new value.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes<'a> {
    /// Fields that only the new value has, or whose values differ.
    pub(super) changed: FieldSet<'a>,
    /// Fields that only the old value has.
    pub(super) removed: FieldSet<'a>,
}

/// The differences at and below one field.
#[derive(Default)]
struct Difference<'a> {
    is_changed: bool,
    is_removed: bool,
    below: Changes<'a>,
}

// === impl Changes ===

impl<'a> Changes<'a> {
    /// Compares two objects, ignoring the given fields and everything below them.
    pub(super) fn between(
        shape: ValueShape<'a>,
        old: &'a Map<String, Value>,
        new: &'a Map<String, Value>,
        except: &FieldSet<'_>,
    ) -> Self {
        let mut changes = Self::default();
        compare_maps(shape, Some(old), Some(new), except, &mut changes);
        changes
    }

    fn push(&mut self, element: PathElement<'a>, difference: Difference<'a>) {
        let Difference { is_changed, is_removed, below } = difference;
        if is_removed || !below.removed.is_empty() {
            self.removed.push(element.clone(), is_removed, below.removed);
        }
        self.changed.push(element, is_changed, below.changed);
    }
}

// === the walk ===

fn compare<'a>(
    shape: ValueShape<'a>,
    old: Option<&'a Value>,
    new: Option<&'a Value>,
    except: &FieldSet<'_>,
) -> Difference<'a> {
    let mut difference = Difference::default();
    let is_leaf = match shape {
        ValueShape::Leaf => true,
        ValueShape::Struct(_) | ValueShape::Map(_) => {
            let old = map_of(old);
            let new = map_of(new);
            let is_bare = old.is_none() && new.is_none();
            if !is_bare {
                compare_maps(shape, old, new, except, &mut difference.below);
            }
            is_bare
        }
        ValueShape::List(list) => {
            let old = items_of(old);
            let new = items_of(new);
            // Comparing lists by element is expensive, and most lists are equal.
            if old != new {
                compare_lists(list, shape.element(), old, new, &mut difference.below);
            }
            old.is_empty() && new.is_empty()
        }
        ValueShape::Open => {
            let is_map =
                |value: Option<&Value>| value.is_none_or(|value| value.is_null() || value.is_object());
            let old_map = map_of(old);
            let new_map = map_of(new);
            let is_bare = old_map.is_none() && new_map.is_none();
            if !is_bare {
                compare_maps(shape, old_map, new_map, except, &mut difference.below);
            }
            is_bare || !is_map(old) || !is_map(new)
        }
    };
    match (old, new) {
        (None, _) => difference.is_changed = true,
        (_, None) => difference.is_removed = true,
        (Some(old), Some(new)) => difference.is_changed = is_leaf && compare_values(old, new).is_ne(),
    }
    difference
}

fn compare_maps<'a>(
    shape: ValueShape<'a>,
    old: Option<&'a Map<String, Value>>,
    new: Option<&'a Map<String, Value>>,
    except: &FieldSet<'_>,
    changes: &mut Changes<'a>,
) {
    if let (None, Some(new)) = (old, new) {
        changes.changed.reserve(new.len());
    }
    let nothing = FieldSet::default();
    let mut place = 0;
    let mut olds = old.into_iter().flatten().peekable();
    let mut news = new.into_iter().flatten().peekable();
    // Both maps are sorted by key.
    loop {
        let (key, old, new) = match (olds.peek().copied(), news.peek().copied()) {
            (None, None) => return,
            (Some((key, old)), None) => (key, Some(old), None),
            (None, Some((key, new))) => (key, None, Some(new)),
            (Some((old_key, old)), Some((new_key, new))) => match old_key.cmp(new_key) {
                std::cmp::Ordering::Less => (old_key, Some(old), None),
                std::cmp::Ordering::Greater => (new_key, None, Some(new)),
                std::cmp::Ordering::Equal => (new_key, Some(old), Some(new)),
            },
        };
        if old.is_some() {
            olds.next();
        }
        if new.is_some() {
            news.next();
        }
        let except = except.find(&PathElement::field(key));
        if except.is_some_and(|node| node.member) || is_same_scalar(old, new) {
            continue;
        }
        let except = except.map_or(&nothing, |node| &node.children);
        let difference = compare(shape.next_member(key, &mut place), old, new, except);
        changes.push(PathElement::field(key), difference);
    }
}

/// Whether both values are the same scalar, independent of the schema.
fn is_same_scalar(old: Option<&Value>, new: Option<&Value>) -> bool {
    match (old, new) {
        (Some(Value::Object(_) | Value::Array(_)), _) => false,
        (Some(old), Some(new)) => old == new,
        _ => false,
    }
}

type Item<'a> = (PathElement<'a>, &'a Value);

/// The elements of a list that share an identity; usually one.
#[derive(Default)]
struct Same<'a> {
    first: Option<&'a Value>,
    more: Vec<&'a Value>,
}

fn compare_lists<'a>(
    list: TypeRef<'a>,
    shape: ValueShape<'a>,
    old: &'a [Value],
    new: &'a [Value],
    changes: &mut Changes<'a>,
) {
    let mut olds = sorted_items(list, old).into_iter().peekable();
    let mut news = sorted_items(list, new).into_iter().peekable();
    if old.is_empty() {
        changes.changed.reserve(new.len());
    }
    loop {
        let is_old_next = match (olds.peek(), news.peek()) {
            (Some((old, _)), Some((new, _))) => old <= new,
            (old, _) => old.is_some(),
        };
        let mut old = Same::default();
        let mut new = Same::default();
        let (items, same) = if is_old_next { (&mut olds, &mut old) } else { (&mut news, &mut new) };
        let Some((element, item)) = items.next() else { return };
        same.push(item);
        while let Some((_, item)) = olds.next_if(|(other, _)| *other == element) {
            old.push(item);
        }
        while let Some((_, item)) = news.next_if(|(other, _)| *other == element) {
            new.push(item);
        }
        changes.push(element, compare_same(shape, &old, &new));
    }
}

/// Compares the elements of two lists that share an identity.
fn compare_same<'a>(shape: ValueShape<'a>, old: &Same<'a>, new: &Same<'a>) -> Difference<'a> {
    let nothing = FieldSet::default();
    match (old.more.is_empty(), new.more.is_empty()) {
        (true, true) => compare(shape, old.first, new.first, &nothing),
        (true, false) => {
            let alone = old.first.map(|old| compare(shape, Some(old), None, &nothing));
            Difference { is_changed: true, ..alone.unwrap_or_default() }
        }
        (false, true) => {
            let alone = new.first.map(|new| compare(shape, None, Some(new), &nothing));
            Difference { is_removed: true, ..alone.unwrap_or_default() }
        }
        (false, false) => {
            let is_same = old.first == new.first && old.more == new.more;
            Difference { is_changed: !is_same, ..Difference::default() }
        }
    }
}

impl<'a> Same<'a> {
    fn push(&mut self, item: &'a Value) {
        match self.first {
            None => self.first = Some(item),
            Some(_) => self.more.push(item),
        }
    }
}

fn sorted_items<'a>(list: TypeRef<'a>, items: &'a [Value]) -> Vec<Item<'a>> {
    let mut items: Vec<Item<'a>> =
        items.iter().filter_map(|item| Some((list_element(list, item).ok()?, item))).collect();
    items.sort_by(|(a, _), (b, _)| a.cmp(b));
    items
}

/// Returns the fields of a non-empty map.
fn map_of(value: Option<&Value>) -> Option<&Map<String, Value>> {
    value.and_then(Value::as_object).filter(|map| !map.is_empty())
}

fn items_of(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
