//! Patches: from a present value and a patch to a new value.
//!
//! A patch that cannot be applied leaves the value as it was.
//!
//! Kubernetes concept: [updating objects in place](https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/).

pub mod json;
pub mod merge;
pub mod shown;
pub mod strategic;

/// A patch that is malformed, or that cannot be applied to this value. None is cured by trying again.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The patch itself makes no sense: 400.
    #[error("{0}")]
    Malformed(String),
    /// It makes sense, but not for this value (a path that is not there, a failed `test`): 422.
    #[error("{0}")]
    Inapplicable(String),
    /// A strategic merge patch contradicts itself or the lists it is about. Kubernetes answers 500 without a
    /// reason, and this text.
    #[error("{0}")]
    Contradictory(String),
    /// It has more operations, or grows the value more, than is allowed: 413.
    #[error("{0}")]
    TooLarge(String),
}

/// How deep a patched value may nest: what a request's body may.
const MAX_DEPTH: usize = 128;
