//! Admission: what may change or refuse a write between decoding and storage.
//!
//! Mutating plug-ins run on the decoded object; validating ones have the last word, inside the store's retry,
//! with the object exactly as it would be written.
//!
//! Kubernetes concept: [admission control](https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/).

use std::sync::Arc;

use crate::api::{DryRun, GroupVersionKind, GroupVersionResource, Object, StatusError};
use crate::context::RequestContext;
use crate::rest;
use async_trait::async_trait;

/// What is about to happen, beside the objects themselves. Who asks, and in which namespace, is in the context.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// What is done.
    pub operation: Operation,
    /// The resource (of a subresource: its parent).
    pub resource: GroupVersionResource,
    /// The subresource; empty for the resource itself.
    pub subresource: &'static str,
    /// The kind of the object in the request.
    pub kind: GroupVersionKind,
    /// The object's name; empty when it is yet to be generated, and for collections.
    pub name: &'a str,
    /// Whether nothing will be stored.
    pub dry_run: DryRun,
}

/// What a write does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A new object.
    Create,
    /// A changed object.
    Update,
    /// An object's end.
    Delete,
    /// A connection to an object (`exec`, `proxy`).
    Connect,
}

/// What every plug-in has: the name by which operators switch it on and off.
pub trait AdmissionPlugin: Send + Sync + 'static {
    /// Kubernetes' name of the plug-in, for example `NamespaceLifecycle`.
    fn name(&self) -> &'static str;
}

/// A plug-in that may change what is written, or refuse it.
#[async_trait]
pub trait MutatingAdmission: AdmissionPlugin {
    /// Looks at a write. There is no `object` when one is deleted, and no `old` when one is created.
    ///
    /// # Errors
    /// Refuses the write.
    async fn admit(
        &self,
        context: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&mut Object>,
        old: Option<&Object>,
    ) -> Result<(), StatusError>;
}

/// A plug-in that may refuse what is written.
#[async_trait]
pub trait ValidatingAdmission: AdmissionPlugin {
    /// Looks at a write, with the object as it would be stored.
    ///
    /// # Errors
    /// Refuses the write.
    async fn validate(
        &self,
        context: &RequestContext,
        attributes: &Attributes<'_>,
        object: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<(), StatusError>;
}

/// All plug-ins, in the order they are asked.
#[derive(Clone, Default)]
pub struct AdmissionChain {
    /// Those that may change the object.
    pub mutating: Vec<Arc<dyn MutatingAdmission>>,
    /// Those that have the last word.
    pub validating: Vec<Arc<dyn ValidatingAdmission>>,
}

/// The validating part of the chain for one request: what the registry calls.
pub struct RequestValidation<'a> {
    chain: &'a AdmissionChain,
    attributes: Attributes<'a>,
}

// === impl AdmissionChain ===

impl AdmissionChain {
    /// Asks every mutating plug-in; the first refusal ends it.
    ///
    /// # Errors
    /// A plug-in refused.
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

    /// Keeps the plug-ins whose names this lets pass.
    pub fn retain(&mut self, keeps: impl Fn(&str) -> bool) {
        self.mutating.retain(|plugin| keeps(plugin.name()));
        self.validating.retain(|plugin| keeps(plugin.name()));
    }

    /// The names of all plug-ins, in the order they are asked.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        let mutating = self.mutating.iter().map(|plugin| plugin.name());
        mutating.chain(self.validating.iter().map(|plugin| plugin.name()))
    }

    /// The validating part, for a request with these attributes.
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
        // An update that creates is a creation to its validators.
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
