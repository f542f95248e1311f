//! Limits of the cost of evaluations.
//!
//! Kubernetes' costs are charged as Kubernetes charges them. They leave out much: comparing and printing costs nothing however
//! large values are, and values that share their parts are exponentially larger than the memory they take. All work is
//! therefore counted in addition, in ticks, which are taken from the budget of the request.

use std::cell::Cell;

use crate::evaluation_error::EvaluationError;
use registry_meta::budget::{Budget, Exhausted};

/// Maximum cost of one evaluation, as Kubernetes limits it.
pub const PER_CALL_LIMIT: u64 = 1_000_000;
/// Maximum cost of all evaluations for one object, as Kubernetes limits it.
pub const RUNTIME_COST_BUDGET: u64 = 10_000_000;
/// Number of ticks of a step of the request's budget.
const TICKS_PER_STEP: u64 = 4;
/// Number of ticks after which they are taken from the request's budget.
const TICKS_PER_CHECK: u64 = 256;
/// Number of parts of values that one evaluation may visit to compare, print and copy them. No object has as many.
const MAX_VISITS: u64 = 1_000_000;
/// Number of further parts for each unit of cost.
const VISITS_PER_COST: u64 = 100;
/// Number of bytes of a text that are visited as a part.
pub(crate) const BYTES_PER_VISIT: usize = 64;

/// Maximum length in bytes of a text that a function makes.
pub(crate) const MAX_TEXT_BYTES: usize = 16 << 20;

/// The costs that evaluations may have, and those they had.
#[derive(Clone, Debug)]
pub struct CostBudget<'b> {
    limit: u64,
    spent: Cell<u64>,
    ticks: Cell<u64>,
    visits: Cell<u64>,
    /// The budget of the request; `None` for expressions of the configuration, which no client writes.
    request: Option<&'b Budget>,
}

// === impl CostBudget ===

impl Default for CostBudget<'_> {
    fn default() -> Self {
        Self::new(PER_CALL_LIMIT)
    }
}

impl<'b> CostBudget<'b> {
    /// A budget for one evaluation.
    pub fn new(limit: u64) -> Self {
        Self { limit, spent: Cell::new(0), ticks: Cell::new(0), visits: Cell::new(0), request: None }
    }

    /// Takes the work from the budget of a request.
    #[must_use]
    pub fn within(mut self, request: &'b Budget) -> Self {
        self.request = Some(request);
        self
    }

    /// The cost so far.
    pub fn spent(&self) -> u64 {
        self.spent.get()
    }

    /// A budget of the same request for another evaluation.
    pub(crate) fn another(&self) -> Self {
        Self { request: self.request, ..Self::default() }
    }

    pub(crate) fn charge(&self, cost: u64) -> Result<(), Box<EvaluationError>> {
        self.spent.set(self.spent.get().saturating_add(cost));
        if self.spent.get() > self.limit {
            return Err(Box::new(EvaluationError::CostLimitExceeded));
        }
        Ok(())
    }

    /// Gives back what was charged for a part that costs nothing where it is.
    pub(crate) fn refund(&self, cost: u64) {
        self.spent.set(self.spent.get().saturating_sub(cost));
    }

    /// Charges 1 for every thousand units of work that Kubernetes' costs leave out.
    pub(crate) fn work(&self, units: u64) -> Result<(), Box<EvaluationError>> {
        self.charge(units / 1_000)?;
        self.tick(units)
    }

    /// Counts work on one or more small values.
    #[inline]
    pub(crate) fn tick(&self, ticks: u64) -> Result<(), Box<EvaluationError>> {
        let counted = self.ticks.get().saturating_add(ticks);
        if counted < TICKS_PER_CHECK {
            self.ticks.set(counted);
            return Ok(());
        }
        self.ticks.set(0);
        self.take(counted / TICKS_PER_STEP)
    }

    #[cold]
    fn take(&self, steps: u64) -> Result<(), Box<EvaluationError>> {
        let Some(request) = self.request else { return Ok(()) };
        if !request.stays_for(steps) {
            return Err(Box::new(EvaluationError::Interrupted));
        }
        request.take_steps(steps).map_err(|exhausted| Box::new(exhausted.into()))
    }

    /// Counts parts of values that are compared, printed or copied. The parts that values share count each time.
    #[inline]
    pub(crate) fn visit(&self, parts: usize) -> Result<(), Box<EvaluationError>> {
        let visits = self.visits.get().saturating_add(parts as u64);
        self.visits.set(visits);
        if visits > MAX_VISITS && visits - MAX_VISITS > self.spent.get().saturating_mul(VISITS_PER_COST) {
            return Err(Box::new(EvaluationError::CostLimitExceeded));
        }
        self.tick(parts as u64)
    }

    /// Counts the work on a text of this length.
    #[inline]
    pub(crate) fn visit_text(&self, bytes: usize) -> Result<(), Box<EvaluationError>> {
        self.tick((bytes / BYTES_PER_VISIT) as u64)
    }

    /// Takes memory that is kept for as long as the request.
    pub(crate) fn take_bytes(&self, bytes: usize) -> Result<(), Box<EvaluationError>> {
        match self.request {
            Some(request) => request.take_bytes(bytes).map_err(|exhausted| Box::new(exhausted.into())),
            None => Ok(()),
        }
    }

    /// Calls a function with the budget of the request.
    pub(crate) fn with_request<T>(&self, call: impl FnOnce(&Budget) -> T) -> T {
        match self.request {
            Some(request) => call(request),
            None => call(&Budget::default()),
        }
    }
}

impl From<Exhausted> for EvaluationError {
    fn from(exhausted: Exhausted) -> Self {
        match exhausted {
            Exhausted::Bytes | Exhausted::Steps => Self::CostLimitExceeded,
            Exhausted::Deadline | Exhausted::Abandoned => Self::Interrupted,
        }
    }
}

/// Refuses to make a text that is longer than the limit.
pub(crate) fn check_length(bytes: usize) -> Result<(), Box<EvaluationError>> {
    if bytes > MAX_TEXT_BYTES {
        return Err(Box::new(EvaluationError::CostLimitExceeded));
    }
    Ok(())
}
