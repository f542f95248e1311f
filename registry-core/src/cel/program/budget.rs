//! What evaluations may cost.

use std::time::Instant;

use crate::cel::value::EvaluationError;

/// Maximum cost of one evaluation, as Kubernetes limits it.
pub const PER_CALL_LIMIT: u64 = 1_000_000;
/// Maximum cost of all evaluations for one object, as Kubernetes limits it.
pub const RUNTIME_COST_BUDGET: u64 = 10_000_000;
/// Number of comprehension steps after which the deadline is looked at.
const STEPS_BETWEEN_CHECKS: u32 = 100;

/// The costs that evaluations may have, and those they had.
#[derive(Clone, Debug)]
pub struct CostBudget {
    limit: u64,
    spent: u64,
    deadline: Option<Instant>,
    steps: u32,
}

// === impl CostBudget ===

impl Default for CostBudget {
    fn default() -> Self {
        Self::new(PER_CALL_LIMIT)
    }
}

impl CostBudget {
    /// A budget for one evaluation.
    pub fn new(limit: u64) -> Self {
        Self { limit, spent: 0, deadline: None, steps: 0 }
    }

    /// Ends evaluations at a point in time.
    #[must_use]
    pub fn with_deadline(mut self, deadline: Instant) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// The cost so far.
    pub fn spent(&self) -> u64 {
        self.spent
    }

    pub(crate) fn charge(&mut self, cost: u64) -> Result<(), Box<EvaluationError>> {
        self.spent = self.spent.saturating_add(cost);
        if self.spent > self.limit {
            return Err(Box::new(EvaluationError::CostLimitExceeded));
        }
        Ok(())
    }

    /// Gives back what was charged for a part that costs nothing where it is.
    pub(crate) fn refund(&mut self, cost: u64) {
        self.spent = self.spent.saturating_sub(cost);
    }

    /// Charges 1 for every thousand units of work that Kubernetes' costs leave out.
    pub(crate) fn work(&mut self, units: u64) -> Result<(), Box<EvaluationError>> {
        self.charge(units / 1_000)
    }

    /// Counts a step of a comprehension.
    pub(crate) fn step(&mut self) -> Result<(), Box<EvaluationError>> {
        self.steps += 1;
        if self.steps < STEPS_BETWEEN_CHECKS {
            return Ok(());
        }
        self.steps = 0;
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(Box::new(EvaluationError::Interrupted)),
            _ => Ok(()),
        }
    }
}
