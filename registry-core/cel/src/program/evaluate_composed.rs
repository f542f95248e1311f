//! Evaluation of expressions with composited variables, which are computed when they are selected first, and once.

use super::composed::{Composed, Variable};
use super::{Activation, Program};
use crate::budget::CostBudget;
use crate::syntax::ast::Name;
use crate::value::{Evaluated, EvaluationError, Value, fail};
use registry_meta::budget::Budget;

/// The budget for all expressions of a policy is spent. Not retryable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("validation failed due to running out of cost budget, no further validation rules will be run")]
pub struct OutOfBudget;

// === impl Composed: evaluation ===

impl<'a> Composed<'a> {
    /// The value of a variable, computed within a budget if it is not known yet.
    pub(super) fn value(
        &self,
        name: &Name,
        activation: &Activation<'a>,
        budget: &CostBudget<'_>,
    ) -> Evaluated<'a> {
        let variables = self.variables;
        let Some(place) = variables.places.get(name).copied() else {
            return fail(format!("no such key: {name}"));
        };
        let kept = self.values.borrow().get(place).cloned().flatten();
        if let Some(value) = kept {
            return value;
        }
        let Some(variable) = variables.variables.get(place) else {
            return fail(format!("no such key: {name}"));
        };
        let value = self.compute(variable, activation, budget);
        if let Some(kept) = self.values.borrow_mut().get_mut(place) {
            *kept = Some(value.clone());
        }
        value
    }

    fn compute(
        &self,
        variable: &'a Variable,
        activation: &Activation<'a>,
        outer: &CostBudget<'_>,
    ) -> Evaluated<'a> {
        let name = &variable.name;
        let program = match &variable.program {
            Ok(program) => program,
            Err(failure) => return Err(Box::new(failure.clone())),
        };
        // The evaluation fails as a whole once its budget is spent: no variable needs to be computed.
        if self.cost.get() > self.limit.get() {
            return Err(Box::new(EvaluationError::CostLimitExceeded));
        }
        let budget = outer.another();
        let value = program.evaluate(activation, &budget);
        self.cost.set(self.cost.get().saturating_add(budget.spent()));
        value.or_else(|error| match error {
            EvaluationError::Interrupted => Err(Box::new(error)),
            error => fail(format!("composited variable \"{name}\" fails to evaluate: {error}")),
        })
    }
}

// === impl Program: several expressions ===

impl Program {
    /// Evaluates one of several expressions that share a limit of cost. Takes the cost of the expression, and of the
    /// variables that were computed for it, from the remaining cost. The work is taken from the budget of the request.
    ///
    /// # Errors
    /// Fails if more is spent than remains.
    pub fn evaluate_within<'a>(
        &'a self,
        activation: &Activation<'a>,
        remaining: &mut u64,
        request: &Budget,
    ) -> Result<Result<Value<'a>, EvaluationError>, OutOfBudget> {
        let composed = activation.composed();
        if let Some(composed) = composed {
            composed.cost.set(0);
            composed.limit.set(*remaining);
        }
        let budget = CostBudget::default().within(request);
        let result = self.evaluate(activation, &budget);
        let of_variables = composed.map_or(0, |composed| composed.cost.get());
        let spent = of_variables.saturating_add(budget.spent());
        *remaining = remaining.checked_sub(spent).ok_or(OutOfBudget)?;
        Ok(result)
    }
}
