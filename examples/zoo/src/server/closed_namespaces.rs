//! An admission plug-in: no enclosures are created in a namespace with the label `zoo.example.dev/closed: "true"`.

use apiserver::ServerContext;
use apiserver::admission::{AdmissionPlugin, ObjectWrite, Operation, ValidatingAdmission};
use apiserver::api_client::Cached;
use async_trait::async_trait;
use k8s_openapi::api::core::v1::Namespace;
use registry_core::api::{Object, StatusError};
use registry_core::{RequestContext, Resource as _};

use crate::zoo::enclosure::Enclosure;

const LABEL: &str = "zoo.example.dev/closed";

/// The plug-in.
pub(crate) struct ClosedNamespaces {
    /// The namespaces of the cluster, kept up to date.
    namespaces: Cached<Namespace>,
}

// === impl ClosedNamespaces ===

impl ClosedNamespaces {
    /// Creates the plug-in.
    pub(crate) fn new(context: &ServerContext) -> Self {
        Self { namespaces: context.cluster().in_namespace("").cached() }
    }
}

impl AdmissionPlugin for ClosedNamespaces {
    fn name(&self) -> &'static str {
        "ClosedNamespaces"
    }
}

#[async_trait]
impl ValidatingAdmission for ClosedNamespaces {
    // ANCHOR: validate
    async fn validate(&self, context: &RequestContext, write: ObjectWrite<'_>) -> Result<(), StatusError> {
        let resource = write.attributes.resource.group_resource();
        if write.attributes.operation != Operation::Create || resource != Enclosure::TYPE.group_resource() {
            return Ok(());
        }
        let namespace = self.namespaces.get("", &context.namespace);
        let labels = namespace.as_ref().and_then(|namespace| namespace.metadata.labels.as_ref());
        if labels.and_then(|labels| labels.get(LABEL)).is_none_or(|value| value != "true") {
            return Ok(());
        }
        let name = write.object.map_or("", Object::name);
        let reason = format!("the zoo in namespace {} is closed", context.namespace);
        Err(StatusError::forbidden(resource, name, &reason))
    }
    // ANCHOR_END: validate
}
