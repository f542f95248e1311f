//! The address of a service.
//!
//! Kubernetes concept: `ResolveCluster` in `k8s.io/apiserver/pkg/util/proxy`.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::registry::{Store, Stores};
use registry_core::resource::ResourceDescription;
use registry_core::storage::{Revision, StoredObject};
use serde_json::Value;

use super::dial::BackendReach;
use super::egress::Egress;
use super::error::ServiceError;

/// Maximum number of services that are kept as they were read.
const MAX_KNOWN: usize = 256;

/// Finds services.
pub struct ServiceResolver {
    stores: Stores,
    services: &'static ResourceDescription,
    /// The addresses that services may have.
    reach: BackendReach,
    egress: Egress,
    /// Services as they were read, by their keys.
    known: Mutex<HashMap<Arc<str>, Known>>,
}

/// A service as it was read, and the revision that wrote it.
type Known = (Revision, Arc<Object>);

// === impl ServiceResolver ===

impl ServiceResolver {
    /// Creates a resolver over a server's stores, where `services` is the resource of services.
    pub fn new(
        stores: Stores,
        services: &'static ResourceDescription,
        reach: BackendReach,
        egress: Egress,
    ) -> Self {
        Self { stores, services, reach, egress, known: Mutex::default() }
    }

    /// Returns the ways to services and to other servers.
    pub fn egress(&self) -> &Egress {
        &self.egress
    }

    /// Returns which addresses services may have.
    pub fn reach(&self) -> BackendReach {
        self.reach
    }

    /// Returns the host of a service: its address in the cluster, or its external name.
    ///
    /// # Errors
    /// Fails if there is no such service, or if it has no address.
    pub async fn host(&self, namespace: &str, name: &str, port: u16) -> Result<String, ServiceError> {
        let found = self.find(namespace, name).await?;
        let service = found.ok_or_else(|| ServiceError::NotFound(name.to_owned()))?;
        let field = |field: &str| service.get_str(&["spec", field]).unwrap_or_default();
        match field("type") {
            "ClusterIP" if field("clusterIP") == "None" => Err(ServiceError::Headless),
            "ClusterIP" | "LoadBalancer" | "NodePort" => {
                let ports = service.get(&["spec", "ports"]).and_then(Value::as_array).into_iter().flatten();
                let mut numbers = ports.filter_map(|port| port.get("port").and_then(Value::as_u64));
                if !numbers.any(|number| number == u64::from(port)) {
                    return Err(ServiceError::NoPort { name: name.to_owned(), port });
                }
                Ok(field("clusterIP").to_owned())
            }
            "ExternalName" => Ok(field("externalName").to_owned()),
            other => Err(ServiceError::UnsupportedType(other.to_owned())),
        }
    }

    /// Returns a service from the cache; if it is missing there, reads consistently. `None` if there is none. Each version of
    /// a service is decoded once.
    ///
    /// # Errors
    /// Fails if services cannot be read.
    pub async fn find(&self, namespace: &str, name: &str) -> Result<Option<Arc<Object>>, ServiceError> {
        let store = self.stores.get(self.services).ok_or(ServiceError::NotServed)?;
        let context = RequestContext::system(namespace);
        store.find(&context, name).await?.map(|entry| self.read(&store, &entry)).transpose()
    }

    fn read(&self, store: &Store, entry: &StoredObject) -> Result<Arc<Object>, ServiceError> {
        if let Some((revision, service)) = self.known.lock().get(&entry.key)
            && *revision == entry.revision
        {
            return Ok(service.clone());
        }
        let service = Arc::new(store.read(entry)?);
        let mut known = self.known.lock();
        if known.len() >= MAX_KNOWN && !known.contains_key(&entry.key) {
            // Those in use are read again.
            known.clear();
        }
        known.insert(entry.key.clone(), (entry.revision, service.clone()));
        Ok(service)
    }
}
