//! Lists: merged by key or as sets of scalars, and sorted.
//!
//! Order of a merged list: elements of the patch are in the patch's order (or in that of `$setElementOrder`), all
//! others keep their order; the two are interleaved according to the current list, and where it does not determine the
//! order, the patch's come first.

use std::collections::{HashMap, HashSet};

use registry_meta::go_text;
use serde_json::{Map, Value};

use crate::patch::{Contradiction, Inapplicable, PatchError};

use super::{
    Member, PATCH, SET_ELEMENT_ORDER, Typed, directive_target, go, member, merge_map, without_directives,
};

/// Identity of a list element: the value of the merge key, or the whole value for scalars.
type Identity = String;

/// Elements with their identities.
type Elements = Vec<(Identity, Value)>;

/// Merges a list of the patch into the current one.
pub(super) fn merge<'s, T: Typed<'s>>(
    present: Vec<Value>,
    patch: Vec<Value>,
    member: &Member<'s, T>,
) -> Result<Vec<Value>, PatchError> {
    if member.strategy.merge { merge_elements(present, patch, member) } else { Ok(patch) }
}

fn merge_elements<'s, T: Typed<'s>>(
    present: Vec<Value>,
    patch: Vec<Value>,
    member: &Member<'s, T>,
) -> Result<Vec<Value>, PatchError> {
    if !are_maps(&present, &patch)? {
        return Ok(merge_scalars(present, patch)?);
    }
    let Some(key) = member.merge_key else {
        return Err(Contradiction::NoMergeKey.into());
    };
    merge_keyed(present, patch, key, member.shape.and_then(T::element))
}

/// `$deleteFromPrimitiveList/<name>`: removes scalars from a list, also if it is not merged.
pub(super) fn delete_from_list<'s, T: Typed<'s>>(
    object: &mut Map<String, Value>,
    name: &str,
    deletions: Value,
    shape: Option<T>,
) -> Result<(), PatchError> {
    match (object.get_mut(name), deletions) {
        (_, Value::Null) => {
            object.remove(name);
        }
        (Some(Value::Array(list)), Value::Array(deletions)) => {
            if are_maps(list, &deletions)? {
                *list = merge_elements(std::mem::take(list), deletions, &member(shape, name))?;
            } else {
                let deleted: HashSet<Identity> = deletions.iter().map(Value::to_string).collect();
                list.retain(|element| !deleted.contains(&element.to_string()));
            }
        }
        _ => {}
    }
    Ok(())
}

/// Handles all `$setElementOrder/<name>` of a patch: merges the lists that they refer to, removes both from the patch,
/// and sorts the result.
pub(super) fn set_element_orders<'s, T: Typed<'s>>(
    object: &mut Map<String, Value>,
    patch: &mut Map<String, Value>,
    shape: Option<T>,
) -> Result<(), PatchError> {
    let directives: Vec<String> =
        patch.keys().filter(|key| key.starts_with(SET_ELEMENT_ORDER)).cloned().collect();
    for directive in directives {
        let name = directive_target(&directive, SET_ELEMENT_ORDER)?;
        let order = into_list(patch.remove(&directive))?.unwrap_or_default();
        let present = into_list(object.get(name).cloned())?;
        let changes = into_list(patch.remove(name))?;
        let member = member(shape, name);
        if let Some(changes) = &changes {
            check_order(changes, &order, member.merge_key)?;
        }
        if present.is_some() || changes.is_some() {
            check_elements(present.as_deref().unwrap_or_default(), changes.as_deref().unwrap_or_default())?;
        }
        let merged = match (present.clone(), changes) {
            (None, None) => continue,
            (Some(present), None) => present,
            (None, Some(changes)) => changes.into_iter().filter_map(without_directives).collect(),
            (Some(present), Some(changes)) => merge(present, changes, &member)?,
        };
        let merged = identified(merged, member.merge_key)?;
        let order = positions(&order, member.merge_key);
        let present = positions(&present.unwrap_or_default(), member.merge_key);
        object.insert(name.to_owned(), in_order(merged, &order, &present));
    }
    Ok(())
}

fn into_list(value: Option<Value>) -> Result<Option<Vec<Value>>, Contradiction> {
    match value {
        None => Ok(None),
        Some(Value::Array(list)) => Ok(Some(list)),
        Some(other) => Err(go::no_list(&other)),
    }
}

/// Checks that the patch's elements are in the same order as in `$setElementOrder`, which must contain all of them.
fn check_order(patch: &[Value], order: &[Value], merge_key: Option<&str>) -> Result<(), Contradiction> {
    if patch.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut wanted = order.iter();
    for element in patch.iter().filter(|element| element.get(PATCH).is_none()) {
        let own = identity(element, merge_key)?;
        let found = loop {
            match wanted.next() {
                Some(next) if identity(next, merge_key)? == own => break true,
                Some(_) => {}
                None => break false,
            }
        };
        if !found {
            let (patch, order) = (go_text::print_list(patch), go_text::print_list(order));
            return Err(Contradiction::Order { patch, order });
        }
    }
    Ok(())
}

// === merging ===

/// Merges both lists as a set.
fn merge_scalars(present: Vec<Value>, patch: Vec<Value>) -> Result<Vec<Value>, Contradiction> {
    let present_order = positions(&present, None);
    let patch_order = positions(&patch, None);
    let mut merged = identified(present.into_iter().chain(patch).collect(), None)?;
    let mut seen = HashSet::new();
    merged.retain(|(identity, _)| seen.insert(identity.clone()));
    Ok(into_values(in_order_elements(merged, &patch_order, &present_order)))
}

fn merge_keyed<'s, T: Typed<'s>>(
    present: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
    element: Option<T>,
) -> Result<Vec<Value>, PatchError> {
    let special = Special::take(patch, key)?;
    if special.replace {
        return Ok(into_values(identified(special.others, Some(key))?));
    }
    let mut merged = identified(present, Some(key))?;
    merged.retain(|(identity, _)| !special.deleted.contains(identity));
    let present_order = order_of(&merged);
    let patch_order = positions(&special.others, Some(key));
    let mut places = present_order.clone();
    for change in special.others {
        let identity = identity(&change, Some(key))?;
        if let Some((_, Value::Object(fields))) = places.get(&identity).and_then(|at| merged.get_mut(*at)) {
            let Value::Object(change) = change else { continue };
            merge_map(fields, change, element)?;
        } else {
            // Directives within a new element stay, as in Kubernetes.
            places.insert(identity.clone(), merged.len());
            merged.push((identity, change));
        }
    }
    Ok(into_values(in_order_elements(merged, &patch_order, &present_order)))
}

/// A patch's elements, with those that have a `$patch` directive separated.
#[derive(Default)]
struct Special {
    replace: bool,
    deleted: HashSet<Identity>,
    others: Vec<Value>,
}

impl Special {
    fn take(patch: Vec<Value>, key: &str) -> Result<Self, Contradiction> {
        let mut special = Self::default();
        for element in patch {
            match element.get(PATCH).map(Value::as_str) {
                None => special.others.push(element),
                Some(Some("delete")) => {
                    special.deleted.insert(identity(&element, Some(key))?);
                }
                Some(Some("replace")) => special.replace = true,
                Some(Some("merge")) => return Err(Contradiction::MergeDirective),
                Some(_) => return Err(go::unknown_directive(element.as_object().unwrap_or(&Map::new()))),
            }
        }
        Ok(special)
    }
}

// === order ===

/// Position of each element in a list.
type Positions = HashMap<Identity, usize>;

/// Returns the positions; elements without an identity have none.
fn positions(list: &[Value], merge_key: Option<&str>) -> Positions {
    let mut positions = Positions::new();
    for (at, element) in list.iter().enumerate() {
        if let Ok(identity) = identity(element, merge_key) {
            positions.entry(identity).or_insert(at);
        }
    }
    positions
}

fn order_of(elements: &Elements) -> Positions {
    let mut positions = Positions::new();
    for (at, (identity, _)) in elements.iter().enumerate() {
        positions.entry(identity.clone()).or_insert(at);
    }
    positions
}

fn in_order(elements: Elements, patch: &Positions, present: &Positions) -> Value {
    into_values(in_order_elements(elements, patch, present)).into()
}

fn in_order_elements(elements: Elements, patch: &Positions, present: &Positions) -> Elements {
    let (mut named, mut others): (Elements, Elements) =
        elements.into_iter().partition(|(identity, _)| patch.contains_key(identity));
    named.sort_by_key(|(identity, _)| patch.get(identity).copied());
    others.sort_by_key(|(identity, _)| present.get(identity).copied().unwrap_or(usize::MAX));
    let mut ordered = Elements::with_capacity(named.len() + others.len());
    let mut others = others.into_iter().peekable();
    for element in named {
        // Elements that precede it in the current list stay before it.
        while let (Some(place), Some(other)) = (present.get(&element.0), others.peek()) {
            if present.get(&other.0).is_none_or(|before| before >= place) {
                break;
            }
            ordered.extend(others.next());
        }
        ordered.push(element);
    }
    ordered.extend(others);
    ordered
}

// === elements ===

/// Whether the lists contain maps; all elements must have the same type and must not be lists.
fn are_maps(present: &[Value], patch: &[Value]) -> Result<bool, PatchError> {
    let mut elements = present.iter().chain(patch);
    let Some(first) = elements.next() else { return Ok(false) };
    if first.is_array() {
        return Err(Inapplicable::NestedLists.into());
    }
    let alike = |other: &Value| std::mem::discriminant(first) == std::mem::discriminant(other);
    if first.is_null() || !elements.all(alike) {
        let (present, patch) = (go_text::print_list(present), go_text::print_list(patch));
        return Err(Contradiction::ElementTypes { present, patch }.into());
    }
    Ok(first.is_object())
}

/// Checks that lists can be sorted: they have elements, all of the same type.
fn check_elements(present: &[Value], patch: &[Value]) -> Result<(), PatchError> {
    if present.is_empty() && patch.is_empty() {
        return Err(Contradiction::NoElements.into());
    }
    are_maps(present, patch).map(drop)
}

fn identity(element: &Value, merge_key: Option<&str>) -> Result<Identity, Contradiction> {
    let Some(key) = merge_key else { return Ok(element.to_string()) };
    let Value::Object(fields) = element else { return Err(go::no_map(element)) };
    fields.get(key).map(Value::to_string).ok_or_else(|| go::no_merge_key(element, key))
}

fn identified(list: Vec<Value>, merge_key: Option<&str>) -> Result<Elements, Contradiction> {
    list.into_iter().map(|element| Ok((identity(&element, merge_key)?, element))).collect()
}

fn into_values(elements: Elements) -> Vec<Value> {
    elements.into_iter().map(|(_, element)| element).collect()
}
