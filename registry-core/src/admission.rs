//! Admission: plug-ins that can change or refuse a write between decoding and storage.
//!
//! Mutating plug-ins run on the decoded object. Validating plug-ins run last, inside the store's retry loop, on the
//! object exactly as it would be written.
//!
//! Kubernetes concept: [admission control](https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/).

use std::sync::Arc;

use crate::api::{DryRun, GroupVersionKind, GroupVersionResource, Object, StatusError};
use crate::context::RequestContext;
use crate::registry::InformerTask;
use crate::rest;
use async_trait::async_trait;

/// Attributes of a write other than the objects. The user and the namespace are in the context.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// The operation.
    pub operation: Operation,
    /// The resource; for a subresource, its parent.
    pub resource: GroupVersionResource,
    /// The subresource; empty for the resource itself.
    pub subresource: &'static str,
    /// The kind of the object in the request.
    pub kind: GroupVersionKind,
    /// The object's name; empty if it is not generated yet, and for collections.
    pub name: &'a str,
    /// Whether this is a dry run.
    pub dry_run: DryRun,
}

/// Kind of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// An object is created.
    Create,
    /// An object is updated.
    Update,
    /// An object is deleted.
    Delete,
    /// A connection to an object is opened (`exec`, `proxy`).
    Connect,
}

/// Common part of all plug-ins: the name by which operators enable and disable them.
pub trait AdmissionPlugin: Send + Sync + 'static {
    /// Returns Kubernetes' name of the plug-in, for example `NamespaceLifecycle`.
    fn name(&self) -> &'static str;

    /// Returns the informers that the plug-in reads from, the first time it is called. The server runs them if the
    /// plug-in is enabled.
    fn informers(&self) -> Vec<InformerTask> {
        Vec::new()
    }
}

/// A plug-in that can change or refuse a write.
#[async_trait]
pub trait MutatingAdmission: AdmissionPlugin {
    /// Admits a write, possibly changing the object. `object` is `None` for deletions, `old` is `None` for creations.
    ///
    /// # Errors
    /// Returns an error to refuse the write.
    async fn admit(
        &self,
        context: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&mut Object>,
        old: Option<&Object>,
    ) -> Result<(), StatusError>;
}

/// A plug-in that can refuse a write.
#[async_trait]
pub trait ValidatingAdmission: AdmissionPlugin {
    /// Validates a write, with the object as it would be stored.
    ///
    /// # Errors
    /// Returns an error to refuse the write.
    async fn validate(
        &self,
        context: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<(), StatusError>;
}

/// All plug-ins, in the order in which they run.
#[derive(Clone, Default)]
pub struct AdmissionChain {
    /// The mutating plug-ins.
    pub mutating: Vec<Arc<dyn MutatingAdmission>>,
    /// The validating plug-ins, which run last.
    pub validating: Vec<Arc<dyn ValidatingAdmission>>,
}

/// The validating plug-ins, bound to one request. The registry calls this.
pub struct RequestValidation<'a> {
    chain: &'a AdmissionChain,
    attributes: Attributes<'a>,
}

// === impl AdmissionChain ===

impl AdmissionChain {
    /// Runs all mutating plug-ins, until the first refusal.
    ///
    /// # Errors
    /// Fails if a plug-in refuses the write.
    pub async fn admit(
        &self,
        context: &RequestContext,
        attributes: &Attributes<'_>,
        mut object: Option<&mut Object>,
        old: Option<&Object>,
    ) -> Result<(), StatusError> {
        for plugin in &self.mutating {
            plugin.admit(context, attributes, object.as_deref_mut(), old).await?;
        }
        Ok(())
    }

    /// Keeps only the plug-ins whose names satisfy the predicate.
    pub fn retain(&mut self, keeps: impl Fn(&str) -> bool) {
        self.mutating.retain(|plugin| keeps(plugin.name()));
        self.validating.retain(|plugin| keeps(plugin.name()));
    }

    /// Returns the informers of all plug-ins, the first time it is called.
    pub fn informers(&self) -> Vec<InformerTask> {
        let mutating = self.mutating.iter().flat_map(|plugin| plugin.informers());
        mutating.chain(self.validating.iter().flat_map(|plugin| plugin.informers())).collect()
    }

    /// Returns the names of all plug-ins, in the order in which they run.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        let mutating = self.mutating.iter().map(|plugin| plugin.name());
        mutating.chain(self.validating.iter().map(|plugin| plugin.name()))
    }

    /// Returns the validating plug-ins, bound to a request with these attributes.
    pub fn validation<'a>(&'a self, attributes: Attributes<'a>) -> RequestValidation<'a> {
        RequestValidation { chain: self, attributes }
    }
}

impl std::fmt::Debug for AdmissionChain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

// === impl RequestValidation ===

#[async_trait]
impl rest::ValidateObject for RequestValidation<'_> {
    async fn validate(
        &self,
        context: &RequestContext,
        new: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<(), StatusError> {
        // Validators see an update that creates the object as a creation.
        let operation = match (self.attributes.operation, old) {
            (Operation::Update, None) => Operation::Create,
            (operation, _) => operation,
        };
        let attributes = Attributes { operation, ..self.attributes };
        for plugin in &self.chain.validating {
            plugin.validate(context, &attributes, new, old).await?;
        }
        Ok(())
    }
}
