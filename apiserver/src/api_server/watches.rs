//! The changes of a list.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::{Buf as _, Bytes, BytesMut};
use futures::StreamExt as _;
use futures::stream::{self, BoxStream};
use http::StatusCode;
use http_body_util::{BodyExt as _, Collected, Limited};
use registry_core::api::Object;
use registry_core::reflector::{Change, Event};
use serde::Deserialize;
use serde_json::Value;

use super::exchange::status_object;
use super::lists::{object, parse, refusal, request, revision_of};
use super::{ApiServer, ApiServerError};

/// Maximum time until a watch begins.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum size of a watch event: an object of the size that etcd stores, and its frame.
const MAX_EVENT_BYTES: usize = 8 << 20;
/// Time after which the server ends a watch.
const WATCH_SECONDS: u64 = 480;
/// Time without any event or bookmark (one is sent each minute) after which a watch is given up: its connection is dead.
const SILENCE: Duration = Duration::from_mins(3);

/// The events of a watch. It ends after an error, and when the server ends it.
pub(crate) type Events = BoxStream<'static, Result<Event<Object>, ApiServerError>>;

#[derive(Deserialize)]
struct EventAnswer {
    #[serde(rename = "type")]
    kind: String,
    object: Value,
}

/// Watches the list at a path with a query that ends in `?` or `&`, from a revision on.
pub(crate) async fn watch(
    server: &dyn ApiServer,
    path: &str,
    revision: u64,
) -> Result<Events, ApiServerError> {
    let target = format!(
        "{path}watch=true&allowWatchBookmarks=true&resourceVersion={revision}&timeoutSeconds={WATCH_SECONDS}"
    );
    let answered = tokio::time::timeout(TIMEOUT, server.send(request(&target)?)).await;
    let (head, body) = answered.map_err(|_| ApiServerError::Late)??.into_parts();
    if !head.status.is_success() {
        let body = tokio::time::timeout(TIMEOUT, Limited::new(body, MAX_EVENT_BYTES).collect()).await;
        // A reason that cannot be read leaves the status.
        let body = body.ok().and_then(Result::ok).map(Collected::to_bytes);
        return Err(refusal(head.status, &status_object(&body.unwrap_or_default())));
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

fn event(line: &[u8]) -> Result<Event<Object>, ApiServerError> {
    let EventAnswer { kind, object: value } = parse(line)?;
    if kind == "ERROR" {
        let code = value.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        let status = code.and_then(|code| StatusCode::from_u16(code).ok());
        // Without a code it is none that has a meaning here.
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        return Err(refusal(status, &value));
    }
    let object = object(value)?;
    let revision = revision_of(&object);
    let change = match kind.as_str() {
        "ADDED" => Some(Change::Added(object)),
        "MODIFIED" => Some(Change::Modified(object)),
        "DELETED" => Some(Change::Deleted(object)),
        "BOOKMARK" => None,
        other => return Err(ApiServerError::UnknownEvent(other.to_owned())),
    };
    Ok(Event { revision: revision?, change })
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
    async fn next(&mut self) -> Result<Option<Bytes>, ApiServerError> {
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
                return Err(ApiServerError::LargeEvent);
            }
            let Ok(frame) = tokio::time::timeout(SILENCE, self.body.frame()).await else {
                return Err(ApiServerError::Silent);
            };
            match frame {
                None => return Ok(None),
                Some(Err(error)) => return Err(ApiServerError::Body(Arc::new(error))),
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
            Err(ApiServerError::Gone(_)) => "gone",
            Err(ApiServerError::NotFound(_)) => "not found",
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
