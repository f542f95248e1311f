//! Admission: plug-ins that can change or refuse a write between decoding and storage.
//!
//! | module | contents |
//! |---|---|
//! | `attributes` | the attributes of a write that plug-ins decide by |
//! | `chain` | the plug-ins of a server, and their order |
//! | `kinds` | the served kinds, for plug-ins that work on any kind |
//! | `reinvocation` | a second run of the mutating plug-ins |
//! | `write` | a write as plug-ins receive it |
//!
//! Mutating plug-ins run on the decoded object, or, for deletions, on the stored one. Validating plug-ins run last, inside
//! the store's retry loop, on the object exactly as it would be written.
//!
//! Kubernetes concept: [admission control](https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/).

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;

use crate::api::StatusError;
use crate::context::RequestContext;
use crate::registry::InformerTask;

mod attributes;
mod chain;
mod kinds;
mod reinvocation;
mod write;

pub use attributes::{Attributes, Operation, OperationOptions};
pub use chain::{AdmissionChain, CreationCheck, RequestValidation};
pub use kinds::{NoKinds, ServedKinds};
pub use reinvocation::Reinvocation;
pub use write::{ObjectWrite, ObjectWriteMut};

/// Common part of all plug-ins: the name by which operators enable and disable them.
pub trait AdmissionPlugin: Send + Sync + 'static {
    /// Returns Kubernetes' name of the plug-in, for example `NamespaceLifecycle`.
    fn name(&self) -> &'static str;

    /// Returns the informers that the plug-in reads from, the first time it is called. The server runs them if the
    /// plug-in is enabled.
    fn informers(&self) -> Vec<InformerTask> {
        Vec::new()
    }

    /// Returns the plug-in's work beside requests, the first time it is called. The server runs it, if the plug-in is
    /// enabled, until it stops.
    fn background(&self, _kinds: &Arc<dyn ServedKinds>) -> Option<BoxFuture<'static, ()>> {
        None
    }
}

/// A plug-in that can change or refuse a write.
#[async_trait]
pub trait MutatingAdmission: AdmissionPlugin {
    /// Admits a write, possibly changing the object.
    ///
    /// # Errors
    /// Returns an error to refuse the write.
    async fn admit(&self, context: &RequestContext, write: ObjectWriteMut<'_>) -> Result<(), StatusError>;
}

/// A plug-in that can refuse a write.
#[async_trait]
pub trait ValidatingAdmission: AdmissionPlugin {
    /// Validates a write, with the object as it would be stored.
    ///
    /// # Errors
    /// Returns an error to refuse the write.
    async fn validate(&self, context: &RequestContext, write: ObjectWrite<'_>) -> Result<(), StatusError>;
}
