//! Connections to etcd that the client library does not make: over Unix sockets, or by a connector of the options.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tonic::transport::{Channel, Endpoint, Uri};

use super::options::{ConnectEndpoint, ConnectError, EndpointStream, Etcd3Options};

/// Connects to Unix sockets.
#[derive(Debug)]
struct Sockets;

/// Returns what makes the connections; `None` if it is the client library.
///
/// # Errors
/// Fails if some endpoints are Unix sockets and others not, or if TLS is required on a socket.
pub(super) fn connector(options: &Etcd3Options) -> Result<Option<Arc<dyn ConnectEndpoint>>, ConnectError> {
    let sockets = options.endpoints.iter().filter(|endpoint| path(endpoint).is_some()).count();
    if sockets == 0 {
        return Ok(options.connector.clone());
    }
    if sockets < options.endpoints.len() || options.ca_file.is_some() || options.cert_file.is_some() {
        return Err(ConnectError::UnsuitableSocket);
    }
    Ok(Some(Arc::new(Sockets)))
}

/// Returns the path in `unix:///path` or `unix:path`.
fn path(endpoint: &str) -> Option<PathBuf> {
    let rest = endpoint.strip_prefix("unix:")?;
    Some(PathBuf::from(rest.strip_prefix("//").unwrap_or(rest)))
}

/// Returns a channel to the first of these endpoints that accepts a connection. It connects on first use, and again when the
/// connection is lost.
pub(super) fn channel(
    endpoints: Vec<String>,
    connector: Arc<dyn ConnectEndpoint>,
    connect_timeout: Duration,
    (interval, answer_within): (Duration, Duration),
) -> Channel {
    let endpoints: Arc<[String]> = endpoints.into();
    // The host is not used.
    let endpoint = Endpoint::from_static("http://localhost")
        .connect_timeout(connect_timeout)
        .keep_alive_while_idle(true)
        .http2_keep_alive_interval(interval)
        .keep_alive_timeout(answer_within);
    endpoint.connect_with_connector_lazy(tower::service_fn(move |_: Uri| {
        let (endpoints, connector) = (endpoints.clone(), connector.clone());
        async move { connect(&endpoints, &*connector).await.map(TokioIo::new) }
    }))
}

async fn connect(
    endpoints: &[String],
    connector: &dyn ConnectEndpoint,
) -> io::Result<Box<dyn EndpointStream>> {
    let mut failure = io::Error::from(io::ErrorKind::NotFound);
    for endpoint in endpoints {
        match connector.connect(endpoint).await {
            Ok(stream) => return Ok(stream),
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

#[async_trait]
impl ConnectEndpoint for Sockets {
    async fn connect(&self, endpoint: &str) -> io::Result<Box<dyn EndpointStream>> {
        let path = path(endpoint).ok_or(io::ErrorKind::InvalidInput)?;
        match UnixStream::connect(&path).await {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) => Err(io::Error::new(error.kind(), format!("dial unix {}: {error}", path.display()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_own(endpoints: &[&str], ca_file: Option<&str>) -> Result<bool, ConnectError> {
        let endpoints = endpoints.iter().map(|endpoint| (*endpoint).to_owned()).collect();
        let ca_file = ca_file.map(PathBuf::from);
        Ok(connector(&Etcd3Options { endpoints, ca_file, ..Etcd3Options::default() })?.is_some())
    }

    #[test]
    fn endpoints_are_all_sockets_or_none() {
        assert!(!is_own(&["http://127.0.0.1:2379"], None).unwrap());
        assert!(!is_own(&["https://a:1"], Some("ca")).unwrap());
        assert!(is_own(&["unix:///run/a.sock", "unix:b.sock"], None).unwrap());
        assert_eq!(path("unix:///run/a.sock"), Some(PathBuf::from("/run/a.sock")));
        assert_eq!(path("unix:b.sock"), Some(PathBuf::from("b.sock")));
        for (endpoints, ca_file) in
            [(&["unix:///a", "http://127.0.0.1:1"][..], None), (&["unix:///a"], Some("ca"))]
        {
            let refused = is_own(endpoints, ca_file);
            assert!(matches!(refused, Err(ConnectError::UnsuitableSocket)), "{endpoints:?}: {refused:?}");
        }
    }
}
