//! Lists and watches over HTTP.

use std::error::Error;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use bytes::{Buf as _, Bytes, BytesMut};
use clients::{CallFailure, Client};
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Collected, Full, Limited};
use registry_core::api::Object;
use registry_core::reflector::{Change, Event};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Maximum time of a read, and until a watch begins.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum number of objects of a page.
const PAGE_OBJECTS: u64 = 500;
/// Maximum size of a page.
const MAX_PAGE_BYTES: usize = 256 << 20;
/// Maximum size of a watch event: an object of the size that etcd stores, and its frame.
const MAX_EVENT_BYTES: usize = 8 << 20;
/// Time after which the server ends a watch.
const WATCH_SECONDS: u64 = 480;
/// Time without any event or bookmark (one is sent each minute) after which a watch is given up: its connection is dead.
const SILENCE: Duration = Duration::from_mins(3);

/// The reason that the main server does not answer as expected.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SourceError {
    /// It does not know what was asked for.
    #[error("the main server does not have it: {0}")]
    NotFound(String),
    /// It no longer has the revision.
    #[error("the main server no longer has the revision: {0}")]
    Gone(String),
    /// It refuses, in its own words.
    #[error("{0}")]
    Refused(String),
    /// It cannot be reached.
    #[error(transparent)]
    Unreachable(#[from] CallFailure),
    /// The request cannot be made.
    #[error("{0}")]
    Request(#[source] Arc<http::Error>),
    /// It has not answered in time.
    #[error("the main server has not answered in time")]
    Late,
    /// Its answer breaks off, or is too large.
    #[error("{0}")]
    Body(#[source] Arc<dyn Error + Send + Sync>),
    /// Its answer is none of Kubernetes.
    #[error("the main server's answer cannot be read: {0}")]
    Unreadable(#[source] Arc<serde_json::Error>),
    /// Its answer has something else in place of an object.
    #[error("the main server's answer has no objects")]
    NoObjects,
    /// A list or an object has another revision than a number.
    #[error("the main server's revision {0:?} is no number")]
    Revision(String),
    /// A watch has an event that Kubernetes does not have.
    #[error("the main server sent the unknown event {0:?}")]
    UnknownEvent(String),
    /// A watch has an event larger than any object.
    #[error("the main server sent an event that is too large")]
    LargeEvent,
    /// A watch has had no event and no bookmark.
    #[error("the main server has sent nothing for too long")]
    Silent,
}

/// A server whose objects are read.
#[async_trait]
pub(crate) trait ApiServer: Send + Sync + 'static {
    /// Sends a request for a path and query, and returns the response, whose body may be a stream without end.
    ///
    /// # Errors
    /// Fails if there is no response.
    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Body>, CallFailure>;
}

/// A page of a list.
pub(crate) struct Page {
    /// The revision of the list.
    pub(crate) revision: u64,
    /// The objects, without their type.
    pub(crate) items: Vec<Object>,
    /// The token of the next page.
    pub(crate) continue_token: Option<String>,
}

/// The events of a watch. It ends after an error, and when the server ends it.
pub(crate) type Events = BoxStream<'static, Result<Event<Object>, SourceError>>;

#[derive(Deserialize)]
struct ListAnswer {
    metadata: ListMetadata,
    #[serde(default)]
    items: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ListMetadata {
    resource_version: String,
    #[serde(rename = "continue")]
    continue_token: Option<String>,
}

#[derive(Deserialize)]
struct EventAnswer {
    #[serde(rename = "type")]
    kind: String,
    object: Value,
}

/// Reads one object; `None` if there is none.
pub(crate) async fn get(server: &dyn ApiServer, path: &str) -> Result<Option<Object>, SourceError> {
    match read(server, path).await {
        Ok(body) => object(parse(&body)?).map(Some),
        Err(SourceError::NotFound(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads a document.
pub(crate) async fn document<T: DeserializeOwned>(
    server: &dyn ApiServer,
    path: &str,
) -> Result<T, SourceError> {
    parse(&read(server, path).await?)
}

/// Reads a page of the list at a path with a query that ends in `?` or `&`.
pub(crate) async fn page(
    server: &dyn ApiServer,
    path: &str,
    continue_token: Option<&str>,
) -> Result<Page, SourceError> {
    let mut target = format!("{path}limit={PAGE_OBJECTS}");
    if let Some(token) = continue_token {
        target.push_str("&continue=");
        push_encoded(&mut target, token);
    }
    let ListAnswer { metadata, items } = parse(&read(server, &target).await?)?;
    let items: Result<Vec<Object>, SourceError> = items.into_iter().map(object).collect();
    Ok(Page {
        revision: number(&metadata.resource_version)?,
        items: items?,
        continue_token: metadata.continue_token.filter(|token| !token.is_empty()),
    })
}

/// Watches the list at a path with a query that ends in `?` or `&`, from a revision on.
pub(crate) async fn watch(server: &dyn ApiServer, path: &str, revision: u64) -> Result<Events, SourceError> {
    let target = format!(
        "{path}watch=true&allowWatchBookmarks=true&resourceVersion={revision}&timeoutSeconds={WATCH_SECONDS}"
    );
    let (status, body) = open(server, &target).await?;
    if !status.is_success() {
        let body = tokio::time::timeout(TIMEOUT, collect(body, MAX_EVENT_BYTES)).await;
        // A reason that cannot be read leaves the status.
        return Err(refusal(status, &body.ok().and_then(Result::ok).unwrap_or_default()));
    }
    let lines = Lines { body, buffer: BytesMut::new(), searched: 0 };
    let events = stream::unfold(Some(lines), |lines| async move {
        let mut lines = lines?;
        match lines.next().await {
            Ok(Some(line)) => match event(&line) {
                Ok(event) => Some((Ok(event), Some(lines))),
                Err(error) => Some((Err(error), None)),
            },
            Ok(None) => None,
            Err(error) => Some((Err(error), None)),
        }
    });
    Ok(events.boxed())
}

/// Appends a value to a query.
fn push_encoded(target: &mut String, value: &str) {
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            target.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _ = write!(target, "%{byte:02X}");
        }
    }
}

async fn read(server: &dyn ApiServer, target: &str) -> Result<Bytes, SourceError> {
    let answered = async {
        let (status, body) = open(server, target).await?;
        let body = collect(body, MAX_PAGE_BYTES).await?;
        if status.is_success() { Ok(body) } else { Err(refusal(status, &body)) }
    };
    tokio::time::timeout(TIMEOUT, answered).await.unwrap_or(Err(SourceError::Late))
}

/// Reads a body of at most this size.
async fn collect(body: Body, max_bytes: usize) -> Result<Bytes, SourceError> {
    let read = Limited::new(body, max_bytes).collect().await;
    read.map(Collected::to_bytes).map_err(|error| SourceError::Body(error.into()))
}

/// Requests a path and query. Returns the status and the body.
async fn open(server: &dyn ApiServer, target: &str) -> Result<(StatusCode, Body), SourceError> {
    let request = Request::get(target).body(Full::new(Bytes::new()));
    let request = request.map_err(|error| SourceError::Request(error.into()))?;
    let answered = tokio::time::timeout(TIMEOUT, server.send(request)).await;
    let (head, body) = answered.map_err(|_| SourceError::Late)??.into_parts();
    Ok((head.status, body))
}

/// Returns the error of an answer that is no success.
fn refusal(status: StatusCode, body: &[u8]) -> SourceError {
    let said: Option<Value> = serde_json::from_slice(body).ok();
    let message = said.as_ref().and_then(|said| said.get("message")).and_then(Value::as_str);
    let message = message.map_or_else(|| format!("unexpected status {status}"), str::to_owned);
    match status {
        StatusCode::NOT_FOUND => SourceError::NotFound(message),
        StatusCode::GONE => SourceError::Gone(message),
        _ => SourceError::Refused(message),
    }
}

#[async_trait]
impl ApiServer for Client {
    async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Body>, CallFailure> {
        Ok(self.open(request).await?.map(Body::new))
    }
}

fn parse<'b, T: Deserialize<'b>>(body: &'b [u8]) -> Result<T, SourceError> {
    serde_json::from_slice(body).map_err(|error| SourceError::Unreadable(error.into()))
}

fn object(value: Value) -> Result<Object, SourceError> {
    Object::from_value(value).map_err(|_| SourceError::NoObjects)
}

fn number(text: &str) -> Result<u64, SourceError> {
    text.parse().map_err(|_| SourceError::Revision(text.to_owned()))
}

fn event(line: &[u8]) -> Result<Event<Object>, SourceError> {
    let EventAnswer { kind, object: value } = parse(line)?;
    if kind == "ERROR" {
        let code = value.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        let status = code.and_then(|code| StatusCode::from_u16(code).ok());
        // Without a code it is none that has a meaning here.
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        return Err(refusal(status, value.to_string().as_bytes()));
    }
    let object = object(value)?;
    let revision = revision_of(&object);
    let change = match kind.as_str() {
        "ADDED" => Some(Change::Added(object)),
        "MODIFIED" => Some(Change::Modified(object)),
        "DELETED" => Some(Change::Deleted(object)),
        "BOOKMARK" => None,
        other => return Err(SourceError::UnknownEvent(other.to_owned())),
    };
    Ok(Event { revision: revision?, change })
}

/// Returns the revision of an object.
pub(crate) fn revision_of(object: &Object) -> Result<u64, SourceError> {
    number(object.resource_version())
}

/// The lines of a body.
struct Lines {
    body: Body,
    buffer: BytesMut,
    /// Length of the beginning of the buffer that has no newline.
    searched: usize,
}

// === impl Lines ===

impl Lines {
    /// Returns the next line; `None` at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, SourceError> {
        loop {
            let rest = self.buffer.get(self.searched..).unwrap_or_default();
            if let Some(at) = rest.iter().position(|byte| *byte == b'\n') {
                let line = self.buffer.split_to(self.searched + at).freeze();
                self.buffer.advance(1);
                self.searched = 0;
                return Ok(Some(line));
            }
            self.searched = self.buffer.len();
            if self.searched > MAX_EVENT_BYTES {
                return Err(SourceError::LargeEvent);
            }
            let Ok(frame) = tokio::time::timeout(SILENCE, self.body.frame()).await else {
                return Err(SourceError::Silent);
            };
            match frame {
                None => return Ok(None),
                Some(Err(error)) => return Err(SourceError::Body(Arc::new(error))),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.buffer.extend_from_slice(&data);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_strictly() {
        let kind = |line: &str| match event(line.as_bytes()) {
            Ok(Event { revision: 7, change }) => match change {
                Some(Change::Added(_)) => "added",
                Some(Change::Modified(_)) => "modified",
                Some(Change::Deleted(_)) => "deleted",
                None => "bookmark",
            },
            Ok(_) => "another revision",
            Err(SourceError::Gone(_)) => "gone",
            Err(SourceError::NotFound(_)) => "not found",
            Err(_) => "failed",
        };
        let object = r#"{"metadata":{"resourceVersion":"7"}}"#;
        for (line, expected) in [
            (format!(r#"{{"type":"ADDED","object":{object}}}"#), "added"),
            (format!(r#"{{"type":"MODIFIED","object":{object}}}"#), "modified"),
            (format!(r#"{{"type":"DELETED","object":{object}}}"#), "deleted"),
            (format!(r#"{{"type":"BOOKMARK","object":{object}}}"#), "bookmark"),
            (r#"{"type":"BOOKMARK","object":{}}"#.to_owned(), "failed"),
            (r#"{"type":"ERROR","object":{"code":410,"message":"too old"}}"#.to_owned(), "gone"),
            (r#"{"type":"ERROR","object":{"code":500}}"#.to_owned(), "failed"),
            (r#"{"type":"ERROR","object":[]}"#.to_owned(), "failed"),
            (r#"{"type":"ADDED","object":[]}"#.to_owned(), "failed"),
            (r#"{"type":"ZORK","object":{}}"#.to_owned(), "failed"),
            ("<html>".to_owned(), "failed"),
        ] {
            assert_eq!(kind(&line), expected, "{line}");
        }
    }
}
