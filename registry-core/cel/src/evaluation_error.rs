//! The error of an evaluation.

/// The reason for which an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluationError {
    /// The expression asks for something that its values do not have. Not retryable with the same values.
    #[error("{0}")]
    Failed(String),
    /// The cost limit is exceeded. Not retryable with the same limit.
    #[error("operation cancelled: actual cost limit exceeded")]
    CostLimitExceeded,
    /// The deadline has passed. Retryable.
    #[error("operation interrupted")]
    Interrupted,
}
