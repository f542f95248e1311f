//! Costs of calls of the standard library.

use super::estimate::Estimator;
use super::{
    CallEstimate, CostEstimate, CostNode, REGEX_LENGTH_FACTOR, STRING_TRAVERSAL_FACTOR, SizeEstimate,
};
use crate::syntax::ast::ExprId;

/// A call with one of its overloads.
pub(super) struct Call<'c, 'e> {
    pub(super) id: ExprId,
    pub(super) function: &'c str,
    pub(super) overload: &'c str,
    pub(super) target: Option<&'c CostNode<'e>>,
    pub(super) args: &'c [CostNode<'e>],
}

/// The size that is known of a node itself.
fn size(node: &CostNode<'_>) -> SizeEstimate {
    node.size.unwrap_or(SizeEstimate::UNKNOWN)
}

fn cost(cost: CostEstimate) -> CallEstimate {
    CallEstimate { cost, size: None }
}

// === impl Estimator: calls ===

impl<'e> Estimator<'e> {
    pub(super) fn call_cost(&mut self, call: &Call<'_, 'e>, arg_costs: &[CostEstimate]) -> CallEstimate {
        let args = arg_costs.iter().fold(CostEstimate::default(), |sum, cost| sum.add(*cost));
        let own = self.library_cost(call).or_else(|| self.kubernetes_cost(call));
        if let Some(own) = own {
            return CallEstimate { cost: own.cost.add(args), size: own.size };
        }
        if let Some(own) = self.control_cost(call, arg_costs) {
            return own;
        }
        let own = self.standard_cost(call).unwrap_or_else(|| cost(CostEstimate::fixed(1)));
        CallEstimate { cost: own.cost.add(args), size: own.size }
    }

    /// The costs of operators that do not evaluate all their operands, with those of the operands.
    fn control_cost(&mut self, call: &Call<'_, 'e>, arg_costs: &[CostEstimate]) -> Option<CallEstimate> {
        match (call.overload, arg_costs) {
            ("logical_and" | "logical_or", [left, right]) => {
                Some(cost(CostEstimate { min: left.min, max: left.add(*right).max }))
            }
            ("conditional", [condition, if_true, if_false]) => {
                let [_, first, second] = call.args else {
                    return None;
                };
                let union = size(first).union(size(second));
                if let (Some(first), Some(second)) = (first.expr, second.expr)
                    && let (Some(first), Some(second)) = (self.entry_size(first), self.entry_size(second))
                {
                    self.set_entry_size(call.id, first.union(second));
                }
                Some(CallEstimate { cost: condition.add(if_true.union(*if_false)), size: Some(union) })
            }
            _ => None,
        }
    }

    fn standard_cost(&mut self, call: &Call<'_, 'e>) -> Option<CallEstimate> {
        let traversed = |node: &CostNode<'_>| size(node).factor(STRING_TRAVERSAL_FACTOR);
        match (call.overload, call.target, call.args) {
            ("string_format", Some(target), _) => Some(cost(traversed(target))),
            ("string_to_bytes", _, [arg]) => {
                let of = size(arg);
                let result = SizeEstimate { min: of.min, max: of.max.wrapping_mul(4) };
                Some(CallEstimate { cost: traversed(arg), size: Some(result) })
            }
            ("bytes_to_string", _, [arg]) => {
                let of = size(arg);
                Some(CallEstimate {
                    cost: traversed(arg),
                    size: Some(SizeEstimate { min: of.min / 4, max: of.max }),
                })
            }
            ("strings_quote", _, [arg]) => {
                let of = size(arg);
                let result =
                    SizeEstimate { min: of.min.wrapping_add(2), max: of.max.wrapping_mul(2).wrapping_add(2) };
                Some(CallEstimate { cost: traversed(arg), size: Some(result) })
            }
            ("starts_with_string" | "ends_with_string", _, [arg]) => Some(cost(traversed(arg))),
            ("in_list", _, [_, list]) => Some(cost(size(list).factor(1.0))),
            ("matches" | "matches_string", Some(target), [pattern]) => {
                let text = size(target).add(SizeEstimate::fixed(1)).factor(STRING_TRAVERSAL_FACTOR);
                Some(cost(text.multiply(size(pattern).factor(REGEX_LENGTH_FACTOR))))
            }
            ("contains_string", Some(target), [part]) => {
                Some(cost(traversed(target).multiply(traversed(part))))
            }
            ("add_string" | "add_bytes" | "add_list", _, [first, second]) => {
                self.concatenation(call, first, second)
            }
            (overload, _, [first, second]) if compares(overload) => {
                let max = size(first).max.min(size(second).max);
                let range = CostEstimate { min: u64::from(max > 0), max };
                Some(cost(range.factor(STRING_TRAVERSAL_FACTOR)))
            }
            _ => None,
        }
    }

    fn concatenation(
        &mut self,
        call: &Call<'_, 'e>,
        first: &CostNode<'e>,
        second: &CostNode<'e>,
    ) -> Option<CallEstimate> {
        let result = size(first).add(size(second));
        if let (Some(first), Some(second)) = (first.expr, second.expr)
            && let (Some(first), Some(second)) = (self.entry_size(first), self.entry_size(second))
        {
            self.set_entry_size(call.id, first.union(second));
        }
        let own = match call.overload {
            "add_list" => CostEstimate::fixed(1),
            _ => result.factor(STRING_TRAVERSAL_FACTOR),
        };
        Some(CallEstimate { cost: own, size: Some(result) })
    }
}

fn compares(overload: &str) -> bool {
    let (operation, of) = overload.rsplit_once('_').unwrap_or((overload, ""));
    let is_ordered = matches!(operation, "less" | "less_equals" | "greater" | "greater_equals");
    matches!(overload, "equals" | "not_equals") || (is_ordered && matches!(of, "string" | "bytes"))
}
