//! Admission as the server runs it: the engine's chain, and the plug-ins that are not specific to one
//! resource.
//!
//! Kubernetes concept:
//! [admission control](https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/).

#[cfg_attr(not(test), expect(dead_code, reason = "webhooks, which are added next, use it"))]
mod conditions;
mod expressions;
mod lifecycle;
#[expect(dead_code, reason = "webhooks, which are added next, use it")]
mod matching;
mod order;
mod policies;

pub use lifecycle::NamespaceLifecycle;
pub use order::{is_on_by_default, ordered_names};
pub(crate) use policies::add_to as add_policies;
pub use registry_core::admission::{
    AdmissionChain, AdmissionPlugin, Attributes, MutatingAdmission, Operation, OperationOptions,
    RequestValidation, ServedKinds, ValidatingAdmission,
};
