//! The discovery documents of extension servers, and the places of their OpenAPI v3 documents.
//!
//! The documents of a server are fetched when it becomes available, and every minute. If it no longer responds, its last
//! documents stay, and are marked as stale.
//!
//! Kubernetes concept: `discoveryManager` of `k8s.io/kube-aggregator`.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use futures::future::BoxFuture;
use http::header::ACCEPT;
use http::{HeaderValue, Request};
use serde_json::Value;

use super::RemoteApis;
use super::ask::get;
use super::known::{Described, KnownDocuments};
use super::remote_service::RemoteService;
use super::rounds::{self, Work};

mod resources;

use resources::{aggregated_resources, plain_resources};

/// Time between two fetches.
const PERIOD: Duration = Duration::from_mins(1);
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
}

// === impl DocumentsController ===

impl DocumentsController {
    /// Creates the controller. It reports to `known`.
    pub(crate) fn new(remote: Arc<RemoteApis>, known: Arc<KnownDocuments>) -> Self {
        Self { remote, known }
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

    const MAX_RUNNING: usize = 32;

    fn is_concerned(before: &RemoteService, now: &RemoteService) -> bool {
        before.uid != now.uid
            || before.at != now.at
            || before.trust != now.trust
            || before.is_available != now.is_available
            || before.priorities != now.priorities
    }

    fn start(&self, service: Arc<RemoteService>) -> BoxFuture<'static, Option<Described>> {
        let remote = self.remote.clone();
        Box::pin(async move { if service.is_available { fetch(&remote, &service).await } else { None } })
    }

    fn finish(&mut self, service: &RemoteService, outcome: Option<Described>) -> Duration {
        self.known.describe(service, outcome);
        PERIOD
    }

    fn forget(&mut self, name: &str) {
        self.known.forget(name);
    }
}

/// Fetches the documents of one group version; `None` if the server does not respond as it should.
async fn fetch(remote: &RemoteApis, service: &RemoteService) -> Option<Described> {
    let resources = match json(remote, service, "/apis", AGGREGATED).await {
        Some(list) => aggregated_resources(&list, service),
        None => None,
    };
    let resources = match resources {
        Some(resources) => resources,
        None => plain_resources(&json(remote, service, &service.root(), "application/json").await?)?,
    };
    let index = json(remote, service, "/openapi/v3", "application/json").await;
    let openapi = index.and_then(|index| openapi_url(&index, service));
    Some(Described { resources: Arc::new(resources), openapi })
}

async fn json(
    remote: &RemoteApis,
    service: &RemoteService,
    path: &str,
    accept: &'static str,
) -> Option<Value> {
    let mut request = Request::get(path).body(Body::empty()).ok()?;
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static(accept));
    let transports = remote.forwarder.transports();
    match get(transports, service, request, TIMEOUT, MAX_DOCUMENT_BYTES).await {
        Ok((head, body)) if head.status.is_success() => serde_json::from_slice(&body).ok(),
        Ok(_) => None,
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
