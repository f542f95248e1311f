//! The costs of calls by their class: estimated from the sizes that operands can have, and computed from their real sizes when
//! a call is evaluated. `declarations/overloads.txt` names the class of each function; the two formulas of a class stand in
//! the same module, one below the other.
//!
//! | module | classes |
//! |---|---|
//! | `operators` | comparisons, concatenations, `in` |
//! | `texts` | functions of texts and bytes |
//! | `lists` | functions of lists |
//! | `networks` | functions of networks |
//!
//! Those that are left, such as `&&` and authorization checks, are in this file.

use super::sizes::{CostNode, Sizes};
use super::{CostEstimate, STRING_TRAVERSAL_FACTOR, SizeEstimate, ceil_factor};
use crate::budget::CostBudget;
use crate::declarations::{CostClass, Library, Overload};
use crate::syntax::ast::{Expr, ExprId, Literal};
use crate::types::Type;
use crate::value::{EvaluationError, Value};

mod lists;
mod networks;
mod operators;
mod texts;

/// The cost of an authorization check, so that an expression can make two.
const CHECK_COST: u64 = 350_000;

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

/// The operands of a call that is evaluated, and its result if that is known.
#[derive(Clone, Copy)]
struct Evaluated<'c, 'v> {
    args: &'c [Value<'v>],
    result: Option<&'c Value<'v>>,
}

fn cost(cost: CostEstimate) -> CallEstimate {
    CallEstimate { cost, size: None }
}

fn sized(cost: CostEstimate, size: SizeEstimate) -> CallEstimate {
    CallEstimate { cost, size: Some(size) }
}

/// Returns the estimated cost of traversing a text.
fn traversal(size: SizeEstimate) -> CostEstimate {
    size.factor(STRING_TRAVERSAL_FACTOR)
}

/// Returns the cost of traversing a text of this length.
fn traversed(length: u64) -> u64 {
    ceil_factor(length, STRING_TRAVERSAL_FACTOR)
}

/// Returns the cost of parsing a selector with a length.
fn selector_cost(length: u64) -> u64 {
    let requirements = ceil_factor(length, 0.5);
    10_u64.saturating_add(traversed(length)).saturating_add(ceil_factor(requirements, 50.0))
}

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
        match self {
            Self::Text(class) => !class.depends_on_result(),
            Self::List(class) => !class.depends_on_result(),
            _ => true,
        }
    }

    /// The cost of an operator.
    pub(crate) fn compute_operator(self, first: &Value<'_>, second: &Value<'_>) -> u64 {
        match self {
            Self::Operator(class) => class.compute(first, second),
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
        let call = Evaluated { args, result };
        Ok(match self {
            Self::Check => CHECK_COST,
            Self::Selector => selector_cost(call.size(1)),
            Self::Text(class) => class.compute(call),
            Self::List(class) => class.compute(call, budget)?,
            Self::Network(class) => class.compute(call),
            Self::Operator(_) | Self::One | Self::Logic | Self::Conditional => match args {
                [first, second, ..] => self.compute_operator(first, second),
                _ => 1,
            },
        })
    }
}

// === impl Evaluated ===

impl Evaluated<'_, '_> {
    /// The size of an operand.
    fn size(self, index: usize) -> u64 {
        self.args.get(index).map_or(1, Value::cost_size)
    }

    /// The size of the result.
    fn result_size(self) -> u64 {
        self.result.map_or(1, Value::cost_size)
    }
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
        match self.overload.cost {
            CostClass::One | CostClass::Logic | CostClass::Conditional => cost(CostEstimate::fixed(1)),
            CostClass::Check => cost(CostEstimate::fixed(CHECK_COST)),
            CostClass::Selector => {
                let SizeEstimate { min, max } = self.size(1);
                cost(CostEstimate { min: selector_cost(min), max: selector_cost(max) })
            }
            CostClass::Operator(class) => class.estimate(self, sizes),
            CostClass::Text(class) => class.estimate(self, sizes),
            CostClass::List(class) => class.estimate(self, sizes),
            CostClass::Network(class) => class.estimate(self),
        }
    }

    /// The integer that an operand is written as.
    fn literal_int(&self, sizes: &Sizes<'e>, index: usize) -> Option<i64> {
        match sizes.checked.ast.get(self.operands.get(index)?.expr?) {
            Expr::Literal(Literal::Int(number)) => Some(*number),
            _ => None,
        }
    }

    /// The size of an operand that is computed or declared.
    fn size(&self, index: usize) -> SizeEstimate {
        self.operands.get(index).map_or(SizeEstimate::UNKNOWN, CostNode::known_size)
    }

    /// The elements of the first operand, a list or a map, for their size.
    fn element(&self, sizes: &Sizes<'e>) -> Option<CostNode<'e>> {
        let list = self.operands.first()?;
        let type_of = match &list.type_of {
            Type::List(element) => element.as_ref().clone(),
            Type::Map(entry) => entry.0.clone(),
            Type::Opaque(opaque) => opaque.parameters.first()?.clone(),
            _ => return None,
        };
        Some(CostNode { path: sizes.element_path(list.path), type_of, expr: None, size: None })
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
