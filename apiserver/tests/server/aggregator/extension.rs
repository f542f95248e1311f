//! An extension server in the process of the test: it shows the requests that it receives, or does what it should not.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::body::Body;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::StreamExt as _;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use parking_lot::Mutex;
use rustls::server::WebPkiClientVerifier;
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// The group that it serves.
pub const GROUP: &str = "wardle.example.com";

/// The behavior of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behavior {
    /// Serves aggregated discovery.
    Serve,
    /// Serves aggregated discovery, and answers everything else with 500.
    ServeOnlyDiscovery,
    /// Serves plain discovery only.
    Plain,
    /// Redirects everything but discovery.
    Redirect,
    /// Answers discovery without end.
    Endless,
    /// Never answers.
    Hang,
    /// Answers everything with 500.
    Fail,
    /// Describes itself in discovery with values of wrong types, and more than is asked for.
    Lie,
    /// Ends the connection in the middle of an answer, except for discovery.
    Reset,
}

/// A server. It ends with the test's runtime.
pub struct Extension {
    pub address: SocketAddr,
    /// The certificate (PEM) to check it with, in base64.
    pub ca_bundle: String,
    behavior: Arc<Mutex<Behavior>>,
    requests: Arc<AtomicUsize>,
}

impl Extension {
    /// Starts a server for a service of this name in the namespace `default`.
    pub async fn start(service: &str) -> Self {
        Self::start_at(service, "127.0.0.1:0".parse().unwrap(), None).await
    }

    /// Starts a server at this address. It accepts only clients of these authorities (PEM), if they are given.
    pub async fn start_at(service: &str, address: SocketAddr, clients: Option<&str>) -> Self {
        let key = rcgen::KeyPair::generate().unwrap();
        let names = vec![format!("{service}.default.svc")];
        let certificate = rcgen::CertificateParams::new(names).unwrap().self_signed(&key).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .unwrap();
        let config = match clients {
            None => config.with_no_client_auth(),
            Some(pem) => {
                let mut roots = rustls::RootCertStore::empty();
                let authorities = CertificateDer::pem_slice_iter(pem.as_bytes());
                roots.add_parsable_certificates(authorities.map(Result::unwrap));
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                config.with_client_cert_verifier(verifier.build().unwrap())
            }
        };
        let mut config = config
            .with_single_cert(
                vec![certificate.der().clone()],
                rustls_pki_types::PrivatePkcs8KeyDer::from(key.serialize_der()).into(),
            )
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind(address).await.unwrap();
        let address = listener.local_addr().unwrap();
        let behavior = Arc::new(Mutex::new(Behavior::Serve));
        let serving = behavior.clone();
        let requests = Arc::new(AtomicUsize::default());
        let counted = requests.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (behavior, counted, acceptor) = (serving.clone(), counted.clone(), acceptor.clone());
                tokio::spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let service = service_fn(|request| {
                        counted.fetch_add(1, Ordering::Relaxed);
                        answer(address, behavior.clone(), request)
                    });
                    let builder = hyper_util::server::conn::auto::Builder::new(TokioExecutor::new());
                    let _ = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).await;
                });
            }
        });
        Self { address, ca_bundle: STANDARD.encode(certificate.pem()), behavior, requests }
    }

    /// Returns the number of requests so far.
    pub fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }

    pub fn set(&self, behavior: Behavior) {
        *self.behavior.lock() = behavior;
    }
}

async fn answer(
    address: SocketAddr,
    behavior: Arc<Mutex<Behavior>>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let behavior = *behavior.lock();
    let path = request.uri().path().to_owned();
    let accept = request.headers().get("accept").and_then(|value| value.to_str().ok()).unwrap_or_default();
    let wants_aggregated = accept.contains("as=APIGroupDiscoveryList");
    let is_discovery = path == "/apis" || path == format!("/apis/{GROUP}/v1");
    Ok(match behavior {
        Behavior::Hang => std::future::pending().await,
        Behavior::Fail => response(500, Body::from("out of order")),
        Behavior::Endless if is_discovery => {
            let chunk = || async { Ok::<_, Infallible>(Bytes::from(vec![b' '; 1 << 20])) };
            response(200, Body::from_stream(futures::stream::repeat_with(chunk).then(|chunk| chunk)))
        }
        Behavior::Redirect if !is_discovery => Response::builder()
            .status(307)
            .header("location", "https://127.0.0.1:1/elsewhere")
            .body(Body::empty())
            .unwrap(),
        Behavior::Lie if path == "/apis" && wants_aggregated => json_response(&lies()),
        Behavior::Reset if !is_discovery && path != "/apis" => {
            let chunks = [Ok(Bytes::from_static(b"{\"items\":[")), Err(std::io::Error::other("reset"))];
            // The first part leaves before the connection ends.
            let chunks = futures::stream::iter(chunks).then(|chunk| async {
                tokio::time::sleep(Duration::from_millis(20)).await;
                chunk
            });
            response(200, Body::from_stream(chunks))
        }
        Behavior::Serve | Behavior::ServeOnlyDiscovery if path == "/apis" && wants_aggregated => {
            json_response(&aggregated())
        }
        Behavior::ServeOnlyDiscovery => response(500, Body::from("out of order")),
        _ if path == "/apis" => response(404, Body::empty()),
        _ if path == format!("/apis/{GROUP}/v1") => json_response(&plain()),
        _ if path == "/openapi/v3" => json_response(&json!({ "paths": {
            format!("apis/{GROUP}/v1"): { "serverRelativeURL": format!("/openapi/v3/apis/{GROUP}/v1?hash=abc") },
            "apis/other.example.com/v1": { "serverRelativeURL": "/api/v1/secrets" },
        }})),
        _ if path == "/openapi/v2" => specification(&request),
        _ if request.uri().query().unwrap_or_default().contains("watch=true") => ticking(),
        _ if request.headers().contains_key("upgrade") => upgraded(request),
        _ => shown(address, request).await,
    })
}

/// Returns an OpenAPI v2 document, unless its tag is known.
fn specification(request: &Request<Incoming>) -> Response<Body> {
    const TAG: &str = "\"1\"";
    if request.headers().get("if-none-match").is_some_and(|tag| tag == TAG) {
        return response(304, Body::empty());
    }
    let schema = json!({ "$ref": "#/definitions/com.example.Flunder" });
    let operation = json!({ "operationId": "listFlunder", "responses": { "200": { "schema": schema } } });
    let meta = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
    let document = json!({
        "swagger": "2.0", "info": { "title": "wardle", "version": "v1" },
        "paths": {
            format!("/apis/{GROUP}/v1/flunders"): { "get": operation },
            "/api/v1/secrets": { "get": { "operationId": "stolen" } },
            "/apis/apps/v1/deployments": { "get": { "operationId": "stolen" } },
        },
        "definitions": {
            "com.example.Flunder": {
                "type": "object",
                "properties": { "metadata": { "$ref": format!("#/definitions/{meta}") } },
                "x-kubernetes-group-version-kind": [{ "group": GROUP, "version": "v1", "kind": "Flunder" }],
            },
            meta: { "type": "object", "description": "another one" },
            "com.example.Unused": { "type": "object" },
        },
    });
    let mut answer = json_response(&document);
    answer.headers_mut().insert("etag", TAG.parse().unwrap());
    answer
}

/// Returns discovery that is not what it should be.
fn lies() -> Value {
    let resources = json!([
        7,
        { "resource": { "a": "b" } },
        { "resource": "flunders", "responseKind": "Flunder", "scope": 7, "verbs": "get", "shortNames": [1, "fl"],
          "subresources": { "a": 1 }, "secret": "value" },
    ]);
    let version = json!({ "version": "v1", "freshness": "Current", "resources": resources });
    let stolen = json!({ "version": "v1", "resources": [{ "resource": "stolen", "verbs": ["get"] }] });
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2",
        "items": [
            "no group",
            { "metadata": { "name": "apps" }, "versions": [stolen] },
            { "metadata": { "name": GROUP }, "versions": [7, version] },
        ],
    })
}

fn aggregated() -> Value {
    let kind = json!({ "group": GROUP, "version": "v1", "kind": "Flunder" });
    let resource = json!({
        "resource": "flunders", "responseKind": kind, "scope": "Namespaced", "singularResource": "flunder",
        "verbs": ["create", "get", "list"],
    });
    let version = json!({ "version": "v1", "freshness": "Current", "resources": [resource] });
    json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {},
        "items": [{ "metadata": { "name": GROUP }, "versions": [version] }],
    })
}

fn plain() -> Value {
    let resource = json!({
        "name": "flunders", "singularName": "flunder", "namespaced": true, "kind": "Flunder",
        "group": GROUP, "version": "v1", "verbs": ["create", "get", "list"],
    });
    json!({
        "kind": "APIResourceList", "apiVersion": "v1", "groupVersion": format!("{GROUP}/v1"), "resources": [resource],
    })
}

/// Returns the request as JSON.
async fn shown(address: SocketAddr, request: Request<Incoming>) -> Response<Body> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap();
    let trailers = body.trailers().map_or(0, http::HeaderMap::len);
    let body = body.to_bytes();
    let mut headers = json!({});
    for name in head.headers.keys() {
        let values = head.headers.get_all(name).iter();
        headers[name.as_str()] = values.map(|value| value.to_str().unwrap()).collect();
    }
    let target = head.uri.path_and_query().unwrap().as_str();
    json_response(&json!({
        "method": head.method.as_str(), "target": target, "headers": headers,
        "trailers": trailers, "at": address.to_string(),
        "version": format!("{:?}", head.version), "body": String::from_utf8_lossy(&body),
    }))
}

/// Returns an event every 50 ms, without end.
fn ticking() -> Response<Body> {
    let events = futures::stream::unfold(0, |number| async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        Some((Ok::<_, Infallible>(Bytes::from(format!("event {number}\n"))), number + 1))
    });
    response(200, Body::from_stream(events))
}

/// Changes the protocol, and returns what arrives.
fn upgraded(request: Request<Incoming>) -> Response<Body> {
    let protocol = request.headers()["upgrade"].clone();
    tokio::spawn(async move {
        let stream = hyper::upgrade::on(request).await.unwrap();
        let (mut reader, mut writer) = tokio::io::split(TokioIo::new(stream));
        let _ = tokio::io::copy(&mut reader, &mut writer).await;
    });
    let builder = Response::builder().status(101).header("connection", "Upgrade").header("upgrade", protocol);
    builder.body(Body::empty()).unwrap()
}

fn json_response(value: &Value) -> Response<Body> {
    let builder = Response::builder().header("content-type", "application/json");
    builder.body(Body::from(value.to_string())).unwrap()
}

fn response(status: u16, body: Body) -> Response<Body> {
    Response::builder().status(status).body(body).unwrap()
}
