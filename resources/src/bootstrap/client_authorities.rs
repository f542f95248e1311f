//! The ConfigMap by which extension API servers verify the clients of this one.
//!
//! Kubernetes concept: `pkg/controlplane/controller/clusterauthenticationtrust`.

use std::time::Duration;

use async_trait::async_trait;
use registry_core::api::{Object, StatusError};
use registry_core::registry::InstalledApi;
use serde_json::json;

use super::{CONTROLLER_PERIOD, PostStartHook, ServerFacts};
use crate::core::configmaps::ConfigMaps;
use crate::support::system_writer::SystemWriter;

const NAME: &str = "extension-apiserver-authentication";
const NAMESPACE: &str = "kube-system";
const CLIENT_CA: &str = "client-ca-file";
const END_OF_CERTIFICATE: &str = "-----END CERTIFICATE-----";

/// The hook.
pub(super) struct ClientAuthorities {
    config_maps: SystemWriter,
    client_ca_pem: String,
}

// === impl ClientAuthorities ===

impl ClientAuthorities {
    pub(super) fn new(installed: &InstalledApi, server: &ServerFacts) -> Option<Self> {
        let config_maps = SystemWriter::of::<ConfigMaps>(installed)?;
        Some(Self { config_maps, client_ca_pem: server.client_ca_pem.clone() })
    }
}

#[async_trait]
impl PostStartHook for ClientAuthorities {
    fn name(&self) -> &'static str {
        "start-cluster-authentication-info-controller"
    }

    fn period(&self) -> Option<Duration> {
        Some(CONTROLLER_PERIOD)
    }

    async fn run(&self) -> Result<(), StatusError> {
        let wanted = json!({
            "metadata": { "name": NAME, "namespace": NAMESPACE },
            "data": { CLIENT_CA: self.client_ca_pem },
        });
        let wanted = Object::from_value(wanted).unwrap_or_default();
        self.config_maps
            .ensure_one(wanted, |present, _| {
                let before = present.get_str(&["data", CLIENT_CA]).unwrap_or_default();
                // Other servers of the cluster may trust other authorities: all are listed.
                let missing = certificates(&self.client_ca_pem).filter(|one| !before.contains(*one));
                let all = missing.fold(before.to_owned(), |all, one| all + one + "\n");
                (all != before).then(|| {
                    let mut object = present.clone();
                    object.set(&["data", CLIENT_CA], all.into());
                    object
                })
            })
            .await
    }
}

/// Returns the certificates in a PEM text, without surrounding white space.
fn certificates(pem: &str) -> impl Iterator<Item = &str> {
    pem.split_inclusive(END_OF_CERTIFICATE).map(str::trim).filter(|one| one.ends_with(END_OF_CERTIFICATE))
}
