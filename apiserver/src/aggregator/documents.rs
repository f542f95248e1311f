//! The discovery documents of extension servers, and the places of their OpenAPI v3 documents.
//!
//! The documents of every server are fetched, whether or not it is available: when its APIService changes, every minute, and
//! after a failure sooner. Without an answer its group version stays without resources, marked as stale, as long as the
//! APIService exists.
//!
//! Kubernetes concept: `discoveryManager` of `k8s.io/kube-aggregator`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures::future::BoxFuture;
use http::header::ACCEPT;
use http::{HeaderValue, Request, StatusCode};
use registry_core::backoff::Backoff;
use registry_core::codec;
use serde_json::Value;

use crate::discovery::{GroupDiscovery, ResourceDiscovery};

use super::RemoteApis;
use super::ask::get;
use super::descriptions::{groups, plain_resources};
use super::known::{Described, KnownDocuments};
use super::remote_service::RemoteService;
use super::rounds::{self, Work};

/// Time between two fetches.
const PERIOD: Duration = Duration::from_mins(1);
/// The pauses after failures.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(500), PERIOD);
/// Maximum time of a request.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum size of a document. Every client of aggregated discovery receives its resources.
const MAX_DOCUMENT_BYTES: usize = 2 * 1024 * 1024;
/// The form of discovery that extension servers are asked for.
const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// Keeps the documents up to date.
pub(crate) struct DocumentsController {
    remote: Arc<RemoteApis>,
    known: Arc<KnownDocuments>,
    /// The pauses after the next failures of servers that fail, by the names of their APIServices.
    failing: HashMap<String, Backoff>,
}

// === impl DocumentsController ===

impl DocumentsController {
    /// Creates the controller. It reports to `known`.
    pub(crate) fn new(remote: Arc<RemoteApis>, known: Arc<KnownDocuments>) -> Self {
        Self { remote, known, failing: HashMap::new() }
    }

    /// Runs until it is dropped.
    pub(crate) async fn run(self) {
        let services = self.remote.services.clone();
        rounds::repeat(services, self).await;
    }
}

impl Work for DocumentsController {
    /// `None` if the server does not respond as it should.
    type Outcome = Option<Described>;

    const MAX_RUNNING: usize = 64;

    fn is_concerned(before: &RemoteService, now: &RemoteService) -> bool {
        before.uid != now.uid
            || before.at != now.at
            || before.trust != now.trust
            || before.is_available != now.is_available
            || before.priorities != now.priorities
    }

    fn start(&self, service: Arc<RemoteService>) -> BoxFuture<'static, Option<Described>> {
        let remote = self.remote.clone();
        Box::pin(async move { fetch(&remote, &service).await })
    }

    fn finish(&mut self, service: &RemoteService, outcome: Option<Described>) -> Duration {
        let pause = if outcome.is_some() {
            self.failing.remove(&service.name);
            PERIOD
        } else {
            self.failing.entry(service.name.clone()).or_insert(BACKOFF).next_pause()
        };
        self.known.describe(service, outcome);
        pause
    }

    fn forget(&mut self, name: &str) {
        self.failing.remove(name);
        self.known.forget(name);
    }
}

/// Fetches the documents of one group version; `None` if the server does not respond as it should.
async fn fetch(remote: &RemoteApis, service: &RemoteService) -> Option<Described> {
    let (status, body) = ask(remote, service, "/apis", AGGREGATED).await?;
    if status == StatusCode::SERVICE_UNAVAILABLE {
        return None;
    }
    let resources = match parsed(status, &body).and_then(|list| groups(&list)) {
        Some(groups) => resources_in(groups, service),
        None => plain_resources(&json(remote, service, &service.root()).await?)?,
    };
    let index = json(remote, service, "/openapi/v3").await;
    let openapi = index.and_then(|index| openapi_url(&index, service));
    Some(Described { resources: Arc::new(resources), openapi })
}

/// Returns the resources of a service's group version: none if the server does not have it.
fn resources_in(groups: Vec<GroupDiscovery>, service: &RemoteService) -> Vec<ResourceDiscovery> {
    let group = groups.into_iter().find(|group| group.name() == service.group);
    let mut versions = group.into_iter().flat_map(|group| group.versions);
    let version = versions.find(|version| version.version == service.version);
    version.map(|version| version.resources).unwrap_or_default()
}

/// Returns a JSON document of the server; `None` if it has none.
async fn json(remote: &RemoteApis, service: &RemoteService, path: &str) -> Option<Value> {
    let (status, body) = ask(remote, service, path, "application/json").await?;
    parsed(status, &body)
}

fn parsed(status: StatusCode, body: &[u8]) -> Option<Value> {
    if !status.is_success() {
        return None;
    }
    codec::json::from_slice(body).ok()
}

/// Returns the answer of the server; `None` if there is none of the maximum size in time.
async fn ask(
    remote: &RemoteApis,
    service: &RemoteService,
    path: &str,
    accept: &'static str,
) -> Option<(StatusCode, Bytes)> {
    let mut request = Request::get(path).body(Body::empty()).ok()?;
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static(accept));
    let transports = remote.forwarder.transports();
    match get(transports, service, request, TIMEOUT, MAX_DOCUMENT_BYTES).await {
        Ok((head, body)) => Some((head.status, body)),
        Err(reason) => {
            tracing::debug!(api_service = service.name, path, "a document cannot be fetched: {reason}");
            None
        }
    }
}

/// Returns the URL of a group version's document in an index of OpenAPI v3.
fn openapi_url(index: &Value, service: &RemoteService) -> Option<String> {
    let path = service.root();
    let path = path.trim_start_matches('/');
    let url = index.get("paths")?.get(path)?.get("serverRelativeURL")?.as_str()?;
    // It is forwarded at this path only.
    url.starts_with(&format!("/openapi/v3/{path}")).then(|| url.to_owned())
}
