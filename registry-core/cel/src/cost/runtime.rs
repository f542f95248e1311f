//! The cost of a call when it is evaluated, by its class, from the real sizes of its operands.

use super::{
    CHECK_COST, LIST_CALL_COST, REGEX_LENGTH_FACTOR, STRING_TRAVERSAL_FACTOR, ceil_factor, selector_cost,
};
use crate::budget::CostBudget;
use crate::declarations::{CostClass, Library, Overload};
use crate::value::{EvaluationError, Foreign, Value};

// === impl CostClass: evaluation ===

impl CostClass {
    /// The class of a call that may select these overloads. Of several of the standard library, none is known to be the one.
    pub(crate) fn from_overloads(overloads: &[&Overload]) -> Self {
        match overloads {
            [only] => only.cost,
            [first, ..] if first.library != Library::Standard => first.cost,
            _ => Self::One,
        }
    }

    /// Whether the cost does not depend on the result.
    pub(crate) fn is_known_before(self) -> bool {
        !matches!(self, Self::Join | Self::Slice | Self::Range | Self::Reverse)
    }

    /// The cost of an operator.
    pub(crate) fn compute_operator(self, first: &Value<'_>, second: &Value<'_>) -> u64 {
        match self {
            Self::Equal | Self::NotEqual if matches!(first, Value::Foreign(_)) => 1,
            Self::Equal | Self::NotEqual | Self::Order => match (first, second) {
                (Value::Int(_) | Value::Bool(_) | Value::Double(_), _) => 1,
                _ => traversed(first.cost_size().min(second.cost_size())),
            },
            Self::Concatenate => traversed(first.cost_size() + second.cost_size()),
            Self::In => second.cost_size(),
            _ => 1,
        }
    }

    /// The cost of a call. The work of counting is taken from the budget.
    pub(crate) fn compute(
        self,
        args: &[Value<'_>],
        result: Option<&Value<'_>>,
        budget: &CostBudget<'_>,
    ) -> Result<u64, Box<EvaluationError>> {
        match (self, args.first()) {
            (Self::Elements, Some(list)) => traversal(list, budget),
            _ => Ok(self.compute_sizes(args, result)),
        }
    }

    fn compute_sizes(self, args: &[Value<'_>], result: Option<&Value<'_>>) -> u64 {
        let size = |index: usize| args.get(index).map_or(1, Value::cost_size);
        let product = || size(0).saturating_mul(size(1));
        match self {
            Self::Check => CHECK_COST,
            Self::Selector => selector_cost(size(1)),
            Self::Read | Self::Copy | Self::Affix | Self::ToBytes | Self::FromBytes | Self::Quote => {
                traversed(size(0))
            }
            Self::ReadTwice | Self::Replace | Self::Split => read_twice(size(0)),
            Self::Join => read_twice(result.map_or(1, Value::cost_size)),
            Self::Match | Self::Find => {
                let text = traversed(size(0).saturating_add(1));
                text.saturating_mul(ceil_factor(size(1), REGEX_LENGTH_FACTOR))
            }
            Self::Contains => traversed(size(0)).saturating_mul(traversed(size(1))),
            Self::ContainsIp => traversed(2 * size(0)),
            Self::ContainsIpText => traversed(2 * size(0)) + traversed(size(1)),
            Self::ContainsCidr => traversed(2 * size(0)) + traversed(size(0)) + 1,
            Self::ContainsCidrText => traversed(2 * size(0)) + traversed(size(0)) + 1 + traversed(size(1)),
            Self::Validate => match args.first() {
                Some(Value::Foreign(foreign)) => match foreign.as_ref() {
                    Foreign::Format(format) => traversed(size(1).saturating_add(1))
                        .saturating_mul(ceil_factor(format.regex_size(), REGEX_LENGTH_FACTOR)),
                    _ => 1,
                },
                _ => 1,
            },
            Self::Intersect => product().saturating_add(1),
            Self::Equivalent => product().saturating_mul(2).saturating_add(1),
            Self::Slice | Self::Range | Self::Reverse => {
                result.map_or(1, Value::cost_size).saturating_add(LIST_CALL_COST)
            }
            Self::Flatten => {
                let depth = args.get(1).and_then(Value::as_int);
                let depth = depth.map_or(1, |depth| u64::try_from(depth).unwrap_or(0));
                size(0).saturating_mul(depth).saturating_add(LIST_CALL_COST)
            }
            Self::Distinct | Self::Sort => sorting_cost(args.first()),
            Self::SortByKeys => sorting_cost(args.get(1)),
            other => match args {
                [first, second, ..] => other.compute_operator(first, second),
                _ => 1,
            },
        }
    }
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

/// Returns the cost of traversing a text of this length.
fn traversed(length: u64) -> u64 {
    ceil_factor(length, STRING_TRAVERSAL_FACTOR)
}

fn read_twice(length: u64) -> u64 {
    ceil_factor(length, 2.0 * STRING_TRAVERSAL_FACTOR)
}

/// Returns the cost of looking at all parts of a value.
fn traversal(value: &Value<'_>, budget: &CostBudget<'_>) -> Result<u64, Box<EvaluationError>> {
    budget.visit(1)?;
    let mut total: u64 = 0;
    match value {
        Value::String(text) => total = (text.as_str().len() as f64 * STRING_TRAVERSAL_FACTOR) as u64,
        Value::Bytes(bytes) => total = (bytes.len() as f64 * STRING_TRAVERSAL_FACTOR) as u64,
        Value::List(list) => {
            for item in list.iter() {
                total = total.saturating_add(item.map_or(Ok(1), |item| traversal(&item, budget))?);
            }
        }
        Value::Map(map) => match map.entries() {
            Ok(entries) => {
                for (key, value) in entries {
                    total = total.saturating_add(traversal(&key, budget)?);
                    total = total.saturating_add(traversal(&value, budget)?);
                }
            }
            Err(_) => total = 1,
        },
        _ => total = 1,
    }
    Ok(total)
}
