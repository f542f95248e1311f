//! The costs of functions of lists.

use super::super::sizes::Sizes;
use super::super::{CostEstimate, STRING_TRAVERSAL_FACTOR, SizeEstimate};
use super::{Call, CallEstimate, Evaluated, cost, sized, traversal};
use crate::budget::CostBudget;
use crate::declarations::ListCost;
use crate::types::Type;
use crate::value::{EvaluationError, Value};

/// The cost of a call that makes a list, beside that of its elements.
const LIST_CALL_COST: u64 = 11;

// === impl ListCost ===

impl ListCost {
    /// The estimate of a call.
    pub(super) fn estimate<'e>(self, call: &Call<'_, 'e>, sizes: &Sizes<'e>) -> CallEstimate {
        let size = |index| call.size(index);
        let literal = |index: usize, otherwise: u64| {
            let number = call.literal_int(sizes, index);
            number.map_or(otherwise, |number| u64::try_from(number).unwrap_or(0))
        };
        let list_cost = |factor: f64, size: SizeEstimate| {
            sized(size.factor(factor).add(CostEstimate::fixed(LIST_CALL_COST)), size)
        };
        let product = |factor: f64| size(0).multiply(size(1)).factor(factor).add(CostEstimate::fixed(1));
        match self {
            Self::Elements => cost(elements(call, sizes)),
            Self::Intersect => cost(product(1.0)),
            Self::Equivalent => cost(product(2.0)),
            Self::Slice => {
                let length = literal(2, size(0).max).wrapping_sub(literal(1, 0));
                list_cost(1.0, SizeEstimate::fixed(length))
            }
            Self::Range => list_cost(1.0, SizeEstimate::fixed(literal(0, u64::MAX))),
            Self::Reverse => list_cost(1.0, size(0)),
            Self::Flatten => {
                let depth = if call.operands.len() == 1 { 1 } else { literal(1, u64::MAX) };
                list_cost(depth as f64, size(0))
            }
            Self::Distinct => list_cost(2.0, size(0).multiply(size(0))),
            Self::Sort | Self::SortByKeys => {
                let keys = usize::from(self == Self::SortByKeys);
                let is_text = matches!(
                    call.overload.args.get(keys),
                    Some(Type::List(element)) if matches!(**element, Type::String | Type::Bytes)
                );
                let factor = if is_text { 2.0 + STRING_TRAVERSAL_FACTOR } else { 2.0 };
                list_cost(factor, size(keys).multiply(size(keys)))
            }
        }
    }

    /// The cost when it is evaluated. The work of counting is taken from the budget.
    pub(super) fn compute(
        self,
        call: Evaluated<'_, '_>,
        budget: &CostBudget<'_>,
    ) -> Result<u64, Box<EvaluationError>> {
        let product = || call.size(0).saturating_mul(call.size(1));
        Ok(match self {
            Self::Elements => call.args.first().map_or(Ok(1), |list| visited(list, budget))?,
            Self::Intersect => product().saturating_add(1),
            Self::Equivalent => product().saturating_mul(2).saturating_add(1),
            Self::Slice | Self::Range | Self::Reverse => call.result_size().saturating_add(LIST_CALL_COST),
            Self::Flatten => {
                let depth = call.args.get(1).and_then(Value::as_int);
                let depth = depth.map_or(1, |depth| u64::try_from(depth).unwrap_or(0));
                call.size(0).saturating_mul(depth).saturating_add(LIST_CALL_COST)
            }
            Self::Distinct | Self::Sort => sorting_cost(call.args.first()),
            Self::SortByKeys => sorting_cost(call.args.get(1)),
        })
    }

    /// Whether the cost depends on the result.
    pub(super) fn depends_on_result(self) -> bool {
        matches!(self, Self::Slice | Self::Range | Self::Reverse)
    }
}

/// The estimate of looking at all elements of the first operand.
fn elements<'e>(call: &Call<'_, 'e>, sizes: &Sizes<'e>) -> CostEstimate {
    let Some(element) = call.element(sizes) else {
        return traversal(call.size(0));
    };
    let mut each = CostEstimate::fixed(1);
    if matches!(element.type_of, Type::String | Type::Bytes) {
        each = each.add(traversal(element.known_size()));
    }
    call.size(0).multiply(each)
}

/// Returns the cost of looking at all parts of a value.
fn visited(value: &Value<'_>, budget: &CostBudget<'_>) -> Result<u64, Box<EvaluationError>> {
    budget.visit(1)?;
    let mut total: u64 = 0;
    match value {
        Value::String(text) => total = (text.as_str().len() as f64 * STRING_TRAVERSAL_FACTOR) as u64,
        Value::Bytes(bytes) => total = (bytes.len() as f64 * STRING_TRAVERSAL_FACTOR) as u64,
        Value::List(list) => {
            for item in list.iter() {
                total = total.saturating_add(item.map_or(Ok(1), |item| visited(&item, budget))?);
            }
        }
        Value::Map(map) => match map.entries() {
            Ok(entries) => {
                for (key, value) in entries {
                    total = total.saturating_add(visited(&key, budget)?);
                    total = total.saturating_add(visited(&value, budget)?);
                }
            }
            Err(_) => total = 1,
        },
        _ => total = 1,
    }
    Ok(total)
}

/// Returns the cost of comparing every element of a list with every other.
fn sorting_cost(list: Option<&Value<'_>>) -> u64 {
    let first = match list {
        Some(Value::List(list)) => list.get(0),
        _ => None,
    };
    let is_text = matches!(first, Some(Ok(Value::String(_) | Value::Bytes(_))));
    let factor = if is_text { 2.0 + STRING_TRAVERSAL_FACTOR } else { 2.0 };
    let size = list.map_or(1, Value::cost_size);
    let compared = size.saturating_mul(size) as f64 * factor;
    (compared as u64).saturating_add(LIST_CALL_COST)
}
