//! The OpenAPI v2 documents of extension servers, which become part of this server's.
//!
//! They are fetched when a server becomes available, and every minute with the ETag of the last one, so that one that has
//! not changed costs a request. The last good document stays.
//!
//! Kubernetes concept: `AggregationController` of `k8s.io/kube-aggregator/pkg/controllers/openapi`.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures::future::BoxFuture;
use http::header::{ACCEPT, ETAG, IF_NONE_MATCH};
use http::{HeaderValue, Request, StatusCode};
use openapi::RemoteSpec;
use ring::digest::{Digest, SHA256, digest};
use tokio::sync::Semaphore;

use super::RemoteApis;
use super::ask::get;
use super::known::KnownDocuments;
use super::remote_service::RemoteService;
use super::rounds::{self, Work};

/// Time between two fetches.
const PERIOD: Duration = Duration::from_mins(1);
/// Maximum time between two fetches from a server that fails, which grows from [`PERIOD`].
const MAX_PAUSE: Duration = Duration::from_hours(1);
/// Maximum time of a request. Kubernetes waits a minute.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of a document.
const MAX_DOCUMENT_BYTES: usize = 8 * 1024 * 1024;

/// Keeps the documents up to date.
pub(super) struct SpecsController {
    remote: Arc<RemoteApis>,
    known: Arc<KnownDocuments>,
    last: HashMap<String, Last>,
    /// Documents are parsed one after the other, because that takes much more memory than their text.
    parser: Arc<Semaphore>,
}

/// The document that was fetched last from a server.
#[derive(Default)]
struct Last {
    tag: Option<HeaderValue>,
    /// The hash of the text.
    hash: Option<Digest>,
    failures: u32,
}

/// The result of a fetch.
pub(super) enum Fetched {
    /// The document has not changed.
    Same,
    /// Another document.
    Other {
        spec: Arc<RemoteSpec>,
        tag: Option<HeaderValue>,
        hash: Digest,
    },
    /// The server has none.
    Nothing,
    Failed(String),
}

// === impl SpecsController ===

impl SpecsController {
    /// Creates the controller. It reports to `known`.
    pub(super) fn new(remote: Arc<RemoteApis>, known: Arc<KnownDocuments>) -> Self {
        Self { remote, known, last: HashMap::new(), parser: Arc::new(Semaphore::new(1)) }
    }

    /// Runs until it is dropped.
    pub(super) async fn run(self) {
        let services = self.remote.services.clone();
        rounds::repeat(services, self).await;
    }
}

impl Work for SpecsController {
    type Outcome = Fetched;

    const MAX_RUNNING: usize = 8;

    fn is_concerned(before: &RemoteService, now: &RemoteService) -> bool {
        let becomes_available = now.is_available && !before.is_available;
        becomes_available || before.uid != now.uid || before.at != now.at || before.trust != now.trust
    }

    fn start(&self, service: Arc<RemoteService>) -> BoxFuture<'static, Fetched> {
        let remote = self.remote.clone();
        let parser = self.parser.clone();
        let last = self.last.get(&service.name);
        let tag = last.and_then(|last| last.tag.clone());
        let hash = last.and_then(|last| last.hash);
        Box::pin(async move {
            if !service.is_available || !service.is_forwarded() {
                return Fetched::Nothing;
            }
            match fetch(&remote, &service, tag).await {
                Ok(Some((_, text))) if is_same(hash, &text) => Fetched::Same,
                Ok(Some((tag, text))) => parse(&parser, &service, tag, text).await,
                Ok(None) => Fetched::Nothing,
                Err(Unfetched::Unchanged) => Fetched::Same,
                Err(Unfetched::Failed(reason)) => Fetched::Failed(reason),
            }
        })
    }

    fn finish(&mut self, service: &RemoteService, outcome: Fetched) -> Duration {
        let last = self.last.entry(service.name.clone()).or_default();
        match outcome {
            Fetched::Same | Fetched::Nothing => last.failures = 0,
            Fetched::Other { spec, tag, hash } => {
                *last = Last { tag, hash: Some(hash), failures: 0 };
                self.known.specify(service, spec);
            }
            Fetched::Failed(reason) => {
                last.failures = last.failures.saturating_add(1);
                tracing::debug!(
                    api_service = service.name,
                    "an OpenAPI document cannot be fetched: {reason}"
                );
            }
        }
        PERIOD.saturating_mul(1 << last.failures.min(6)).min(MAX_PAUSE)
    }

    fn forget(&mut self, name: &str) {
        self.last.remove(name);
        self.known.forget_spec(name);
    }
}

/// Why there is no document.
enum Unfetched {
    Unchanged,
    Failed(String),
}

/// Fetches the text of a document with its tag; `None` if the server has none.
async fn fetch(
    remote: &RemoteApis,
    service: &RemoteService,
    known: Option<HeaderValue>,
) -> Result<Option<(Option<HeaderValue>, Bytes)>, Unfetched> {
    let mut request = Request::new(Body::empty());
    *request.uri_mut() = http::Uri::from_static("/openapi/v2");
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
    let is_conditional = known.is_some();
    if let Some(known) = known {
        request.headers_mut().insert(IF_NONE_MATCH, known);
    }
    let transports = remote.forwarder.transports();
    let answered = get(transports, service, request, TIMEOUT, MAX_DOCUMENT_BYTES).await;
    let (mut head, text) = answered.map_err(|error| Unfetched::Failed(error.to_string()))?;
    match head.status {
        StatusCode::OK => Ok(Some((head.headers.remove(ETAG), text))),
        StatusCode::NOT_FOUND => Ok(None),
        StatusCode::NOT_MODIFIED if is_conditional => Err(Unfetched::Unchanged),
        status => Err(Unfetched::Failed(format!("status {status}"))),
    }
}

fn is_same(hash: Option<Digest>, text: &[u8]) -> bool {
    hash.is_some_and(|hash| hash.as_ref() == digest(&SHA256, text).as_ref())
}

/// Reads the part of a document that is about the group version of a service.
async fn parse(
    parser: &Semaphore,
    service: &RemoteService,
    tag: Option<HeaderValue>,
    text: Bytes,
) -> Fetched {
    let _permit = parser.acquire().await;
    let root = service.root();
    // Takes long, compared with a request.
    let parsed =
        tokio::task::spawn_blocking(move || (digest(&SHA256, &text), RemoteSpec::parse(&text, &root)));
    match parsed.await {
        Ok((hash, Ok(spec))) => Fetched::Other { spec: Arc::new(spec), tag, hash },
        Ok((_, Err(error))) => Fetched::Failed(error.to_string()),
        Err(error) => Fetched::Failed(error.to_string()),
    }
}
