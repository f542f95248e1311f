//! Admission as the server runs it: the engine's chain, and the plug-ins that are not specific to one
//! resource.
//!
//! Kubernetes concept:
//! [admission control](https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/).

mod lifecycle;

pub use lifecycle::NamespaceLifecycle;
pub use registry_core::admission::{
    AdmissionChain, AdmissionPlugin, Attributes, MutatingAdmission, Operation, RequestValidation,
    ValidatingAdmission,
};
