//! The settings of a client in a pod of the cluster: the service account of the pod.
//!
//! Kubernetes concept: `rest.InClusterConfig`.

use std::path::Path;

use super::egress::Route;
use super::error::SettingsError;
use super::settings::{Authorization, ClientSettings, Content, Credentials, TrustSource};
use super::tls::Trust;

/// The directory into which the kubelet writes the service account's token and the cluster's authority.
const DIRECTORY: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

impl ClientSettings {
    /// Returns the settings of a client of the cluster that this process runs in.
    ///
    /// # Errors
    /// Fails if it does not run in a cluster, or without a service account.
    pub fn in_cluster() -> Result<Self, SettingsError> {
        let variable = |name: &str| std::env::var(name).unwrap_or_default();
        let (host, port) = (variable("KUBERNETES_SERVICE_HOST"), variable("KUBERNETES_SERVICE_PORT"));
        in_cluster(&host, &port, Path::new(DIRECTORY))
    }
}

fn in_cluster(host: &str, port: &str, directory: &Path) -> Result<ClientSettings, SettingsError> {
    if host.is_empty() || port.is_empty() {
        return Err(SettingsError::NotInCluster);
    }
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
    let token = directory.join("token");
    Content::File(token.clone()).read()?;
    let authority = Content::File(directory.join("ca.crt"));
    let usable = authority.read().and_then(|bundle| Trust::from_bundle(&bundle).map(drop));
    let trust = match usable {
        Ok(()) => TrustSource::Authorities(authority),
        // As in client-go: the authorities of the system may know the server.
        Err(reason) => {
            tracing::error!("the authority of the cluster cannot be used: {reason}");
            TrustSource::System
        }
    };
    let authorization = Authorization::TokenFile(token);
    Ok(ClientSettings {
        server: format!("https://{host}:{port}"),
        trust,
        server_name: None,
        credentials: Credentials { authorization, ..Credentials::default() },
        route: Route::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_knows_its_cluster() {
        let directory = tempfile::tempdir().unwrap();
        let settings = |host: &str, port: &str| in_cluster(host, port, directory.path());
        let refused = settings("", "443").err().unwrap().to_string();
        assert!(refused.contains("KUBERNETES_SERVICE_HOST"), "{refused}");
        let refused = settings("10.0.0.1", "443").err().unwrap().to_string();
        assert!(refused.contains("token"), "{refused}");
        std::fs::write(directory.path().join("token"), "t1\n").unwrap();
        let without_authority = settings("fd00::1", "6443").unwrap();
        assert_eq!(without_authority.server, "https://[fd00::1]:6443");
        assert!(matches!(without_authority.trust, TrustSource::System));
        let authority = rcgen::generate_simple_self_signed(["x".to_owned()]).unwrap();
        std::fs::write(directory.path().join("ca.crt"), authority.cert.pem()).unwrap();
        let whole = settings("10.0.0.1", "443").unwrap();
        assert_eq!(whole.server, "https://10.0.0.1:443");
        assert!(matches!(whole.trust, TrustSource::Authorities(Content::File(_))));
        let contents = whole.contents().unwrap();
        assert_eq!(whole.headers(&contents).unwrap()["authorization"], "Bearer t1");
    }
}
