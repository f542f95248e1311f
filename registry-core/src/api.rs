//! Types shared by all requests and objects: identities, metadata, selectors, options and the `Status` errors that
//! clients receive.
//!
//! Kubernetes concept: [API conventions](https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md).

pub mod identity;
pub mod json_path;
pub mod object;
pub mod options;
pub mod selector;
pub mod status;
pub mod time;
pub mod validation;
mod version_priority;

pub use identity::{GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource, Scope};
pub use object::Object;
pub use options::{
    CreateOptions, DeleteOptions, DryRun, FieldValidation, GetOptions, ListOptions, PatchOptions,
    Preconditions, PropagationPolicy, ResourceVersionMatch, UpdateOptions,
};
pub use status::{Reason, StatusCause, StatusError};
pub use validation::{ErrorList, FieldError, FieldPath};
pub use version_priority::compare_versions;
