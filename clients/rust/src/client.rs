//! Clients of kube-rs.

use kube::config::{KubeConfigOptions, Kubeconfig};

use crate::RequestError;

/// Returns a client with the rights of a kubeconfig. Must be called within a Tokio runtime, on which the client works.
pub(crate) async fn client(kubeconfig: &str) -> Result<kube::Client, RequestError> {
    let failed = |reason: String| RequestError {
        method: "CONNECT".to_owned(),
        path: "the kubeconfig".to_owned(),
        reason,
    };
    let read = Kubeconfig::from_yaml(kubeconfig).map_err(|error| failed(error.to_string()))?;
    let config = kube::Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await;
    let config = config.map_err(|error| failed(error.to_string()))?;
    kube::Client::try_from(config).map_err(|error| failed(error.to_string()))
}
