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
use openapi::{RemoteSpec, SpecError};
use ring::digest::{Digest, SHA256, digest};
use tokio::sync::Semaphore;
use tokio::task::JoinError;

use super::RemoteApis;
use super::ask::get;
use super::error::RemoteError;
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
    /// The document has not changed. Its tag may have.
    Same { tag: Option<HeaderValue> },
    /// Another document.
    Other { spec: Arc<RemoteSpec>, tag: Option<HeaderValue>, hash: Digest },
    /// The server has none.
    Nothing,
}

/// A response with a document.
struct Received {
    tag: Option<HeaderValue>,
    /// `None` if the tag is the known one.
    text: Option<Bytes>,
}

/// Error of a document that cannot be fetched. Retryable.
#[derive(Debug, thiserror::Error)]
pub(super) enum FetchError {
    #[error(transparent)]
    NoResponse(#[from] RemoteError),
    #[error("status {0}")]
    Status(StatusCode),
    #[error(transparent)]
    Unreadable(#[from] SpecError),
    /// The thread that parses it failed.
    #[error(transparent)]
    Parser(#[from] JoinError),
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
    type Outcome = Result<Fetched, FetchError>;

    const MAX_RUNNING: usize = 8;

    fn is_concerned(before: &RemoteService, now: &RemoteService) -> bool {
        let becomes_available = now.is_available && !before.is_available;
        becomes_available || before.uid != now.uid || before.at != now.at || before.trust != now.trust
    }

    fn start(&self, service: Arc<RemoteService>) -> BoxFuture<'static, Result<Fetched, FetchError>> {
        let remote = self.remote.clone();
        let parser = self.parser.clone();
        let last = self.last.get(&service.name);
        let tag = last.and_then(|last| last.tag.clone());
        let hash = last.and_then(|last| last.hash);
        Box::pin(async move {
            if !service.is_available || !service.is_forwarded() {
                return Ok(Fetched::Nothing);
            }
            let Some(Received { tag, text }) = fetch(&remote, &service, tag).await? else {
                return Ok(Fetched::Nothing);
            };
            match text.filter(|text| !is_same(hash, text)) {
                None => Ok(Fetched::Same { tag }),
                Some(text) => parse(&parser, &service, tag, text).await,
            }
        })
    }

    fn finish(&mut self, service: &RemoteService, outcome: Result<Fetched, FetchError>) -> Duration {
        let last = self.last.entry(service.name.clone()).or_default();
        match outcome {
            Ok(fetched) => {
                if let Some(spec) = last.replace(fetched) {
                    self.known.specify(service, spec);
                }
            }
            Err(error) => {
                last.failures = last.failures.saturating_add(1);
                tracing::debug!(api_service = service.name, "an OpenAPI document cannot be fetched: {error}");
            }
        }
        PERIOD.saturating_mul(1 << last.failures.min(6)).min(MAX_PAUSE)
    }

    fn forget(&mut self, name: &str) {
        self.last.remove(name);
        self.known.forget_spec(name);
    }
}

// === impl Last ===

impl Last {
    /// Takes over the result of a fetch, and returns the document if it is another one.
    fn replace(&mut self, fetched: Fetched) -> Option<Arc<RemoteSpec>> {
        self.failures = 0;
        match fetched {
            Fetched::Same { tag } => {
                self.tag = tag;
                None
            }
            Fetched::Other { spec, tag, hash } => {
                (self.tag, self.hash) = (tag, Some(hash));
                Some(spec)
            }
            Fetched::Nothing => None,
        }
    }
}

/// Fetches a document; `None` if the server has none.
async fn fetch(
    remote: &RemoteApis,
    service: &RemoteService,
    known: Option<HeaderValue>,
) -> Result<Option<Received>, FetchError> {
    let mut request = Request::new(Body::empty());
    *request.uri_mut() = http::Uri::from_static("/openapi/v2");
    request.headers_mut().insert(ACCEPT, HeaderValue::from_static("application/json"));
    if let Some(known) = &known {
        request.headers_mut().insert(IF_NONE_MATCH, known.clone());
    }
    let transports = remote.forwarder.transports();
    let (mut head, text) = get(transports, service, request, TIMEOUT, MAX_DOCUMENT_BYTES).await?;
    match head.status {
        StatusCode::OK => Ok(Some(Received { tag: head.headers.remove(ETAG), text: Some(text) })),
        StatusCode::NOT_FOUND => Ok(None),
        StatusCode::NOT_MODIFIED if known.is_some() => Ok(Some(Received { tag: known, text: None })),
        status => Err(FetchError::Status(status)),
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
) -> Result<Fetched, FetchError> {
    let _permit = parser.acquire().await;
    let root = service.root();
    // Takes long, compared with a request.
    let parsed =
        tokio::task::spawn_blocking(move || (digest(&SHA256, &text), RemoteSpec::parse(&text, &root)));
    let (hash, spec) = parsed.await?;
    Ok(Fetched::Other { spec: Arc::new(spec?), tag, hash })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_that_has_not_changed_may_have_a_new_tag() {
        let hash = digest(&SHA256, b"{}");
        let mut last = Last { tag: Some(HeaderValue::from_static("1")), hash: Some(hash), failures: 3 };
        let tag = Some(HeaderValue::from_static("2"));
        assert!(last.replace(Fetched::Same { tag: tag.clone() }).is_none());
        assert_eq!((last.tag, last.failures), (tag, 0));
        assert!(is_same(last.hash, b"{}") && !is_same(last.hash, b"[]") && !is_same(None, b"{}"));
    }
}
