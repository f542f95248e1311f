//! Functions of lists.

use std::cmp::Ordering;

use super::{Call, Native};
use crate::budget::CostBudget;
use crate::value::{Evaluated, EvaluationError, List, Value, compare, fail};

pub(super) fn native(name: &str) -> Option<Native> {
    Some(match name {
        "isSorted" => is_sorted,
        "sum" => |call| sum(call, Value::Int(0)),
        "min" | "max" => extreme,
        "distinct" => distinct,
        "flatten" => flatten,
        "slice" => slice,
        "sort" => sort,
        "@sortByAssociatedKeys" => sort_by_keys,
        "lists.range" => range,
        "first" | "last" => end,
        _ => return None,
    })
}

/// Maximum length of a list that a function makes out of numbers.
const MAX_ELEMENTS: i64 = 1_000_000;

fn is_sorted<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let [Value::List(list)] = call.args else {
        return call.no_such_overload();
    };
    let mut previous: Option<Value<'a>> = None;
    for element in list.iter() {
        let element = element?;
        if let Some(previous) = &previous
            && compare::compare(previous, &element, call.budget)?.is_gt()
        {
            return Ok(Value::Bool(false));
        }
        previous = Some(element);
    }
    Ok(Value::Bool(true))
}

/// The `sum` of a list whose elements have a known type: the sum of no elements is the zero of that type.
pub(crate) fn sum_of(overload: &str) -> Option<Native> {
    Some(match overload {
        "list_uint_sum_uint" => |call| sum(call, Value::Uint(0)),
        "list_double_sum_double" => |call| sum(call, Value::Double(0.0)),
        "list_duration_sum_duration" => |call| sum(call, Value::Duration(0)),
        _ => return None,
    })
}

fn sum<'a>(call: &mut Call<'a, '_>, of_nothing: Value<'a>) -> Evaluated<'a> {
    let [Value::List(list)] = call.args else {
        return call.no_such_overload();
    };
    let mut total: Option<Value<'a>> = None;
    for element in list.iter() {
        call.budget.visit(1)?;
        let element = element?;
        total = Some(match (total, element) {
            (None, element) => element,
            (Some(Value::Int(a)), Value::Int(b)) => match a.checked_add(b) {
                Some(sum) => Value::Int(sum),
                None => return fail("integer overflow"),
            },
            (Some(Value::Uint(a)), Value::Uint(b)) => match a.checked_add(b) {
                Some(sum) => Value::Uint(sum),
                None => return fail("unsigned integer overflow"),
            },
            (Some(Value::Double(a)), Value::Double(b)) => Value::Double(a + b),
            (Some(Value::Duration(a)), Value::Duration(b)) => match a.checked_add(b) {
                Some(sum) => Value::Duration(sum),
                None => return fail("integer overflow"),
            },
            _ => return call.no_such_overload(),
        });
    }
    Ok(total.unwrap_or(of_nothing))
}

fn extreme<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let [Value::List(list)] = call.args else {
        return call.no_such_overload();
    };
    let wanted = if call.function == "min" { Ordering::Less } else { Ordering::Greater };
    let mut best: Option<Value<'a>> = None;
    for element in list.iter() {
        let element = element?;
        best = match best {
            Some(best) if compare::compare(&element, &best, call.budget)? != wanted => Some(best),
            _ => Some(element),
        };
    }
    match best {
        Some(best) => Ok(best),
        None => fail(format!("{} called on empty list", call.function)),
    }
}

/// `indexOf` and `lastIndexOf` of lists.
pub(super) fn index_of<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let [Value::List(list), wanted] = call.args else {
        return call.no_such_overload();
    };
    let mut found = -1;
    for (index, element) in list.iter().enumerate() {
        if compare::equal(&element?, wanted, call.budget)? {
            found = index as i64;
            if call.function == "indexOf" {
                break;
            }
        }
    }
    Ok(Value::Int(found))
}

fn distinct<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let [Value::List(list)] = call.args else {
        return call.no_such_overload();
    };
    let mut kept: Vec<Value<'a>> = Vec::new();
    for element in list.iter() {
        let element = element?;
        let mut seen = false;
        for other in &kept {
            if compare::equal(&element, other, call.budget)? {
                seen = true;
                break;
            }
        }
        if !seen {
            kept.push(element);
        }
    }
    Ok(Value::list(kept))
}

fn flatten<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let (list, depth) = match call.args {
        [Value::List(list)] => (list, 1),
        [Value::List(list), Value::Int(depth)] => (list, *depth),
        _ => return call.no_such_overload(),
    };
    if depth < 0 {
        return fail("level must be non-negative");
    }
    let mut flat = Vec::new();
    flatten_into(&mut flat, list, depth, call.budget)?;
    call.work(flat.len())?;
    Ok(Value::list(flat))
}

fn flatten_into<'a>(
    flat: &mut Vec<Value<'a>>,
    list: &List<'a>,
    depth: i64,
    budget: &CostBudget<'_>,
) -> Result<(), Box<EvaluationError>> {
    for element in list.iter() {
        budget.visit(1)?;
        match element? {
            Value::List(inner) if depth > 0 => flatten_into(flat, &inner, depth - 1, budget)?,
            other => flat.push(other),
        }
        if flat.len() as i64 > MAX_ELEMENTS {
            return Err(Box::new(EvaluationError::CostLimitExceeded));
        }
    }
    Ok(())
}

fn slice<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let [Value::List(list), Value::Int(start), Value::Int(end)] = call.args else {
        return call.no_such_overload();
    };
    let length = list.len();
    if *start < 0 || *end < 0 {
        return fail(format!("cannot slice({start}, {end}), negative indexes not supported"));
    }
    if start > end {
        return fail(format!(
            "cannot slice({start}, {end}), start index must be less than or equal to end index"
        ));
    }
    if length < *end as usize {
        return fail(format!("cannot slice({start}, {end}), list is length {length}"));
    }
    call.budget.visit((*end - *start) as usize)?;
    let kept: Result<_, _> = (*start as usize..*end as usize).filter_map(|index| list.get(index)).collect();
    Ok(Value::list(kept?))
}

fn check_comparable(elements: &[Value<'_>], budget: &CostBudget<'_>) -> Result<(), Box<EvaluationError>> {
    let Some(first) = elements.first() else {
        return Ok(());
    };
    if compare::compare(first, first, budget).is_err() && !matches!(first, Value::Double(_)) {
        return fail("list elements must be comparable");
    }
    let name = first.type_of();
    if elements.iter().any(|element| element.type_of().name() != name.name()) {
        return fail("list elements must have the same type");
    }
    Ok(())
}

fn sort<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let [Value::List(list)] = call.args else {
        return call.no_such_overload();
    };
    call.budget.visit(list.len())?;
    let mut elements = list.to_vec()?;
    check_comparable(&elements, call.budget)?;
    sort_by(&mut elements, |element| element, call.budget)?;
    Ok(Value::list(elements))
}

/// Sorts by keys, and stops comparing when the budget is exhausted.
fn sort_by<'a, T>(
    elements: &mut [T],
    key: impl Fn(&T) -> &Value<'a>,
    budget: &CostBudget<'_>,
) -> Result<(), Box<EvaluationError>> {
    let mut failure = None;
    elements.sort_by(|a, b| {
        if failure.is_some() {
            return Ordering::Equal;
        }
        match compare::compare(key(a), key(b), budget) {
            Ok(ordering) => ordering,
            Err(error) => {
                // Values without an order are as good as equal.
                failure = Some(error).filter(|error| !matches!(**error, EvaluationError::Failed(_)));
                Ordering::Equal
            }
        }
    });
    failure.map_or(Ok(()), Err)
}

fn sort_by_keys<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let [Value::List(list), Value::List(keys)] = call.args else {
        return call.no_such_overload();
    };
    call.budget.visit(list.len() + keys.len())?;
    let elements = list.to_vec()?;
    let keys = keys.to_vec()?;
    if elements.len() != keys.len() {
        let elements = elements.len();
        let keys = keys.len();
        return fail(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {elements} and {keys} elements respectively"
        ));
    }
    check_comparable(&keys, call.budget)?;
    let mut pairs: Vec<_> = keys.into_iter().zip(elements).collect();
    sort_by(&mut pairs, |(key, _)| key, call.budget)?;
    Ok(Value::list(pairs.into_iter().map(|(_, element)| element).collect()))
}

fn range<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let [Value::Int(count)] = call.args else {
        return call.no_such_overload();
    };
    if *count > MAX_ELEMENTS {
        return Err(Box::new(EvaluationError::CostLimitExceeded));
    }
    call.budget.visit(usize::try_from(*count).unwrap_or(0))?;
    Ok(Value::list((0..*count).map(Value::Int).collect()))
}

fn end<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let [Value::List(list)] = call.args else {
        return call.no_such_overload();
    };
    let index = if call.function == "first" { 0 } else { list.len().saturating_sub(1) };
    match list.get(index) {
        Some(element) => Ok(Value::some(element?)),
        None => Ok(Value::Optional(None)),
    }
}
