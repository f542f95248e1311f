//! Administrators' access to devices that are in use: claims and templates may only ask for it in namespaces with a label.
//!
//! Kubernetes concept: `AuthorizedForAdmin` in `pkg/registry/resource`.

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, FieldError, FieldPath};
use registry_core::api::{GroupVersionKind, Object, StatusError};
use registry_core::registry::{FinishHook, InstalledApi, StoreHooks};
use registry_core::resource::Resource;

use super::resourceclaims::ResourceClaims;
use super::resourceclaimtemplates::ResourceClaimTemplates;
use crate::core::namespaces::Namespaces;
use crate::support::field::Field;
use crate::support::lookup::Lookup;

/// The label of namespaces whose claims may ask for the access.
const LABEL: &str = "resource.kubernetes.io/admin-access";

/// Checks new objects of one kind.
struct AdminAccess {
    kind: GroupVersionKind,
    /// Whether the claim's spec is that of a template.
    is_template: bool,
    namespaces: Arc<Lookup>,
}

/// Attaches the checks to the stores of claims and their templates.
pub fn restrict_admin_access(installed: &InstalledApi) {
    let Some(namespaces) = Lookup::of::<Namespaces>(installed).map(Arc::new) else { return };
    for (resource, is_template) in [(ResourceClaims::TYPE, false), (ResourceClaimTemplates::TYPE, true)] {
        let Some(store) = installed.store(resource) else { continue };
        let kind = store.resource().kind;
        let check = AdminAccess { kind, is_template, namespaces: namespaces.clone() };
        store.attach_hooks(&(Arc::new(check) as Arc<dyn StoreHooks>));
    }
}

#[async_trait]
impl StoreHooks for AdminAccess {
    // The spec of claims and templates is immutable, so that only new ones are checked.
    async fn begin_create(
        &self,
        context: &RequestContext,
        object: &mut Object,
        _dry_run: bool,
    ) -> Result<Option<Box<dyn FinishHook>>, StatusError> {
        let Some(path) = self.requested(object) else { return Ok(None) };
        let namespace = self.namespaces.get("", &context.namespace).await?;
        let is_allowed = namespace.is_some_and(|namespace| {
            namespace.get_str(&["metadata", "labels", LABEL]).is_some_and(|value| value == "true")
        });
        if is_allowed {
            return Ok(None);
        }
        let detail =
            format!("admin access to devices requires the `{LABEL}: true` label on the containing namespace");
        let errors = ErrorList::from(FieldError::forbidden(path, detail));
        Err(StatusError::invalid(self.kind, object.name(), &errors))
    }
}

// === impl AdminAccess ===

impl AdminAccess {
    /// Returns the path of the first request for the access. That of a template is the path in its claims.
    fn requested(&self, object: &Object) -> Option<FieldPath> {
        let spec = Field::of(object, "spec");
        let inner = spec.get("spec");
        let devices = if self.is_template { inner.get("devices") } else { spec.get("devices") };
        let requests = devices.get("requests");
        let index = requests.elements().position(|request| {
            let exactly = request.get("exactly");
            exactly.get("adminAccess").is_true()
        })?;
        let requests = FieldPath::new("spec").child("devices").child("requests");
        Some(requests.index(index).child("adminAccess"))
    }
}
