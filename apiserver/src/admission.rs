//! Admission as the server runs it: the engine's chain, and the plug-ins that are not specific to one
//! resource.
//!
//! Kubernetes concept:
//! [admission control](https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/).

use std::time::Duration;

use registry_core::api::StatusError;

mod conditions;
mod expressions;
mod lifecycle;
mod matching;
mod policies;
pub(crate) mod webhooks;

pub use lifecycle::NamespaceLifecycle;
pub(crate) use lifecycle::held_until;
pub use policies::PolicyCheck;
pub(crate) use policies::add_to as add_policies;
pub use registry_core::admission::{
    AdmissionChain, AdmissionPlugin, Attributes, MutatingAdmission, ObjectWrite, ObjectWriteMut, Operation,
    OperationOptions, RequestValidation, ServedKinds, ValidatingAdmission,
};

/// Maximum time for which a write waits for the first lists of policies, bindings or configurations of webhooks.
const SYNC_TIMEOUT: Duration = Duration::from_secs(10);

/// Returns the refusal of a write whose plug-in does not know its policies, bindings or configurations yet.
fn not_ready(attributes: &Attributes<'_>) -> StatusError {
    let why = "not yet ready to handle request";
    StatusError::forbidden(attributes.resource.group_resource(), attributes.name, why)
}
