//! Strategic merge patch: a merge patch that merges lists by key.
//!
//! In addition to a merge patch, objects in the patch may contain directives: `$patch` (`replace`, `delete`),
//! `$retainKeys`, `$setElementOrder/<list>`, `$deleteFromPrimitiveList/<list>`.
//!
//! Kubernetes concept: `k8s.io/apimachinery/pkg/util/strategicpatch`.

use serde_json::{Map, Value};

use crate::{PatchStrategy, Schema, TypeRef};

use super::{Malformed, PatchError};
use crate::codec::json::type_name;

mod go;
mod lists;

/// Applies a strategic merge patch to an object of the schema's kind. A failed patch changes nothing.
///
/// # Errors
/// [`PatchError::Malformed`] if the patch is not an object, a directive is not a list or `$retainKeys` contradicts the
/// patch, [`PatchError::Inapplicable`] if the elements of a list are lists, [`PatchError::Contradictory`] if list
/// elements lack the merge key or contradict the requested order.
pub fn apply(value: &mut Value, patch: &Value, schema: &Schema) -> Result<(), PatchError> {
    apply_typed(value, patch, Some(schema.root()))
}

fn apply_typed<'s, T: Typed<'s>>(
    value: &mut Value,
    patch: &Value,
    shape: Option<T>,
) -> Result<(), PatchError> {
    let patch = match patch {
        Value::Object(patch) => patch.clone(),
        Value::Null => return Ok(()),
        other => return Err(Malformed::Object(type_name(other)).into()),
    };
    let mut merged = value.as_object().cloned().unwrap_or_default();
    merge_map(&mut merged, patch, shape)?;
    *value = Value::Object(merged);
    Ok(())
}

// === what is asked of a schema ===

/// The type of the value being patched. Where it is `None`, the type is unknown.
trait Typed<'s>: Copy {
    /// Returns a struct field, or a map's value type.
    fn member(self, name: &str) -> Option<Member<'s, Self>>;

    /// Returns the type of a list's elements.
    fn element(self) -> Option<Self>;
}

/// A struct field or a map's value.
struct Member<'s, T> {
    shape: Option<T>,
    strategy: PatchStrategy,
    merge_key: Option<&'s str>,
}

impl<'s> Typed<'s> for TypeRef<'s> {
    fn member(self, name: &str) -> Option<Member<'s, Self>> {
        if let Some(field) = self.field(name) {
            let strategy = field.patch_strategy();
            let merge_key = field.merge_key();
            return Some(Member { shape: Some(field.ty()), strategy, merge_key });
        }
        self.value().map(|value| Member { shape: Some(value), ..Member::unknown() })
    }

    fn element(self) -> Option<Self> {
        TypeRef::element(&self)
    }
}

impl<T> Member<'_, T> {
    fn unknown() -> Self {
        Self { shape: None, strategy: PatchStrategy::default(), merge_key: None }
    }
}

fn member<'s, T: Typed<'s>>(shape: Option<T>, name: &str) -> Member<'s, T> {
    shape.and_then(|shape| shape.member(name)).unwrap_or_else(Member::unknown)
}

// === maps ===

const PATCH: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const SET_ELEMENT_ORDER: &str = "$setElementOrder";
const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";

/// Merges a patch into an object. The recursion is bounded by the patch's depth.
fn merge_map<'s, T: Typed<'s>>(
    present: &mut Map<String, Value>,
    mut patch: Map<String, Value>,
    shape: Option<T>,
) -> Result<(), PatchError> {
    match patch.get(PATCH).map(Value::as_str) {
        None => {}
        Some(Some("replace")) => {
            patch.remove(PATCH);
            *present = patch;
            return Ok(());
        }
        Some(Some("delete")) => {
            present.clear();
            return Ok(());
        }
        Some(_) => return Err(go::unknown_directive(&patch).into()),
    }
    retain_keys(present, &mut patch)?;
    lists::set_element_orders(present, &mut patch, shape)?;
    for (key, change) in patch {
        if key.starts_with(DELETE_FROM_PRIMITIVE_LIST) {
            let name = directive_target(&key, DELETE_FROM_PRIMITIVE_LIST)?;
            lists::delete_from_list(present, name, change, shape)?;
        } else {
            merge_field(present, key, change, shape)?;
        }
    }
    Ok(())
}

fn merge_field<'s, T: Typed<'s>>(
    present: &mut Map<String, Value>,
    key: String,
    change: Value,
    shape: Option<T>,
) -> Result<(), PatchError> {
    match (present.get_mut(&key), change) {
        (_, Value::Null) => {
            present.remove(&key);
        }
        (Some(Value::Object(fields)), Value::Object(change)) => {
            let member = member(shape, &key);
            if member.strategy.replace {
                *fields = change;
            } else {
                merge_map(fields, change, member.shape)?;
            }
        }
        (Some(Value::Array(list)), Value::Array(change)) => {
            *list = lists::merge(std::mem::take(list), change, &member(shape, &key))?;
        }
        (_, change) => match without_directives(change) {
            Some(change) => {
                present.insert(key, change);
            }
            None => {
                present.remove(&key);
            }
        },
    }
    Ok(())
}

/// Removes the fields that the directive does not list.
fn retain_keys(present: &mut Map<String, Value>, patch: &mut Map<String, Value>) -> Result<(), PatchError> {
    let Some(listed) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let Value::Array(listed) = listed else {
        return Err(Malformed::RetainKeys.into());
    };
    let listed: std::collections::HashSet<&str> = listed.iter().filter_map(Value::as_str).collect();
    let sets_unlisted = patch.iter().any(|(key, change)| {
        !(change.is_null()
            || key.starts_with(DELETE_FROM_PRIMITIVE_LIST)
            || key.starts_with(SET_ELEMENT_ORDER)
            || listed.contains(key.as_str()))
    });
    if sets_unlisted {
        return Err(Malformed::RetainKeys.into());
    }
    present.retain(|key, _| listed.contains(key.as_str()));
    Ok(())
}

/// Returns the field that a directive such as `$setElementOrder/containers` refers to.
fn directive_target<'k>(key: &'k str, directive: &str) -> Result<&'k str, Malformed> {
    let malformed =
        if directive == SET_ELEMENT_ORDER { Malformed::ElementOrder } else { Malformed::DeletedScalars };
    key.strip_prefix(directive).and_then(|rest| rest.strip_prefix('/')).ok_or(malformed)
}

/// Prepares a field of the patch that has no current value: removes nulls and parts marked with `$patch`, because there
/// is nothing to delete. Other directives stay, as unknown fields.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(map) if map.contains_key(PATCH) => None,
        Value::Object(map) => {
            let kept = map.into_iter().filter(|(_, value)| !value.is_null());
            Some(Value::Object(
                kept.filter_map(|(key, value)| Some((key, without_directives(value)?))).collect(),
            ))
        }
        Value::Array(list) => Some(list.into_iter().filter_map(without_directives).collect()),
        other => Some(other),
    }
}

#[cfg(test)]
mod tests;
