//! The costs of evaluations: their least and greatest cost, estimated from declared sizes as cel-go and Kubernetes estimate
//! it, and the cost of a call when it is evaluated.
//!
//! Each function has a class of costs, the last word of its line in `declarations/overloads.txt`. Both formulas of a class are in
//! one module of `calls`. The tables in `tests` have functions with their costs.
//!
//! | module | contents |
//! |---|---|
//! | `estimate` | the estimated costs of expressions, from the costs of their parts |
//! | `calls` | the costs of calls by their class: estimated, and when they are evaluated |
//! | `sizes` | the sizes that expressions can have |

use super::checker::Checked;
use super::types::DeclType;

mod calls;
mod estimate;
mod sizes;
#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test ends at what is missing")]
mod tests;

/// A cost range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CostEstimate {
    /// The least it costs.
    pub min: u64,
    /// The most it costs.
    pub max: u64,
}

/// A size range; it has the same arithmetic.
pub(crate) type SizeEstimate = CostEstimate;

/// The cost of looking at a character, as a part of 1.
pub(crate) const STRING_TRAVERSAL_FACTOR: f64 = 0.1;

/// Estimates the cost of a checked expression. `root` is the declared type that sizes are taken from.
pub(crate) fn estimate(checked: &Checked, root: Option<&DeclType>) -> CostEstimate {
    estimate::Estimator::new(checked, root).cost(checked.root)
}

/// A number times a factor, rounded up.
pub(crate) fn ceil_factor(number: u64, factor: f64) -> u64 {
    let product = (number as f64 * factor).ceil();
    if product >= 18_446_744_073_709_551_615.0 { u64::MAX } else { product as u64 }
}

// === impl CostEstimate ===

impl CostEstimate {
    /// Nothing is known.
    pub(crate) const UNKNOWN: Self = Self { min: 0, max: u64::MAX };

    pub(crate) const fn fixed(cost: u64) -> Self {
        Self { min: cost, max: cost }
    }

    pub(crate) fn add(self, other: Self) -> Self {
        Self { min: self.min.saturating_add(other.min), max: self.max.saturating_add(other.max) }
    }

    pub(crate) fn multiply(self, other: Self) -> Self {
        Self { min: self.min.saturating_mul(other.min), max: self.max.saturating_mul(other.max) }
    }

    pub(crate) fn factor(self, factor: f64) -> Self {
        Self { min: ceil_factor(self.min, factor), max: ceil_factor(self.max, factor) }
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self { min: self.min.min(other.min), max: self.max.max(other.max) }
    }
}
