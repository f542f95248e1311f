//! A policy that is given, and follows nothing.

use std::sync::Arc;

use futures::FutureExt as _;
use registry_core::RequestContext;
use registry_core::admission::Operation;
use registry_core::api::{GroupVersionKind, GroupVersionResource, Object};
use registry_core::metrics::MetricsError;
use registry_core::rest::access::{AccessReviewer, NoAccess};

use crate::admission::Attributes;
use crate::admission::expressions::{Subject, Write};
use crate::metrics::{AdmissionMetrics, ServerMetrics};

use super::definitions::Policy;
use super::validating::Validator;

/// A validating policy, for benches and tests.
pub struct PolicyCheck {
    policy: Policy<Validator>,
    metrics: AdmissionMetrics,
    access: Arc<dyn AccessReviewer>,
}

const RESOURCE: GroupVersionResource =
    GroupVersionResource { group: "apps", version: "v1", resource: "deployments" };
const KIND: GroupVersionKind = GroupVersionKind { group: "apps", version: "v1", kind: "Deployment" };

// === impl PolicyCheck ===

impl PolicyCheck {
    /// Compiles a `ValidatingAdmissionPolicy`.
    ///
    /// # Errors
    /// Fails if metrics have the same name.
    pub fn new(policy: &Object) -> Result<Self, MetricsError> {
        let metrics = ServerMetrics::new()?.admission().clone();
        let policy = Policy::new(policy, Validator::compile);
        Ok(Self { policy, metrics, access: Arc::new(NoAccess) })
    }

    /// Returns the first reason why the creation of this Deployment is refused. Expressions cannot ask an authorizer.
    pub fn first_denial(&self, object: &Object) -> Option<String> {
        let context = RequestContext::system("default");
        let attributes = Attributes::new(Operation::Create, RESOURCE, KIND, object.name());
        let write = Write::new(&context, &attributes, &self.access);
        let subject = Subject {
            object: Some(object),
            old_object: None,
            resource: RESOURCE,
            kind: KIND,
            params: None,
            namespace: None,
        };
        let outcome = self.policy.evaluator.validate(&self.policy, &write, &subject, &self.metrics);
        let (_, denial) = outcome.now_or_never()?.denials.into_iter().next()?;
        Some(denial.message)
    }
}
