//! `NamespaceAutoProvision` and `NamespaceExists`: what happens to writes to namespaces that do not exist. The former
//! creates them, the latter refuses the write, as `NamespaceLifecycle` does.

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{
    Attributes, MutatingAdmission, ObjectWrite, ObjectWriteMut, Operation, ValidatingAdmission,
};
use registry_core::api::{Object, StatusError};
use registry_core::registry::InstalledApi;
use registry_core::resource::Resource;
use serde_json::json;

use super::refusal::forbidden;
use crate::api::core::namespaces::Namespaces;
use crate::support::lookup::Lookup;
use crate::support::system_writer::SystemWriter;

/// Creates missing namespaces.
pub(super) struct AutoProvision {
    namespaces: Lookup,
    writer: SystemWriter,
}

/// Refuses writes to missing namespaces.
pub(super) struct NamespaceExists {
    namespaces: Lookup,
}

impl AutoProvision {
    /// Creates the plug-in over the installed namespaces; `None` if they are not served.
    pub(super) fn new(installed: &InstalledApi) -> Option<Self> {
        let writer = SystemWriter::for_resource::<Namespaces>(installed)?;
        Some(Self { namespaces: Lookup::for_resource::<Namespaces>(installed)?, writer })
    }
}

impl NamespaceExists {
    /// Creates the plug-in over the installed namespaces; `None` if they are not served.
    pub(super) fn new(installed: &InstalledApi) -> Option<Self> {
        Some(Self { namespaces: Lookup::for_resource::<Namespaces>(installed)? })
    }
}

/// Whether a write is to something in a namespace.
fn is_namespaced(context: &RequestContext, attributes: &Attributes<'_>) -> bool {
    !context.namespace.is_empty() && attributes.resource.group_resource() != Namespaces::TYPE.group_resource()
}

#[async_trait]
impl MutatingAdmission for AutoProvision {
    async fn admit(&self, context: &RequestContext, write: ObjectWriteMut<'_>) -> Result<(), StatusError> {
        let name = context.namespace.as_str();
        let concerned =
            is_namespaced(context, write.attributes) && write.attributes.operation == Operation::Create;
        if !concerned || write.attributes.dry_run.is_on() || self.namespaces.get("", name).await?.is_some() {
            return Ok(());
        }
        let namespace = Object::from_value(json!({"metadata": {"name": name}})).unwrap_or_default();
        let created = self.writer.create(namespace).await;
        created.map_err(|failure| {
            forbidden(write.attributes, write.object.map(|object| &*object), failure.message)
        })
    }
}

#[async_trait]
impl ValidatingAdmission for NamespaceExists {
    async fn validate(&self, context: &RequestContext, write: ObjectWrite<'_>) -> Result<(), StatusError> {
        let name = context.namespace.as_str();
        let concerned =
            is_namespaced(context, write.attributes) && write.attributes.operation != Operation::Connect;
        if !concerned || self.namespaces.get("", name).await?.is_some() {
            return Ok(());
        }
        Err(StatusError::not_found(Namespaces::TYPE.group_resource(), name))
    }
}
