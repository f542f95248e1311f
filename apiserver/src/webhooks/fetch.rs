//! Requests of the server itself to other servers over HTTPS: the keys of token issuers, and token reviews.
//!
//! One connection for each request, HTTP/1.1, no redirects. A request is bounded by its time and by the size of the
//! answer, and at most [`MAX_REQUESTS`] are made at once.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, HOST, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode, Uri};
use http_body_util::Full;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::sync::Semaphore;
use tokio::time::timeout;

use crate::proxy::dial::{connect, resolve};
use crate::version::SERVER_VERSION;

use super::answer::{broken, not_connected, read};
use super::tls::{roots_of, system_roots};

/// Maximum number of requests of one client at once. Others wait for their turn, within their time.
const MAX_REQUESTS: usize = 64;

/// Sends requests to servers whose certificates are of certain authorities.
pub(crate) struct HttpsClient {
    tls: Arc<ClientConfig>,
    /// The name in the server's certificate, if it is not the host's.
    server_name: Option<String>,
    timeout: Duration,
    max_answer_bytes: usize,
    requests: Semaphore,
}

/// A client certificate and its key.
pub(crate) type ClientIdentity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// An answer: its status and its body.
pub(crate) type Fetched = (StatusCode, Bytes);

// === impl HttpsClient ===

impl HttpsClient {
    /// Creates a client that checks certificates with this bundle (PEM), or with the authorities of the system if it
    /// is blank.
    ///
    /// # Errors
    /// Fails with a reason if the bundle or the identity cannot be used.
    pub(crate) fn new(
        bundle: &[u8],
        identity: Option<ClientIdentity>,
        timeout: Duration,
        max_answer_bytes: usize,
    ) -> Result<Self, String> {
        let roots = if bundle.trim_ascii().is_empty() { system_roots() } else { Arc::new(roots_of(bundle)?) };
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots);
        let mut tls = match identity {
            Some((chain, key)) => {
                builder.with_client_auth_cert(chain, key).map_err(|error| error.to_string())?
            }
            None => builder.with_no_client_auth(),
        };
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        let requests = Semaphore::new(MAX_REQUESTS);
        Ok(Self { tls: Arc::new(tls), server_name: None, timeout, max_answer_bytes, requests })
    }

    /// Expects this name in the server's certificate.
    #[must_use]
    pub(crate) fn with_server_name(self, server_name: Option<String>) -> Self {
        Self { server_name, ..self }
    }

    /// Sends a GET.
    ///
    /// # Errors
    /// Fails with a reason if there is no answer in time that is small enough.
    pub(crate) async fn get(&self, url: &str) -> Result<Fetched, String> {
        self.send(Method::GET, url, HeaderMap::new(), Bytes::new()).await
    }

    /// Sends a POST of JSON with these further headers.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub(crate) async fn post(
        &self,
        url: &str,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<Fetched, String> {
        headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.send(Method::POST, url, headers, body).await
    }

    async fn send(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Fetched, String> {
        let failed = |reason: String| {
            let mut name = method.as_str().to_owned();
            if let Some(rest) = name.get_mut(1..) {
                rest.make_ascii_lowercase();
            }
            format!("{name} {url:?}: {reason}")
        };
        let answered = timeout(self.timeout, self.answer(method.clone(), url, headers, body)).await;
        match answered {
            Ok(answer) => answer.map_err(failed),
            Err(_) => Err(failed("context deadline exceeded".to_owned())),
        }
    }

    async fn answer(
        &self,
        method: Method,
        url: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Fetched, String> {
        let _permit = self.requests.acquire().await.map_err(|error| error.to_string())?;
        let uri: Uri = url.parse().map_err(|error| format!("the URL cannot be read: {error}"))?;
        if uri.scheme_str() != Some("https") {
            return Err("the URL's scheme must be https".to_owned());
        }
        let host = uri.host().filter(|host| !host.is_empty()).ok_or("the URL names no host")?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let addresses =
            resolve(host, uri.port_u16().unwrap_or(443)).await.map_err(|error| not_connected(&error))?;
        let name = self.server_name.as_deref().unwrap_or(host);
        let stream = connect(&addresses, name, Some(self.tls.clone())).await;
        let stream = stream.map_err(|error| not_connected(&error))?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| broken(&error))?;
        // Ends with the sender and the answer's body.
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!("a connection to another server ended: {error}");
            }
        });
        let path = uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
        let authority = uri.authority().map(http::uri::Authority::as_str).unwrap_or_default();
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, authority)
            .header(ACCEPT, "application/json, */*")
            .header(USER_AGENT, SERVER_VERSION)
            .body(Full::new(body))
            .map_err(|error| error.to_string())?;
        request.headers_mut().extend(headers);
        let answer = sender.send_request(request).await.map_err(|error| broken(&error))?;
        let (head, incoming) = answer.into_parts();
        Ok((head.status, read(incoming, self.max_answer_bytes).await?))
    }
}
