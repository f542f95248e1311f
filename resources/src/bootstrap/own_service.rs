//! The Service `kubernetes`, by which pods reach the servers of this cluster.
//!
//! Kubernetes concept: `bootstrap-controller` (`pkg/controlplane/controller/kubernetesservice`).

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use registry_core::api::{Object, Reason, StatusError};
use registry_core::registry::InstalledApi;
use serde_json::json;

use super::own_endpoints::OwnEndpoints;
use super::{OWN_SERVICE_PERIOD, PostStartHook, SERVICE_NAME, SERVICE_NAMESPACE, ServerFacts};
use crate::api::core::services::{Services, family_of};
use crate::support::system_writer::SystemWriter;

/// The port of the Service.
const SERVICE_PORT: u16 = 443;

/// Creates the service, and keeps the server among its endpoints.
pub(super) struct OwnService {
    services: SystemWriter,
    endpoints: Option<OwnEndpoints>,
    /// The first address of the primary range.
    address: IpAddr,
    secure_port: u16,
    /// Whether the service was updated to fit this server. From then on it is only created when missing, because another
    /// server of the cluster may have updated it for itself.
    is_settled: AtomicBool,
}

// === impl OwnService ===

impl OwnService {
    pub(super) fn new(installed: &InstalledApi, server: &ServerFacts) -> Option<Self> {
        Some(Self {
            services: SystemWriter::for_resource::<Services>(installed)?,
            endpoints: OwnEndpoints::new(installed, server),
            address: server.service_ranges.primary().first_address(),
            secure_port: server.secure_port,
            is_settled: AtomicBool::new(false),
        })
    }

    fn service(&self) -> Object {
        let service = json!({
            "metadata": {
                "name": SERVICE_NAME,
                "namespace": SERVICE_NAMESPACE,
                "labels": { "component": "apiserver", "provider": "kubernetes" },
            },
            "spec": {
                "clusterIP": self.address,
                "clusterIPs": [self.address],
                "ipFamilies": [family_of(self.address)],
                "ipFamilyPolicy": "SingleStack",
                "ports": [{
                    "name": "https",
                    "port": SERVICE_PORT,
                    "protocol": "TCP",
                    "targetPort": self.secure_port,
                }],
                "sessionAffinity": "None",
                "type": "ClusterIP",
            },
        });
        Object::from_value(service).unwrap_or_default()
    }

    async fn ensure_service(&self) -> Result<(), StatusError> {
        let is_settled = self.is_settled.load(Ordering::Relaxed);
        let mend = |old: &Object, new: &Object| {
            let mut mended = old.clone();
            mended.copy_field(new, &["spec", "ports"]);
            (!is_settled && mended != *old).then_some(mended)
        };
        let mut outcome = self.services.ensure_one(self.service(), mend).await;
        // Servers that start together create it together: the address is taken for those that come late.
        if outcome.as_ref().is_err_and(|failure| failure.reason == Reason::Invalid)
            && self.is_present().await?
        {
            outcome = self.services.ensure_one(self.service(), mend).await;
        }
        match outcome {
            // A service of a family that the server is not started with keeps its port.
            Err(failure) if failure.reason == Reason::Invalid && self.is_present().await? => {
                tracing::warn!("the ports of the Service {SERVICE_NAME} are not updated: {failure}");
            }
            outcome => outcome?,
        }
        self.is_settled.store(true, Ordering::Relaxed);
        Ok(())
    }

    async fn is_present(&self) -> Result<bool, StatusError> {
        Ok(self.services.get_newest(SERVICE_NAMESPACE, SERVICE_NAME).await?.is_some())
    }
}

#[async_trait]
impl PostStartHook for OwnService {
    fn name(&self) -> &'static str {
        "bootstrap-controller"
    }

    fn period(&self) -> Option<Duration> {
        Some(OWN_SERVICE_PERIOD)
    }

    async fn run(&self) -> Result<(), StatusError> {
        self.ensure_service().await?;
        match &self.endpoints {
            Some(endpoints) => endpoints.reconcile().await,
            None => Ok(()),
        }
    }

    async fn withdraw(&self) -> Result<(), StatusError> {
        match &self.endpoints {
            Some(endpoints) => endpoints.withdraw().await,
            None => Ok(()),
        }
    }
}
