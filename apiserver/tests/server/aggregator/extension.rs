//! An extension server in the process of the test: it shows the requests that it receives, or does what it should not.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use futures::StreamExt as _;
use http::{Request, Response};
use http_body_util::BodyExt as _;
use hyper::body::{Bytes, Incoming};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};

use crate::tls_server::TlsServer;

/// The group that it serves.
pub const GROUP: &str = "wardle.example.com";

/// What the server does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behavior {
    /// Serves aggregated discovery.
    Serve,
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
}

/// A server. It ends with the test's runtime.
pub struct Extension {
    pub address: SocketAddr,
    /// The certificate (PEM) to check it with, in base64.
    pub ca_bundle: String,
    behavior: Arc<Mutex<Behavior>>,
}

impl Extension {
    /// Starts a server for a service of this name in the namespace `default`.
    pub async fn start(service: &str) -> Self {
        let behavior = Arc::new(Mutex::new(Behavior::Serve));
        let serving = behavior.clone();
        let name = format!("{service}.default.svc");
        let server = TlsServer::start(&[&name], None, move |request| answer(serving.clone(), request)).await;
        Self { address: server.address, ca_bundle: server.ca_bundle(), behavior }
    }

    pub fn set(&self, behavior: Behavior) {
        *self.behavior.lock().unwrap() = behavior;
    }
}

async fn answer(
    behavior: Arc<Mutex<Behavior>>,
    request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let behavior = *behavior.lock().unwrap();
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
        Behavior::Serve if path == "/apis" && wants_aggregated => json_response(&aggregated()),
        _ if path == "/apis" => response(404, Body::empty()),
        _ if path == format!("/apis/{GROUP}/v1") => json_response(&plain()),
        _ if path == "/openapi/v3" => json_response(&json!({ "paths": {
            format!("apis/{GROUP}/v1"): { "serverRelativeURL": format!("/openapi/v3/apis/{GROUP}/v1?hash=abc") },
            "apis/other.example.com/v1": { "serverRelativeURL": "/api/v1/secrets" },
        }})),
        _ if request.uri().query().unwrap_or_default().contains("watch=true") => ticking(),
        _ if request.headers().contains_key("upgrade") => upgraded(request),
        _ => shown(request).await,
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
async fn shown(request: Request<Incoming>) -> Response<Body> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let mut headers = json!({});
    for name in head.headers.keys() {
        let values = head.headers.get_all(name).iter();
        headers[name.as_str()] = values.map(|value| value.to_str().unwrap()).collect();
    }
    let target = head.uri.path_and_query().unwrap().as_str();
    json_response(&json!({
        "method": head.method.as_str(), "target": target, "headers": headers,
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
