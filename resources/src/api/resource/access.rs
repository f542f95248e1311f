//! The permissions for writing claims: administrators' access to devices that are in use needs a label of the namespace, and
//! the parts of a claim's status need permissions of their own.
//!
//! Kubernetes concept: `AuthorizedForAdmin`, `AuthorizedForBinding` and `AuthorizedForDeviceStatus` in
//! `pkg/registry/resource`.

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, FieldError, FieldPath};
use registry_core::api::{Object, StatusError};
use registry_core::features::{Feature, Features};
use registry_core::registry::{InstalledApi, PreparedWrite, Services, StoreHooks};
use registry_core::resource::Resource;
use registry_core::rest::access::AccessReviewer;
use resource_views::core::v1::Namespace;
use resource_views::resource::v1::{DeviceRequest, ResourceClaim, ResourceClaimTemplate};

use super::resourceclaims::ResourceClaims;
use super::resourceclaimtemplates::ResourceClaimTemplates;
use super::status_access;
use crate::api::core::namespaces::Namespaces;
use crate::support::lookup::Lookup;

/// The label of namespaces whose claims may ask for administrators' access.
const LABEL: &str = "resource.kubernetes.io/admin-access";

/// Checks the writes of claims, or of their templates.
struct ClaimAccess {
    /// Whether the claim's spec belongs to a template.
    is_template: bool,
    /// Whether the parts of the status need permissions.
    checks_status: bool,
    namespaces: Arc<Lookup>,
    access: Arc<dyn AccessReviewer>,
}

/// Attaches the checks to the stores of claims and their templates.
pub fn restrict_access(installed: &InstalledApi, services: &Services, features: Features) {
    let checks_status = features.contains(Feature::DRAResourceClaimGranularStatusAuthorization);
    let Some(namespaces) = Lookup::for_resource::<Namespaces>(installed).map(Arc::new) else { return };
    for (resource, is_template) in [(ResourceClaims::TYPE, false), (ResourceClaimTemplates::TYPE, true)] {
        let Some(store) = installed.store(resource) else { continue };
        let (namespaces, access) = (namespaces.clone(), services.access.clone());
        let check = ClaimAccess { is_template, checks_status, namespaces, access };
        store.attach_hooks(&(Arc::new(check) as Arc<dyn StoreHooks>));
    }
}

#[async_trait]
impl StoreHooks for ClaimAccess {
    async fn check(
        &self,
        context: &RequestContext,
        write: PreparedWrite<'_>,
    ) -> Result<ErrorList, StatusError> {
        match write.old {
            None => self.check_label(context, self.requested(write.new)).await,
            Some(old) if write.is_status => {
                let requested = granted(write.new).filter(|_| granted(old).is_none());
                let mut errors = self.check_label(context, requested).await?;
                if self.checks_status {
                    let access = self.access.as_ref();
                    errors.append(status_access::check(access, context, write.new, old).await);
                }
                Ok(errors)
            }
            // The spec is immutable.
            Some(_) => Ok(ErrorList::default()),
        }
    }
}

// === impl ClaimAccess ===

impl ClaimAccess {
    /// Checks the label of the namespace if the write asks for administrators' access, at this path.
    async fn check_label(
        &self,
        context: &RequestContext,
        requested: Option<FieldPath>,
    ) -> Result<ErrorList, StatusError> {
        let mut errors = ErrorList::default();
        let Some(path) = requested else { return Ok(errors) };
        let namespace = self.namespaces.get("", &context.namespace).await?;
        let is_allowed = namespace
            .is_some_and(|namespace| Namespace(&namespace).metadata().labels().entry(LABEL).text() == "true");
        if !is_allowed {
            let detail = format!(
                "admin access to devices requires the `{LABEL}: true` label on the containing namespace"
            );
            errors.push(FieldError::forbidden(path, detail));
        }
        Ok(errors)
    }

    /// Returns the path of the first request for administrators' access. For a template, returns the path in its claims.
    fn requested(&self, object: &Object) -> Option<FieldPath> {
        let is_asked = |request: DeviceRequest<'_, '_>| request.exactly().admin_access().is_true();
        let index = if self.is_template {
            ResourceClaimTemplate(object).spec().spec().devices().requests().elements().position(is_asked)
        } else {
            ResourceClaim(object).spec().devices().requests().elements().position(is_asked)
        }?;
        let requests = FieldPath::new("spec").child("devices").child("requests");
        Some(requests.index(index).child("adminAccess"))
    }
}

/// Returns the path of the first device that is allocated for administrators' access.
fn granted(claim: &Object) -> Option<FieldPath> {
    let status = ResourceClaim(claim).status();
    let index = status
        .allocation()
        .devices()
        .results()
        .elements()
        .position(|result| result.admin_access().is_true())?;
    let path = FieldPath::new("status").child("allocation").child("devices").child("results");
    Some(path.index(index).child("adminAccess"))
}

#[cfg(test)]
mod tests;
