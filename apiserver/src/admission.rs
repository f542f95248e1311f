//! Admission as the server runs it: the engine's chain, and the plug-ins that are not specific to one
//! resource.
//!
//! Kubernetes concept:
//! [admission control](https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/).

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
