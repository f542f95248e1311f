//! Patches: compute a new value from the current value and a patch.
//!
//! A patch that fails leaves the value unchanged.
//!
//! Kubernetes concept: [updating objects in place](https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/).

mod error;
pub mod json;
pub mod merge;
pub mod shown;
pub mod strategic;

pub use error::{Contradiction, Inapplicable, IndexError, Malformed, Operation, PatchError, Place, TooLarge};

/// Maximum nesting depth of a patched value, the same as for a request body.
const MAX_DEPTH: usize = 128;
