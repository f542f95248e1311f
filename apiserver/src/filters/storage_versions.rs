//! Refuses writes of resources about which the server has not said yet how it stores them.
//!
//! Kubernetes concept: `WithStorageVersionPrecondition`.

use registry_core::api::{Reason, StatusError};
use request_info::{RequestInfo, ResourceRequest, Verb};

use super::{Dispatch, Filters};

impl<D: Dispatch> Filters<D> {
    /// Checks that a write is of a resource whose StorageVersion this server has written, if it writes them.
    pub(super) fn check_reported(&self, info: &RequestInfo) -> Result<(), StatusError> {
        let (Some(versions), Some(asked)) = (&self.pending_versions, &info.resource) else { return Ok(()) };
        let is_read = matches!(info.verb, Verb::Get | Verb::List | Verb::Watch);
        if is_read || is_exempt(asked) {
            return Ok(());
        }
        let Some(pending) = versions.find(&asked.group, &asked.resource) else { return Ok(()) };
        let (resource, failure) = (pending.resource, pending.failure.as_deref().unwrap_or("<nil>"));
        let message = format!(
            "wait for storage version registration to complete for resource: {resource}, last seen error: {failure}"
        );
        Err(StatusError::new(Reason::ServiceUnavailable, message))
    }
}

/// Whether a resource is written at any time: StorageVersions themselves, and the Leases of servers, which come before them.
fn is_exempt(asked: &ResourceRequest) -> bool {
    match (asked.group.as_str(), asked.resource.as_str()) {
        ("internal.apiserver.k8s.io", "storageversions") => true,
        ("coordination.k8s.io", "leases") => asked.namespace == "kube-system",
        _ => false,
    }
}
