//! Connections to etcd through a proxy.

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use clients::SettingsError;
use clients::egress::Route;
use clients::tls::client_config_from_files;
use http::Uri;
use registry_core::storage::etcd3::options::{ConnectEndpoint, EndpointStream};
use rustls::ClientConfig;

use crate::options::EtcdConnection;

/// The way to the endpoints of an etcd cluster.
#[derive(Debug)]
pub(super) struct ProxiedEndpoints {
    route: Route,
    tls: Arc<ClientConfig>,
}

// === impl ProxiedEndpoints ===

impl ProxiedEndpoints {
    /// Returns the connector to etcd; `None` if the way is direct, or the endpoints are Unix sockets.
    ///
    /// # Errors
    /// Fails if a certificate or a key cannot be used.
    pub(super) fn connector(
        route: &Route,
        connection: &EtcdConnection,
    ) -> Result<Option<Arc<dyn ConnectEndpoint>>, SettingsError> {
        let is_socket = connection.servers.iter().any(|server| server.starts_with("unix:"));
        if matches!(route, Route::Direct) || is_socket {
            return Ok(None);
        }
        let identity = connection.client_files.as_ref().map(|(chain, key)| (chain.as_path(), key.as_path()));
        let tls = client_config_from_files(connection.ca_file.as_deref(), identity, &[b"h2"])?;
        Ok(Some(Arc::new(Self { route: route.clone(), tls })))
    }
}

#[async_trait]
impl ConnectEndpoint for ProxiedEndpoints {
    async fn connect(&self, endpoint: &str) -> io::Result<Box<dyn EndpointStream>> {
        let uri: Uri = endpoint.parse().map_err(io::Error::other)?;
        let host = uri.host().ok_or_else(|| io::Error::other(format!("{endpoint} names no host")))?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let (tls, default_port) = match uri.scheme_str() {
            Some("https") => (Some(self.tls.clone()), 443),
            _ => (None, 80),
        };
        let port = uri.port_u16().unwrap_or(default_port);
        let target = self.route.resolve(host, port).await.map_err(io::Error::other)?;
        let stream = self.route.connect(&target, host, tls).await.map_err(io::Error::other)?;
        Ok(Box::new(stream))
    }
}
