//! Patches: compute a new value from the current value and a patch.
//!
//! A patch that fails leaves the value unchanged.
//!
//! Kubernetes concept: [updating objects in place](https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/).

use registry_meta::budget::Exhausted;

pub mod json;
pub mod merge;
pub mod shown;
pub mod strategic;

/// Error of a patch. Not retryable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The patch is malformed: 400.
    #[error("{0}")]
    Malformed(String),
    /// The patch is well-formed but does not apply to this value (a missing path): 422.
    #[error("{0}")]
    Inapplicable(String),
    /// A `test` of the patch fails: 422.
    #[error("{0}")]
    TestFailed(String),
    /// A strategic merge patch is inconsistent with itself or with the lists that it changes. Kubernetes returns a 500
    /// without a reason, with this text.
    #[error("{0}")]
    Contradictory(String),
    /// The patch has more operations, or enlarges the value more, than allowed: 413.
    #[error("{0}")]
    TooLarge(String),
}

impl From<Exhausted> for PatchError {
    fn from(exhausted: Exhausted) -> Self {
        Self::TooLarge(exhausted.to_string())
    }
}

/// Maximum nesting depth of a patched value, the same as for a request body.
const MAX_DEPTH: usize = 128;
