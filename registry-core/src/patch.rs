//! Patches: from a present value and a patch to a new value.
//!
//! Kubernetes concept: [updating objects in place](https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/).

pub mod json;
pub mod merge;
pub mod strategic;

/// A patch that is malformed, or that cannot be applied to this value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The patch itself makes no sense: 400.
    #[error("{0}")]
    Malformed(String),
    /// It makes sense, but not for this value (a path that is not there, a failed `test`): 422.
    #[error("{0}")]
    Inapplicable(String),
    /// It has more operations, or grows the value more, than is allowed: 413.
    #[error("{0}")]
    TooLarge(String),
}
