//! Equality and order of values.

use std::cmp::Ordering;
use std::sync::Arc;

use serde_json::Value as Json;

use super::{Evaluated, EvaluationError, List, Map, Value, fail, json, no_such_overload};
use crate::budget::{BYTES_PER_VISIT, CostBudget};
use crate::field_names::escape;
use crate::types::{DeclType, ListKind, ObjectType, Shape};

/// Whether two values are equal. Values of different types are not, but numbers are by their value.
pub(crate) fn equal<'a>(
    first: &Value<'a>,
    second: &Value<'a>,
    budget: &CostBudget<'_>,
) -> Result<bool, Box<EvaluationError>> {
    budget.visit(1)?;
    Ok(match (first, second) {
        (Value::Null, Value::Null) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::String(a), Value::String(b)) => {
            budget.visit_text(a.as_str().len().min(b.as_str().len()))?;
            a == b
        }
        (Value::Bytes(a), Value::Bytes(b)) => a == b,
        (Value::Duration(a), Value::Duration(b)) => a == b,
        (Value::Timestamp(a), Value::Timestamp(b)) => a == b,
        (Value::Type(a), Value::Type(b)) => a.name() == b.name(),
        (Value::Foreign(_), Value::Null) => false,
        (Value::Foreign(a), Value::Foreign(b)) if a.is_comparable_to(b) => a == b,
        // Kubernetes' own types compare with themselves only.
        (Value::Foreign(_), _) => return no_such_overload(),
        (Value::Optional(a), Value::Optional(b)) => match (a, b) {
            (Some(a), Some(b)) => equal(a, b, budget)?,
            (a, b) => a.is_none() && b.is_none(),
        },
        (Value::List(a), Value::List(b)) => equal_lists(a, b, budget)?,
        (Value::Map(a), Value::Map(b)) => equal_maps(a, b, budget)?,
        (a, b) => compare_numbers(a, b) == Some(Ordering::Equal),
    })
}

fn equal_lists<'a>(
    first: &List<'a>,
    second: &List<'a>,
    budget: &CostBudget<'_>,
) -> Result<bool, Box<EvaluationError>> {
    if first.len() != second.len() {
        return Ok(false);
    }
    match first.kind() {
        ListKind::Atomic => {
            for (a, b) in first.iter().zip(second.iter()) {
                if !equal(&a?, &b?, budget)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        ListKind::Set => {
            let others = Members::collect(second, &ListKind::Set, budget)?;
            all(first, |element| others.contains(element, budget))
        }
        kind @ ListKind::Map(_) => {
            let others = Members::collect(second, kind, budget)?;
            all(first, |element| match others.same(element, budget)? {
                Some(other) => equal(element, other, budget),
                None => Ok(false),
            })
        }
    }
}

fn all<'a>(
    list: &List<'a>,
    mut holds: impl FnMut(&Value<'a>) -> Result<bool, Box<EvaluationError>>,
) -> Result<bool, Box<EvaluationError>> {
    for element in list.iter() {
        if !holds(&element?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The elements of a set or of a list with keys, to be found by what makes them the same.
struct Members<'a, 'k> {
    kind: &'k ListKind,
    by_identity: std::collections::BTreeMap<String, Vec<Value<'a>>>,
}

impl<'a, 'k> Members<'a, 'k> {
    fn collect(
        list: &List<'a>,
        kind: &'k ListKind,
        budget: &CostBudget<'_>,
    ) -> Result<Self, Box<EvaluationError>> {
        let mut members = Self { kind, by_identity: std::collections::BTreeMap::new() };
        for element in list.iter() {
            members.add(element?, budget)?;
        }
        Ok(members)
    }

    fn add(&mut self, element: Value<'a>, budget: &CostBudget<'_>) -> Result<(), Box<EvaluationError>> {
        let identity = self.identity(&element, budget)?;
        budget.take_bytes(identity.len())?;
        self.by_identity.entry(identity).or_default().push(element);
        Ok(())
    }

    /// A text that is equal for elements that are the same.
    fn identity(&self, element: &Value<'a>, budget: &CostBudget<'_>) -> Result<String, Box<EvaluationError>> {
        match (self.kind, element) {
            (ListKind::Map(keys), Value::Map(Map::Json(fields, _))) => {
                let values =
                    keys.iter().map(|key| fields.get(key).map(ToString::to_string).unwrap_or_default());
                let identity = values.collect::<Vec<_>>().join("\u{0}");
                budget.visit(1 + identity.len() / BYTES_PER_VISIT)?;
                Ok(identity)
            }
            (_, element) => element.print(budget),
        }
    }

    fn contains(&self, element: &Value<'a>, budget: &CostBudget<'_>) -> Result<bool, Box<EvaluationError>> {
        for other in self.by_identity.get(&self.identity(element, budget)?).into_iter().flatten() {
            if equal(element, other, budget)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn same(
        &self,
        element: &Value<'a>,
        budget: &CostBudget<'_>,
    ) -> Result<Option<&Value<'a>>, Box<EvaluationError>> {
        Ok(self.by_identity.get(&self.identity(element, budget)?).and_then(|others| others.first()))
    }
}

/// Joins two lists by what makes their elements the same: of a set and of a list with keys, the second's elements
/// replace those of the first and the others follow.
pub(crate) fn concatenate<'a>(first: &List<'a>, second: &List<'a>, budget: &CostBudget<'_>) -> Evaluated<'a> {
    budget.visit(first.len() + second.len())?;
    let mut joined = first.to_vec()?;
    match first.kind() {
        ListKind::Atomic => joined.extend(second.to_vec()?),
        ListKind::Set => {
            let mut members = Members::collect(first, &ListKind::Set, budget)?;
            for element in second.iter() {
                let element = element?;
                if !members.contains(&element, budget)? {
                    members.add(element.clone(), budget)?;
                    joined.push(element);
                }
            }
        }
        kind @ ListKind::Map(_) => {
            let empty = Members { kind, by_identity: std::collections::BTreeMap::new() };
            let mut places: std::collections::BTreeMap<String, usize> = std::collections::BTreeMap::new();
            for (place, element) in joined.iter().enumerate() {
                let identity = empty.identity(element, budget)?;
                budget.take_bytes(identity.len())?;
                places.insert(identity, place);
            }
            for element in second.iter() {
                let element = element?;
                let identity = empty.identity(&element, budget)?;
                match places.get(&identity).and_then(|place| joined.get_mut(*place)) {
                    Some(place) => *place = element,
                    None => {
                        places.insert(identity, joined.len());
                        joined.push(element);
                    }
                }
            }
        }
    }
    Ok(match first {
        List::Json(_, declared) | List::Joined(_, declared) => {
            Value::List(List::Joined(Arc::new(joined), declared))
        }
        List::Owned(_) => Value::list(joined),
    })
}

fn equal_maps<'a>(
    first: &Map<'a>,
    second: &Map<'a>,
    budget: &CostBudget<'_>,
) -> Result<bool, Box<EvaluationError>> {
    if let Map::Json(fields, DeclType { shape: Shape::Object(object), .. }) = first {
        return equal_objects(fields, object, second, budget);
    }
    if first.len() != second.len() {
        return Ok(false);
    }
    budget.visit(first.len())?;
    for (key, value) in first.entries()? {
        let Some(other) = second.get(&key) else {
            return Ok(false);
        };
        if !equal(&value, &other?, budget)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Compares an object with another one: declared fields by their types, other fields of both by their JSON.
fn equal_objects<'a>(
    fields: &'a serde_json::Map<String, Json>,
    object: &'a ObjectType,
    second: &Map<'a>,
    budget: &CostBudget<'_>,
) -> Result<bool, Box<EvaluationError>> {
    budget.visit(object.fields().count())?;
    let others = match second {
        Map::Json(others, _) => Some(*others),
        Map::Owned(_) | Map::Object(..) => None,
    };
    if fields.len() != others.map_or_else(|| second.len(), serde_json::Map::len) {
        return Ok(false);
    }
    let mut declared = 0;
    for (name, field) in object.fields() {
        let value = fields.get(field.json_name.as_ref());
        declared += usize::from(value.is_some());
        let value = value.filter(|value| !value.is_null());
        let value = value.map(|value| json::adapt(value, &field.declared)).transpose()?;
        let is_same = match (value, second.get(&Value::string(name)).transpose()?) {
            (Some(value), Some(other)) => equal(&value, &other, budget)?,
            (None, None) => true,
            _ => false,
        };
        if !is_same {
            return Ok(false);
        }
    }
    if declared == fields.len() {
        return Ok(true);
    }
    let is_declared = |name: &str| escape(name).is_some_and(|name| object.escaped_field(&name).is_some());
    let differs = |(name, value): (&String, &Json)| {
        let other = others.and_then(|others| others.get(name));
        !is_declared(name) && other.is_some_and(|other| other != value)
    };
    Ok(!fields.iter().any(differs))
}

/// The order of two numbers of any types; `None` if one is not a number, or is NaN.
fn compare_numbers(first: &Value<'_>, second: &Value<'_>) -> Option<Ordering> {
    let whole = |value: &Value<'_>| match value {
        Value::Int(number) => Some(i128::from(*number)),
        Value::Uint(number) => Some(i128::from(*number)),
        _ => None,
    };
    match (first, second) {
        (Value::Double(a), Value::Double(b)) => a.partial_cmp(b),
        (Value::Double(a), b) => compare_double(*a, whole(b)?),
        (a, Value::Double(b)) => compare_double(*b, whole(a)?).map(Ordering::reverse),
        (a, b) => Some(whole(a)?.cmp(&whole(b)?)),
    }
}

fn compare_double(double: f64, whole: i128) -> Option<Ordering> {
    if double.is_nan() {
        return None;
    }
    if double.abs() > 1e30 {
        return Some(if double > 0.0 { Ordering::Greater } else { Ordering::Less });
    }
    let floor = double.floor();
    let rest = if double > floor { Ordering::Greater } else { Ordering::Equal };
    Some((floor as i128).cmp(&whole).then(rest))
}

/// The order of two values of one type, or of two numbers.
pub(crate) fn compare(
    first: &Value<'_>,
    second: &Value<'_>,
    budget: &CostBudget<'_>,
) -> Result<Ordering, Box<EvaluationError>> {
    budget.visit(1)?;
    if let (Value::String(a), Value::String(b)) = (first, second) {
        budget.visit_text(a.as_str().len().min(b.as_str().len()))?;
    }
    Ok(match (first, second) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        (Value::Duration(a), Value::Duration(b)) => a.cmp(b),
        (Value::Timestamp(a), Value::Timestamp(b)) => a.compare(b),
        (
            a @ (Value::Int(_) | Value::Uint(_) | Value::Double(_)),
            b @ (Value::Int(_) | Value::Uint(_) | Value::Double(_)),
        ) => match compare_numbers(a, b) {
            Some(ordering) => ordering,
            None => return fail("NaN values cannot be ordered"),
        },
        _ => return no_such_overload(),
    })
}
