//! The cost of a function call when it is evaluated.

use crate::budget::CostBudget;
use crate::cost::{
    CHECK_COST, LIST_CALL_COST, REGEX_LENGTH_FACTOR, STRING_TRAVERSAL_FACTOR, ceil_factor, selector_cost,
};
use crate::library::Foreign;
use crate::value::{EvaluationError, Value};

/// The rule that computes the cost of a call from its arguments and its result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallCost {
    Fixed(u64),
    /// The first argument is traversed so many times.
    Traversal {
        times: u32,
    },
    /// The length of the result, times two tenths.
    Result,
    /// A regular expression against a text.
    Pattern,
    /// A text in a text.
    Contains,
    /// The size of the list that is searched.
    InList,
    /// The smaller of the sizes of both sides.
    Equal,
    /// The same for texts and bytes in order.
    Order,
    /// Both sizes together.
    Concatenation,
    /// The elements of a list, with the texts in them.
    Elements,
    ContainsIp {
        parse: bool,
    },
    ContainsCidr {
        parse: bool,
    },
    Format,
    Selector,
    /// Every element of one list against every element of another.
    Sets {
        factor: u64,
    },
    /// The elements of the list that is made.
    MadeList,
    /// The elements of a list that is flattened, for every level.
    Flatten,
    /// Every element of a list against every other.
    SelfCompare {
        arg: usize,
    },
}

// === impl CallCost ===

impl CallCost {
    /// The cost of a function, and of its overload if only one fits.
    pub(crate) fn new(function: &str, overload: Option<&str>) -> Self {
        match function {
            "check" => Self::Fixed(CHECK_COST),
            "fieldSelector" | "labelSelector" => Self::Selector,
            "isSorted" | "sum" | "max" | "min" | "indexOf" | "lastIndexOf" => Self::Elements,
            "url"
            | "lowerAscii"
            | "upperAscii"
            | "substring"
            | "trim"
            | "jsonpatch.escapeKey"
            | "cidr"
            | "isIP"
            | "isCIDR"
            | "quantity"
            | "isQuantity"
            | "semver"
            | "isSemver" => Self::Traversal { times: 1 },
            "ip" if overload != Some("cidr_ip") => Self::Traversal { times: 1 },
            "replace" | "split" | "ip.isCanonical" => Self::Traversal { times: 2 },
            "join" => Self::Result,
            "find" | "findAll" => Self::Pattern,
            "containsIP" => Self::ContainsIp { parse: overload == Some("cidr_contains_ip_string") },
            "containsCIDR" => Self::ContainsCidr { parse: overload == Some("cidr_contains_cidr_string") },
            "validate" => Self::Format,
            "sets.contains" | "sets.intersects" => Self::Sets { factor: 1 },
            "sets.equivalent" => Self::Sets { factor: 2 },
            "slice" | "lists.range" | "reverse" => Self::MadeList,
            "flatten" => Self::Flatten,
            "distinct" | "sort" => Self::SelfCompare { arg: 0 },
            "@sortByAssociatedKeys" => Self::SelfCompare { arg: 1 },
            _ => Self::for_overload(overload.unwrap_or_default()),
        }
    }

    fn for_overload(overload: &str) -> Self {
        match overload {
            "starts_with_string" | "ends_with_string" | "string_to_bytes" | "bytes_to_string"
            | "strings_quote" | "string_format" => Self::Traversal { times: 1 },
            "in_list" => Self::InList,
            "equals" | "not_equals" => Self::Equal,
            "less_string"
            | "less_equals_string"
            | "greater_string"
            | "greater_equals_string"
            | "less_bytes"
            | "less_equals_bytes"
            | "greater_bytes"
            | "greater_equals_bytes" => Self::Order,
            "add_string" | "add_bytes" => Self::Concatenation,
            "matches" | "matches_string" => Self::Pattern,
            "contains_string" => Self::Contains,
            _ => Self::Fixed(1),
        }
    }

    /// Whether the cost does not depend on the result.
    pub(super) fn is_known_before(self) -> bool {
        !matches!(self, Self::Result | Self::MadeList)
    }

    /// The cost of an operator.
    pub(super) fn compute_operator(self, first: &Value<'_>, second: &Value<'_>) -> u64 {
        match self {
            Self::Fixed(cost) => cost,
            Self::Equal if matches!(first, Value::Foreign(_)) => 1,
            Self::Equal | Self::Order => match (first, second) {
                (Value::Int(_) | Value::Bool(_) | Value::Double(_), _) => 1,
                _ => traversed(first.cost_size().min(second.cost_size())),
            },
            Self::Concatenation => traversed(first.cost_size() + second.cost_size()),
            Self::InList => second.cost_size(),
            _ => 1,
        }
    }

    /// Whether the cost is the same for operands of any size.
    pub(super) fn is_fixed(self) -> bool {
        matches!(self, Self::Fixed(_))
    }

    /// The cost of a call. The work of counting is taken from the budget.
    pub(super) fn compute(
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
        match self {
            Self::Traversal { times } => ceil_factor(size(0), f64::from(times) * STRING_TRAVERSAL_FACTOR),
            Self::Result => ceil_factor(result.map_or(1, Value::cost_size), 2.0 * STRING_TRAVERSAL_FACTOR),
            Self::Pattern => {
                let text = traversed(size(0).saturating_add(1));
                text.saturating_mul(ceil_factor(size(1), REGEX_LENGTH_FACTOR))
            }
            Self::Contains => traversed(size(0)).saturating_mul(traversed(size(1))),
            Self::Elements => 0,
            Self::ContainsIp { parse } => traversed(2 * size(0)) + if parse { traversed(size(1)) } else { 0 },
            Self::ContainsCidr { parse } => {
                let base = traversed(2 * size(0)) + traversed(size(0)) + 1;
                base + if parse { traversed(size(1)) } else { 0 }
            }
            Self::Format => match args.first() {
                Some(Value::Foreign(foreign)) => match foreign.as_ref() {
                    Foreign::Format(format) => traversed(size(1).saturating_add(1))
                        .saturating_mul(ceil_factor(format.regex_size(), REGEX_LENGTH_FACTOR)),
                    _ => 1,
                },
                _ => 1,
            },
            Self::Selector => selector_cost(size(1)),
            Self::Sets { factor } => size(0).saturating_mul(size(1)).saturating_mul(factor).saturating_add(1),
            Self::MadeList => result.map_or(1, Value::cost_size).saturating_add(LIST_CALL_COST),
            Self::Flatten => {
                let depth =
                    args.get(1).and_then(Value::as_int).map_or(1, |depth| u64::try_from(depth).unwrap_or(0));
                size(0).saturating_mul(depth).saturating_add(LIST_CALL_COST)
            }
            Self::SelfCompare { arg } => {
                let first = match args.get(arg) {
                    Some(Value::List(list)) => list.get(0),
                    _ => None,
                };
                let is_text = matches!(first, Some(Ok(Value::String(_) | Value::Bytes(_))));
                let factor = if is_text { 2.0 + STRING_TRAVERSAL_FACTOR } else { 2.0 };
                let compared = size(arg).saturating_mul(size(arg)) as f64 * factor;
                (compared as u64).saturating_add(LIST_CALL_COST)
            }
            other => match args {
                [first, second, ..] => other.compute_operator(first, second),
                _ => 1,
            },
        }
    }
}

/// Returns the cost of traversing a text of this length.
fn traversed(length: u64) -> u64 {
    ceil_factor(length, STRING_TRAVERSAL_FACTOR)
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
