//! Merging an applied configuration into an object, and removing fields from it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map, Value};

use crate::schema::TypeRef;

use super::element::PathElement;
use super::set::FieldSet;
use super::shape::{ValueShape, list_element};

/// Merges an applied value into the live value: the applied value wins, and nothing is removed.
pub(super) fn merge(shape: ValueShape<'_>, live: Value, applied: &Value) -> Value {
    match (shape, live, applied) {
        (
            ValueShape::Struct(_) | ValueShape::Map(_) | ValueShape::Open,
            Value::Object(mut live),
            Value::Object(applied),
        ) => {
            merge_maps(shape, &mut live, applied);
            Value::Object(live)
        }
        (ValueShape::List(list), Value::Array(live), Value::Array(applied)) => {
            Value::Array(merge_lists(list, shape.element(), live, applied))
        }
        // An applied null does not remove the live value; it is removed when it is no longer applied.
        (ValueShape::Struct(_) | ValueShape::Map(_) | ValueShape::Open, Value::Object(live), Value::Null)
            if !live.is_empty() =>
        {
            Value::Object(live)
        }
        (ValueShape::List(_), Value::Array(live), Value::Null) if !live.is_empty() => Value::Array(live),
        (_, _, applied) => applied.clone(),
    }
}

/// Merges the applied fields into the live object.
pub(super) fn merge_maps(shape: ValueShape<'_>, live: &mut Map<String, Value>, applied: &Map<String, Value>) {
    for (key, applied) in applied {
        match live.get_mut(key) {
            Some(slot) => *slot = merge(shape.member(key), std::mem::take(slot), applied),
            None => {
                live.insert(key.clone(), applied.clone());
            }
        }
    }
}

/// Merges two lists: elements of the applied list in its order, elements of the live list only at their previous
/// position.
fn merge_lists(list: TypeRef<'_>, shape: ValueShape<'_>, live: Vec<Value>, applied: &[Value]) -> Vec<Value> {
    let order = Interleaving::steps(list, &live, applied);
    let mut live: Vec<Option<Value>> = live.into_iter().map(Some).collect();
    let steps = order.into_iter().filter_map(|step| {
        let mut take = |place: usize| live.get_mut(place).and_then(Option::take);
        match step {
            MergeStep::Kept(place) => take(place),
            MergeStep::Applied(place, under) => {
                let applied = applied.get(place)?;
                Some(match under.and_then(take) {
                    Some(live) => merge(shape, live, applied),
                    None => applied.clone(),
                })
            }
        }
    });
    steps.collect()
}

/// The origin of an element of a merged list, as indexes in the two lists.
enum MergeStep {
    /// The element is only in the live list.
    Kept(usize),
    /// The element is in the applied list, and possibly in the live list too.
    Applied(usize, Option<usize>),
}

/// Determines the order of a merged list.
struct Interleaving<'a> {
    live: Vec<PathElement<'a>>,
    applied: Vec<PathElement<'a>>,
    /// Index of each live element; `None` for duplicated elements, which are not merged.
    live_places: BTreeMap<PathElement<'a>, Option<usize>>,
    applied_elements: BTreeSet<PathElement<'a>>,
    /// The elements that both lists have and that are still to come, in the applied order.
    shared: VecDeque<PathElement<'a>>,
    steps: Vec<MergeStep>,
}

// === impl Interleaving ===

impl<'a> Interleaving<'a> {
    fn steps(list: TypeRef<'a>, live: &'a [Value], applied: &'a [Value]) -> Vec<MergeStep> {
        // Elements without an identity were rejected before, so indexes and elements correspond.
        let elements = |items: &'a [Value]| {
            items.iter().filter_map(|item| list_element(list, item).ok()).collect::<Vec<_>>()
        };
        let live = elements(live);
        let applied = elements(applied);
        let mut live_places = BTreeMap::new();
        for (place, element) in live.iter().enumerate() {
            live_places.entry(element.clone()).and_modify(|known| *known = None).or_insert(Some(place));
        }
        let shared = applied.iter().filter(|element| live_places.contains_key(element)).cloned().collect();
        let applied_elements = applied.iter().cloned().collect();
        Self { live, applied, live_places, applied_elements, shared, steps: Vec::new() }.run()
    }

    fn run(mut self) -> Vec<MergeStep> {
        let mut next_live = 0;
        let mut next_applied = 0;
        let mut merged: BTreeSet<PathElement<'a>> = BTreeSet::new();
        loop {
            let live = self.live.get(next_live).cloned();
            let applied = self.applied.get(next_applied).cloned();
            let is_shared = live.as_ref().is_some_and(|live| self.applied_elements.contains(live));
            match (live, applied) {
                (None, None) => return self.steps,
                (Some(live), Some(applied)) if live == applied => {
                    self.take_applied(next_applied, &applied);
                    merged.insert(applied);
                    self.shared.pop_front();
                    next_live += 1;
                    next_applied += 1;
                    continue;
                }
                // Emitted together with the applied element of the same identity.
                (Some(live), Some(_))
                    if is_shared && self.shared.front().is_some_and(|next| *next != live) =>
                {
                    next_live += 1;
                    continue;
                }
                (Some(_), _) if !is_shared => {
                    self.steps.push(MergeStep::Kept(next_live));
                    next_live += 1;
                    continue;
                }
                (Some(live), _) if merged.contains(&live) => next_live += 1,
                _ => {}
            }
            if let Some(applied) = self.applied.get(next_applied).cloned() {
                self.take_applied(next_applied, &applied);
                next_applied += 1;
                if self.shared.front() == Some(&applied) {
                    self.shared.pop_front();
                }
                merged.insert(applied);
            }
        }
    }

    fn take_applied(&mut self, place: usize, element: &PathElement<'a>) {
        let under = self.live_places.get(element).copied().flatten();
        self.steps.push(MergeStep::Applied(place, under));
    }
}

// === removal ===

/// Removes fields from an object. A map or list whose last field or element is removed stays as an empty one: the
/// emptied `{}` is a value that a manager can have.
pub(super) fn remove_from_map(shape: ValueShape<'_>, map: &mut Map<String, Value>, fields: &FieldSet<'_>) {
    if fields.is_empty() {
        return;
    }
    map.retain(|key, value| {
        let Some(node) = fields.find(&PathElement::field(key)) else { return true };
        if !node.member {
            remove(shape.member(key), value, &node.children);
        }
        !node.member
    });
}

fn remove(shape: ValueShape<'_>, value: &mut Value, fields: &FieldSet<'_>) {
    match (shape, value) {
        (ValueShape::Struct(_) | ValueShape::Map(_) | ValueShape::Open, Value::Object(map)) => {
            remove_from_map(shape, map, fields);
        }
        (ValueShape::List(list), Value::Array(items)) => items.retain_mut(|item| {
            let Ok(element) = list_element(list, item) else { return true };
            let Some(node) = fields.find(&element) else { return true };
            let member = node.member;
            let children = &node.children;
            drop(element);
            if !member && !children.is_empty() {
                remove(shape.element(), item, children);
            }
            !member
        }),
        _ => {}
    }
}
