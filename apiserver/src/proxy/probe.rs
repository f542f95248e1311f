//! Health of the other parts of the control plane, requested at their default ports.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use clients::dial::connect;
use http::header::HOST;
use http::{HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use registry_core::rest::components::{Component, ComponentProbe};
use rustls::ClientConfig;

use crate::health::{Check, Unhealthy};

use super::PeerTls;

/// Maximum time for a response.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of the response that is shown.
const MAX_BYTES: usize = 1024;
/// The name of the store.
const STORE: &str = "etcd-0";
/// The other parts, and the ports of this machine on which they report their health.
const PARTS: [(&str, u16); 2] = [("controller-manager", 10257), ("scheduler", 10259)];

/// The store, the scheduler and the controller manager.
pub(crate) struct ControlPlane {
    store: Arc<dyn Check>,
    tls: Arc<ClientConfig>,
}

// === impl ControlPlane ===

impl ControlPlane {
    pub(crate) fn new(store: Arc<dyn Check>, tls: &PeerTls) -> Self {
        Self { store, tls: tls.workload.clone() }
    }

    async fn ask(&self, port: u16) -> Result<String, Unhealthy> {
        let address = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port);
        let host = address.ip().to_string();
        let failed =
            |error: &dyn std::fmt::Display| Unhealthy(format!("Get \"https://{address}/healthz\": {error}"));
        let stream =
            connect(&[address], &host, Some(self.tls.clone())).await.map_err(|error| failed(&error))?;
        let (mut sender, connection) =
            http1::handshake(TokioIo::new(stream)).await.map_err(|error| failed(&error))?;
        let connection = tokio::spawn(connection);
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = http::Uri::from_static("/healthz");
        if let Ok(host) = HeaderValue::from_str(&address.to_string()) {
            request.headers_mut().insert(HOST, host);
        }
        let answer = sender.send_request(request).await.map_err(|error| failed(&error))?;
        let status = answer.status();
        let text = Limited::new(answer.into_body(), MAX_BYTES).collect().await;
        connection.abort();
        let text = text.map(http_body_util::Collected::to_bytes).unwrap_or_default();
        let text = String::from_utf8_lossy(&text).into_owned();
        if status == StatusCode::OK { Ok(text) } else { Err(Unhealthy(text)) }
    }
}

#[async_trait]
impl ComponentProbe for ControlPlane {
    fn names(&self) -> Vec<String> {
        PARTS.iter().map(|(name, _)| *name).chain([STORE]).map(str::to_owned).collect()
    }

    async fn probe(&self, name: &str) -> Option<Component> {
        let health = if name == STORE {
            self.store.check().await.map(|()| "ok".to_owned())
        } else {
            let (_, port) = PARTS.iter().find(|(part, _)| *part == name)?;
            match tokio::time::timeout(TIMEOUT, self.ask(*port)).await {
                Ok(answer) => answer,
                Err(_) => Err(Unhealthy("it did not answer in time".to_owned())),
            }
        };
        let is_healthy = health.is_ok();
        let (Ok(message) | Err(Unhealthy(message))) = health;
        Some(Component { name: name.to_owned(), is_healthy, message })
    }
}
