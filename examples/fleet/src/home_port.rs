//! A mutating admission plug-in: a new ship without a port is in the home port of its namespace, which the annotation
//! `fleet.example.dev/home-port` names.

use apiserver::ServerContext;
use apiserver::admission::{AdmissionPlugin, MutatingAdmission, ObjectWriteMut, Operation};
use apiserver::api_client::Cached;
use async_trait::async_trait;
use k8s_openapi::api::core::v1::Namespace;
use registry_core::RequestContext;
use registry_core::api::StatusError;

use super::ship::Ship;

const ANNOTATION: &str = "fleet.example.dev/home-port";

/// The plug-in.
pub struct HomePort {
    /// The namespaces of the cluster, kept up to date.
    namespaces: Cached<Namespace>,
}

// === impl HomePort ===

impl HomePort {
    /// Creates the plug-in.
    pub fn new(context: &ServerContext) -> Self {
        Self { namespaces: context.cluster().in_namespace("").cached() }
    }
}

// ANCHOR: admit
impl AdmissionPlugin for HomePort {
    /// `--disable-admission-plugins=HomePort` disables it.
    fn name(&self) -> &'static str {
        "HomePort"
    }
}

#[async_trait]
impl MutatingAdmission for HomePort {
    async fn admit(
        &self,
        context: &RequestContext,
        mut write: ObjectWriteMut<'_>,
    ) -> Result<(), StatusError> {
        let Some(ship) = write.object_of::<Ship>(&[Operation::Create]) else { return Ok(()) };
        let namespace = self.namespaces.get("", &context.namespace);
        let annotations = namespace.as_ref().and_then(|namespace| namespace.metadata.annotations.as_ref());
        let home = annotations.and_then(|annotations| annotations.get(ANNOTATION));
        // A ship that has a port keeps it, so that a second run changes nothing.
        if let (Some(home), None) = (home, ship.get(&["spec", "port"])) {
            ship.set(&["spec", "port"], home.as_str().into());
        }
        Ok(())
    }
}
// ANCHOR_END: admit
