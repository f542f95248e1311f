//! Estimated costs of calls by their class. `declarations/overloads.txt` names the class of each function.

use super::sizes::{CostNode, Sizes};
use super::{
    CHECK_COST, CostEstimate, LIST_CALL_COST, REGEX_LENGTH_FACTOR, STRING_TRAVERSAL_FACTOR, SizeEstimate,
    selector_cost,
};
use crate::declarations::{CostClass, Overload};
use crate::syntax::ast::{Expr, ExprId, Literal};
use crate::types::Type;

/// The length of the longest regular expression of a format.
const MAX_FORMAT_REGEX_SIZE: f64 = 128.0;
/// The length of the longest name of a format.
const MAX_FORMAT_SIZE: u64 = 64;

/// A call with one of its overloads.
pub(super) struct Call<'c, 'e> {
    pub(super) id: ExprId,
    pub(super) overload: &'static Overload,
    /// The receiver, if there is one, and the arguments.
    pub(super) operands: &'c [CostNode<'e>],
}

/// The cost of a call and the size of its result.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallEstimate {
    pub(super) cost: CostEstimate,
    pub(super) size: Option<SizeEstimate>,
}

fn cost(cost: CostEstimate) -> CallEstimate {
    CallEstimate { cost, size: None }
}

fn sized(cost: CostEstimate, size: SizeEstimate) -> CallEstimate {
    CallEstimate { cost, size: Some(size) }
}

fn traversal(size: SizeEstimate) -> CostEstimate {
    size.factor(STRING_TRAVERSAL_FACTOR)
}

// === impl Call ===

impl<'e> Call<'_, 'e> {
    /// The cost of the call with that of its arguments.
    pub(super) fn cost(&self, sizes: &mut Sizes<'e>, arg_costs: &[CostEstimate]) -> CallEstimate {
        match (self.overload.cost, arg_costs) {
            (CostClass::Logic, [left, right]) => {
                cost(CostEstimate { min: left.min, max: left.add(*right).max })
            }
            (CostClass::Conditional, [condition, if_true, if_false]) => {
                join_entry_sizes(sizes, self.id, self.operands.get(1..).unwrap_or_default());
                sized(condition.add(if_true.union(*if_false)), self.size(1).union(self.size(2)))
            }
            _ => {
                let own = self.own_cost(sizes);
                let args = arg_costs.iter().fold(CostEstimate::default(), |sum, cost| sum.add(*cost));
                CallEstimate { cost: own.cost.add(args), size: own.size }
            }
        }
    }

    fn own_cost(&self, sizes: &mut Sizes<'e>) -> CallEstimate {
        let size = |index| self.size(index);
        let read = |times: f64| size(0).factor(times * STRING_TRAVERSAL_FACTOR);
        let pattern = || {
            let text = traversal(size(0).add(SizeEstimate::fixed(1)));
            text.multiply(size(1).factor(REGEX_LENGTH_FACTOR))
        };
        match self.overload.cost {
            CostClass::Check => cost(CostEstimate::fixed(CHECK_COST)),
            CostClass::Selector => {
                cost(CostEstimate { min: selector_cost(size(1).min), max: selector_cost(size(1).max) })
            }
            CostClass::Read => cost(read(1.0)),
            CostClass::Copy => sized(read(1.0), size(0)),
            CostClass::ReadTwice => cost(read(2.0)),
            CostClass::Replace => sized(read(2.0), replaced_size(size(0), size(1), size(2))),
            CostClass::Split => {
                let max = self.literal_int(sizes, 2).map_or(size(0).max, |limit| limit as u64);
                sized(read(2.0), SizeEstimate { min: 0, max })
            }
            CostClass::Join => self.join_cost(sizes),
            CostClass::Affix => cost(traversal(size(1))),
            CostClass::ToBytes => {
                sized(read(1.0), SizeEstimate { min: size(0).min, max: size(0).max.wrapping_mul(4) })
            }
            CostClass::FromBytes => sized(read(1.0), SizeEstimate { min: size(0).min / 4, max: size(0).max }),
            CostClass::Quote => {
                let SizeEstimate { min, max } = size(0);
                let (min, max) = (min.wrapping_add(2), max.wrapping_mul(2).wrapping_add(2));
                sized(read(1.0), SizeEstimate { min, max })
            }
            CostClass::Contains => cost(read(1.0).multiply(traversal(size(1)))),
            // As in cel-go, only the form with a receiver has a cost.
            CostClass::Match if self.overload.is_member => cost(pattern()),
            CostClass::Find => sized(pattern(), SizeEstimate { min: 0, max: size(0).max }),
            CostClass::Validate => {
                cost(traversal(size(1)).factor(MAX_FORMAT_REGEX_SIZE * REGEX_LENGTH_FACTOR))
            }
            CostClass::Equal => self.equality_cost().unwrap_or_else(|| self.comparison_cost()),
            CostClass::NotEqual | CostClass::Order => self.comparison_cost(),
            CostClass::Concatenate | CostClass::ConcatenateLists => self.concatenation(sizes),
            CostClass::ContainsIp
            | CostClass::ContainsIpText
            | CostClass::ContainsCidr
            | CostClass::ContainsCidrText => self.contains_cost(),
            CostClass::One | CostClass::Logic | CostClass::Conditional | CostClass::Match => {
                cost(CostEstimate::fixed(1))
            }
            _ => self.elements_cost(sizes),
        }
    }

    /// The costs of functions of the elements of lists.
    fn elements_cost(&self, sizes: &Sizes<'e>) -> CallEstimate {
        let size = |index| self.size(index);
        let literal = |index: usize, otherwise: u64| {
            let number = self.literal_int(sizes, index);
            number.map_or(otherwise, |number| u64::try_from(number).unwrap_or(0))
        };
        let list_cost = |factor: f64, size: SizeEstimate| {
            sized(size.factor(factor).add(CostEstimate::fixed(LIST_CALL_COST)), size)
        };
        let product = |factor: f64| size(0).multiply(size(1)).factor(factor).add(CostEstimate::fixed(1));
        match self.overload.cost {
            CostClass::In => cost(size(1).factor(1.0)),
            CostClass::Intersect => cost(product(1.0)),
            CostClass::Equivalent => cost(product(2.0)),
            CostClass::Slice => {
                let length = literal(2, size(0).max).wrapping_sub(literal(1, 0));
                list_cost(1.0, SizeEstimate::fixed(length))
            }
            CostClass::Range => list_cost(1.0, SizeEstimate::fixed(literal(0, u64::MAX))),
            CostClass::Reverse => list_cost(1.0, size(0)),
            CostClass::Flatten => {
                let depth = if self.operands.len() == 1 { 1 } else { literal(1, u64::MAX) };
                list_cost(depth as f64, size(0))
            }
            CostClass::Distinct => list_cost(2.0, size(0).multiply(size(0))),
            CostClass::Sort | CostClass::SortByKeys => {
                let keys = usize::from(self.overload.cost == CostClass::SortByKeys);
                let is_text = matches!(
                    self.overload.args.get(keys),
                    Some(Type::List(element)) if matches!(**element, Type::String | Type::Bytes)
                );
                let factor = if is_text { 2.0 + STRING_TRAVERSAL_FACTOR } else { 2.0 };
                list_cost(factor, size(keys).multiply(size(keys)))
            }
            _ => cost(self.visited_cost(sizes)),
        }
    }

    /// The cost of looking at all elements of the first operand.
    fn visited_cost(&self, sizes: &Sizes<'e>) -> CostEstimate {
        let Some(element) = self.operands.first().and_then(|list| element_node(sizes, list)) else {
            return traversal(self.size(0));
        };
        let mut each = CostEstimate::fixed(1);
        if matches!(element.type_of, Type::String | Type::Bytes) {
            each = each.add(traversal(element.known_size()));
        }
        self.size(0).multiply(each)
    }

    fn join_cost(&self, sizes: &Sizes<'e>) -> CallEstimate {
        let list = self.size(0);
        let element = self.operands.first().and_then(|list| element_node(sizes, list));
        let mut size = element.map_or(SizeEstimate::default(), |element| list.multiply(element.known_size()));
        if self.operands.len() > 1 {
            let count = SizeEstimate { min: list.min.saturating_sub(1), max: list.max.saturating_sub(1) };
            size = size.add(self.size(1).multiply(count));
        }
        sized(traversal(size), size)
    }

    fn concatenation(&self, sizes: &mut Sizes<'e>) -> CallEstimate {
        join_entry_sizes(sizes, self.id, self.operands);
        let result = self.size(0).add(self.size(1));
        match self.overload.cost {
            CostClass::ConcatenateLists => sized(CostEstimate::fixed(1), result),
            _ => sized(traversal(result), result),
        }
    }

    /// The integer that an operand is written as.
    fn literal_int(&self, sizes: &Sizes<'e>, index: usize) -> Option<i64> {
        match sizes.checked.ast.get(self.operands.get(index)?.expr?) {
            Expr::Literal(Literal::Int(number)) => Some(*number),
            _ => None,
        }
    }

    fn comparison_cost(&self) -> CallEstimate {
        let max = self.size(0).max.min(self.size(1).max);
        cost(traversal(CostEstimate { min: u64::from(max > 0), max }))
    }

    /// The cost of `==` between two values of one of Kubernetes' types.
    fn equality_cost(&self) -> Option<CallEstimate> {
        let [first, second] = self.operands else {
            return None;
        };
        if first.type_of != second.type_of {
            return None;
        }
        match first.type_of.name() {
            "net.IP" | "net.CIDR" | "kubernetes.Quantity" | "kubernetes.Semver" => {
                Some(cost(CostEstimate::fixed(1)))
            }
            "kubernetes.NamedFormat" => Some(cost(traversal(CostEstimate { min: 1, max: MAX_FORMAT_SIZE }))),
            "kubernetes.URL" => {
                let max = second.size.map_or(1, |size| size.max);
                Some(cost(traversal(CostEstimate { min: 1, max })))
            }
            name if name.starts_with("kubernetes.authorization.") => Some(cost(CostEstimate::fixed(1))),
            _ => None,
        }
    }

    fn contains_cost(&self) -> CallEstimate {
        let address = SizeEstimate { min: 4, max: 16 };
        let mut own = traversal(address.add(address));
        let class = self.overload.cost;
        if matches!(class, CostClass::ContainsCidr | CostClass::ContainsCidrText) {
            own = own.add(traversal(address)).add(CostEstimate::fixed(1));
        }
        if matches!(class, CostClass::ContainsIpText | CostClass::ContainsCidrText) {
            own = own.add(traversal(self.size(1)));
        }
        cost(own)
    }

    /// The size of an operand that is computed or declared.
    fn size(&self, index: usize) -> SizeEstimate {
        self.operands.get(index).map_or(SizeEstimate::UNKNOWN, CostNode::known_size)
    }
}

/// Gives a call whose value comes from either of two operands the sizes of the entries of both.
fn join_entry_sizes(sizes: &mut Sizes<'_>, id: ExprId, operands: &[CostNode<'_>]) {
    if let [CostNode { expr: Some(first), .. }, CostNode { expr: Some(second), .. }] = operands
        && let (Some(first), Some(second)) = (sizes.entry_size(*first), sizes.entry_size(*second))
    {
        sizes.set_entry_size(id, first.union(second));
    }
}

/// The elements of a list or map, for their size.
fn element_node<'e>(sizes: &Sizes<'e>, list: &CostNode<'e>) -> Option<CostNode<'e>> {
    let type_of = match &list.type_of {
        Type::List(element) => element.as_ref().clone(),
        Type::Map(entry) => entry.0.clone(),
        Type::Opaque(opaque) => opaque.parameters.first()?.clone(),
        _ => return None,
    };
    Some(CostNode { path: sizes.element_path(list.path), type_of, expr: None, size: None })
}

/// The longest and the shortest result of a replacement.
fn replaced_size(text: SizeEstimate, from: SizeEstimate, to: SizeEstimate) -> SizeEstimate {
    let mut count = SizeEstimate::default();
    let mut kept = SizeEstimate::default();
    if from.min == 0 {
        count.max = text.max.saturating_add(1);
        kept.max = text.max;
    } else if to.max <= from.min {
        kept.max = text.max;
    } else {
        count.max = (text.max as f64 / from.min as f64).ceil() as u64;
    }
    if from.max == 0 {
        count.min = text.min.saturating_add(1);
        kept.min = text.min;
    } else if from.max <= to.min {
        kept.min = text.min;
    } else {
        count.min = (text.min as f64 / from.max as f64).ceil() as u64;
    }
    count.multiply(to).add(kept)
}
