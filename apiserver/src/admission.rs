//! Admission as the server runs it: the engine's chain, and the plug-ins that are not specific to one
//! resource.
//!
//! | module | contents |
//! |---|---|
//! | `lifecycle` | the plug-in `NamespaceLifecycle` |
//! | `policies` | `ValidatingAdmissionPolicy` and `MutatingAdmissionPolicy` |
//! | `webhooks` | `ValidatingAdmissionWebhook` and `MutatingAdmissionWebhook` |
//! | `manifests` | configurations of webhooks, and policies, in files |
//! | `conditions`, `expressions` | match conditions, and the values that expressions are evaluated with |
//! | `matching` | which writes webhooks and policies apply to |
//!
//! The traits and the chain are in [`registry_core::admission`], the plug-ins for specific kinds in [`resources::admission`].
//!
//! Kubernetes concept:
//! [admission control](https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/).

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use registry_core::api::StatusError;

mod conditions;
mod expressions;
mod lifecycle;
pub mod manifests;
mod matching;
mod policies;
#[cfg(test)]
mod testing;
pub(crate) mod webhooks;

pub use lifecycle::NamespaceLifecycle;
pub(crate) use lifecycle::held_until;
pub use policies::PolicyCheck;
pub(crate) use policies::{PolicySetup, add_to as add_policies};
pub use registry_core::admission::{
    AdmissionChain, AdmissionPlugin, Attributes, MutatingAdmission, ObjectWrite, ObjectWriteMut, Operation,
    OperationOptions, RequestValidation, ServedKinds, ValidatingAdmission,
};

/// Maximum time for which a write waits for the first lists of policies, bindings or configurations of webhooks.
const SYNC_TIMEOUT: Duration = Duration::from_secs(10);

/// Waits until informers have `synced`, and returns what they have made known.
///
/// # Errors
/// 403 if it does not become known in time.
async fn first_known<T>(
    known: &ArcSwapOption<T>,
    synced: impl Future,
    attributes: &Attributes<'_>,
) -> Result<Arc<T>, StatusError> {
    let _ = tokio::time::timeout(SYNC_TIMEOUT, synced).await;
    known.load_full().ok_or_else(|| {
        let why = "not yet ready to handle request";
        StatusError::forbidden(attributes.resource.group_resource(), attributes.name, why)
    })
}
