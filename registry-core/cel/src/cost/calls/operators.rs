//! The costs of comparisons, concatenations and `in`.

use super::super::sizes::Sizes;
use super::super::{CostEstimate, SizeEstimate};
use super::{Call, CallEstimate, cost, join_entry_sizes, sized, traversal, traversed};
use crate::declarations::OperatorCost;
use crate::value::Value;

/// The length of the longest name of a format.
const MAX_FORMAT_SIZE: u64 = 64;

// === impl OperatorCost ===

impl OperatorCost {
    /// The estimate of a call.
    pub(super) fn estimate<'e>(self, call: &Call<'_, 'e>, sizes: &mut Sizes<'e>) -> CallEstimate {
        match self {
            Self::Equal => cost(equality(call).unwrap_or_else(|| comparison(call))),
            Self::NotEqual | Self::Order => cost(comparison(call)),
            Self::Concatenate | Self::ConcatenateLists => {
                join_entry_sizes(sizes, call.id, call.operands);
                let result = call.size(0).add(call.size(1));
                let is_list = self == Self::ConcatenateLists;
                sized(if is_list { CostEstimate::fixed(1) } else { traversal(result) }, result)
            }
            Self::In => cost(call.size(1).factor(1.0)),
        }
    }

    /// The cost when it is evaluated.
    pub(super) fn compute(self, first: &Value<'_>, second: &Value<'_>) -> u64 {
        match self {
            Self::Equal | Self::NotEqual if matches!(first, Value::Foreign(_)) => 1,
            Self::Equal | Self::NotEqual | Self::Order => match (first, second) {
                (Value::Int(_) | Value::Bool(_) | Value::Double(_), _) => 1,
                _ => traversed(first.cost_size().min(second.cost_size())),
            },
            Self::Concatenate => traversed(first.cost_size() + second.cost_size()),
            Self::ConcatenateLists => 1,
            Self::In => second.cost_size(),
        }
    }
}

fn comparison(call: &Call<'_, '_>) -> CostEstimate {
    let max = call.size(0).max.min(call.size(1).max);
    traversal(SizeEstimate { min: u64::from(max > 0), max })
}

/// The estimate of `==` between two values of one of Kubernetes' types.
fn equality(call: &Call<'_, '_>) -> Option<CostEstimate> {
    let [first, second] = call.operands else {
        return None;
    };
    if first.type_of != second.type_of {
        return None;
    }
    match first.type_of.name() {
        "net.IP" | "net.CIDR" | "kubernetes.Quantity" | "kubernetes.Semver" => Some(CostEstimate::fixed(1)),
        "kubernetes.NamedFormat" => Some(traversal(SizeEstimate { min: 1, max: MAX_FORMAT_SIZE })),
        "kubernetes.URL" => {
            let max = second.size.map_or(1, |size| size.max);
            Some(traversal(SizeEstimate { min: 1, max }))
        }
        name if name.starts_with("kubernetes.authorization.") => Some(CostEstimate::fixed(1)),
        _ => None,
    }
}
