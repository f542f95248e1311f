//! The address of a service.
//!
//! Kubernetes concept: `ResolveCluster` in `k8s.io/apiserver/pkg/util/proxy`.

use registry_core::api::{GetOptions, Object};
use registry_core::registry::Stores;
use registry_core::rest::{Answer, Getter as _};
use registry_core::{RequestContext, Resource as _};
use resources::api::core::services::Services;
use serde_json::Value;

use super::dial::BackendReach;
use super::egress::Egress;

/// Finds services.
pub(crate) struct ServiceResolver {
    stores: Stores,
    /// The addresses that services may have.
    reach: BackendReach,
    egress: Egress,
}

// === impl ServiceResolver ===

impl ServiceResolver {
    /// Creates a resolver over a server's stores.
    pub(crate) fn new(stores: Stores, reach: BackendReach, egress: Egress) -> Self {
        Self { stores, reach, egress }
    }

    /// Returns the ways to services and to other servers.
    pub(crate) fn egress(&self) -> &Egress {
        &self.egress
    }

    /// Returns which addresses services may have.
    pub(crate) fn reach(&self) -> BackendReach {
        self.reach
    }

    /// Returns the host of a service: its address in the cluster, or its external name.
    ///
    /// # Errors
    /// Fails with a reason if there is no such service, or if it has no address.
    pub(crate) async fn host(&self, namespace: &str, name: &str, port: u16) -> Result<String, String> {
        let found = self.find(namespace, name).await?;
        let service = found.ok_or_else(|| format!("service {name:?} not found"))?;
        let field = |field: &str| service.get_str(&["spec", field]).unwrap_or_default();
        match field("type") {
            "ClusterIP" if field("clusterIP") == "None" => {
                Err(r#"cannot route to service with ClusterIP "None""#.to_owned())
            }
            "ClusterIP" | "LoadBalancer" | "NodePort" => {
                let ports = service.get(&["spec", "ports"]).and_then(Value::as_array).into_iter().flatten();
                let mut numbers = ports.filter_map(|port| port.get("port").and_then(Value::as_u64));
                if !numbers.any(|number| number == u64::from(port)) {
                    return Err(format!("no service port {port} found for service {name:?}"));
                }
                Ok(field("clusterIP").to_owned())
            }
            "ExternalName" => Ok(field("externalName").to_owned()),
            other => Err(format!("unsupported service type {other:?}")),
        }
    }

    /// Returns a service from the cache; if it is missing there, reads consistently. `None` if there is none.
    ///
    /// # Errors
    /// Fails with a reason if services cannot be read.
    pub(crate) async fn find(&self, namespace: &str, name: &str) -> Result<Option<Object>, String> {
        let store = self.stores.get(Services::TYPE).ok_or("services are not served")?;
        let context = RequestContext::system(namespace);
        for options in [GetOptions { resource_version: Some(0) }, GetOptions::default()] {
            match store.get(&context, name, &options).await {
                Ok(Answer::Stored(entry)) => {
                    return store.read(&entry).map(Some).map_err(|error| error.to_string());
                }
                Ok(Answer::Object(object)) => return Ok(Some(object)),
                Ok(Answer::Success(_)) => {}
                Err(failure) if failure.is_not_found() => {}
                Err(failure) => return Err(failure.to_string()),
            }
        }
        Ok(None)
    }
}
