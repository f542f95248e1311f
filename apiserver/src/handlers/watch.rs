//! `watch`: changes as they happen, one JSON frame a line, made from bytes that were encoded once.

use std::time::Duration;

use axum::body::Body;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response};
use registry_core::api::{Reason, StatusError};
use registry_core::codec;
use registry_core::storage::{WatchError, WatchEvent};
use uuid::Uuid;

use super::call::{Call, method_not_allowed};
use super::cbor::{self, Maps};
use super::items::{Item, ItemForm};
use super::list::selection;
use super::negotiation::{Endpoint, Format, Output, Shape};
use super::options::ListPurpose;
use super::protobuf::{self, Messages};
use super::table::Table;
use crate::metrics::WatchMetrics;

mod body;
#[cfg(test)]
mod tests;

use body::WatchBody;

/// The shortest time, in seconds, a watch lasts whose client says nothing. Up to twice as long, so that clients
/// that came together do not come back together.
const MIN_WATCH_SECONDS: u64 = 1800;

/// What stands in a JSON frame before the event's type, before its object, and behind that.
const FRAME_BEGIN: &[u8] = b"{\"type\":\"";
const FRAME_OBJECT: &[u8] = b"\",\"object\":";
const FRAME_END: &[u8] = b"}\n";

/// Among a response's extensions: its body goes on for as long as the client stays, and passes on what others made.
///
/// Kubernetes concept: the long-running requests of `BasicLongRunningRequestCheck`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongRunning;

/// Answers a watch.
pub(super) async fn watch(call: &Call<'_>) -> Result<Response<Body>, StatusError> {
    let watcher = call.route.path.capabilities.watcher.as_ref().ok_or_else(method_not_allowed)?;
    let output = call.negotiate(Endpoint::Watch)?;
    let options = selection(call, ListPurpose::Watch)?;
    let frames = Frames::new(call, &output, options.allow_watch_bookmarks)?;
    let timeout = options.timeout_seconds.map_or_else(default_timeout, Duration::from_secs);
    let events = watcher.watch(call.context, &options).await?;

    let body = WatchBody::new(events, frames, timeout, call.api.shutdown.clone());
    let mut response = Response::new(Body::new(body));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(output.format.stream_media_type()));
    response.extensions_mut().insert(LongRunning);
    Ok(response)
}

fn default_timeout() -> Duration {
    // A random uuid is all the randomness that spreading needs.
    let (random, _) = Uuid::new_v4().as_u64_pair();
    Duration::from_secs(MIN_WATCH_SECONDS + random % MIN_WATCH_SECONDS)
}

/// Turns events into frames.
struct Frames {
    form: ItemForm,
    /// `kind` and `apiVersion` of bookmarks, as JSON fields.
    bookmark_type: Box<str>,
    sends_bookmarks: bool,
    sent_columns: bool,
    wire: Wire,
    metrics: WatchMetrics,
}

/// What frames are written in.
enum Wire {
    Json,
    Protobuf(Messages),
    Cbor(Maps),
}

// === impl Frames ===

impl Frames {
    fn new(call: &Call<'_>, output: &Output, sends_bookmarks: bool) -> Result<Self, StatusError> {
        let (form, kind, api_version) = match output.shape {
            Shape::Whole => (ItemForm::Whole, call.route.kind.kind, &*call.route.api_version),
            Shape::Partial(version) | Shape::PartialList(version) => {
                (ItemForm::Partial(version), "PartialObjectMetadata", version.api_version())
            }
            Shape::Table(version) => {
                (ItemForm::Row(Table::of_request(call, version)?), "Table", version.api_version())
            }
        };
        let bookmark_type = format!("\"kind\":\"{kind}\",\"apiVersion\":\"{api_version}\"").into();
        let wire = match output.format {
            Format::Protobuf => Wire::Protobuf(Messages::new(call, output.shape)?),
            Format::Cbor => Wire::Cbor(Maps::new(call, form.clone())),
            Format::Json | Format::Yaml => Wire::Json,
        };
        let metrics = call.route.metrics.watch();
        Ok(Self { form, bookmark_type, sends_bookmarks, sent_columns: false, wire, metrics })
    }

    /// Writes an event's frame, and counts it.
    fn write(&mut self, buffer: &mut Vec<u8>, event: &WatchEvent) {
        let before = buffer.len();
        self.write_event(buffer, event);
        self.metrics.sent(buffer.len() - before);
    }

    fn write_event(&mut self, buffer: &mut Vec<u8>, event: &WatchEvent) {
        let (kind, entry) = match event {
            WatchEvent::Added(entry) => ("ADDED", entry),
            WatchEvent::Modified(entry) => ("MODIFIED", entry),
            WatchEvent::Deleted(entry) => ("DELETED", entry),
            WatchEvent::Bookmark { revision, initial_events_end } => {
                if self.sends_bookmarks {
                    self.write_bookmark(buffer, *revision, *initial_events_end);
                }
                return;
            }
        };
        let item = Item::stored(entry);
        match (&self.wire, &self.form) {
            (_, ItemForm::Row(table)) => {
                let mut json = Vec::new();
                table.write_object(&mut json, &item, !std::mem::replace(&mut self.sent_columns, true));
                self.write_made(buffer, kind, &json);
            }
            (Wire::Json, form) => {
                // Exactly, so that a frame that goes alone becomes shared bytes as it is.
                buffer.reserve_exact(frame_head_bytes(kind) + entry.json.len() + FRAME_END.len());
                open(buffer, kind);
                form.write(buffer, &item);
                buffer.extend_from_slice(FRAME_END);
            }
            (Wire::Protobuf(messages), _) => write_message(buffer, kind, messages, &item),
            (Wire::Cbor(maps), _) => maps.write_event(buffer, kind, &item),
        }
    }

    /// Writes a frame around an object that was made for it.
    fn write_made(&self, buffer: &mut Vec<u8>, kind: &str, json: &[u8]) {
        match &self.wire {
            Wire::Json => {
                open(buffer, kind);
                buffer.extend_from_slice(json);
                buffer.extend_from_slice(FRAME_END);
            }
            Wire::Protobuf(messages) => write_message(buffer, kind, messages, &Item::encoded(json)),
            Wire::Cbor(_) => cbor::write_made_event(buffer, kind, json),
        }
    }

    fn write_bookmark(&self, buffer: &mut Vec<u8>, revision: u64, initial_events_end: bool) {
        if let ItemForm::Row(table) = &self.form {
            let mut json = Vec::new();
            table.write_empty(&mut json, revision);
            return self.write_made(buffer, "BOOKMARK", &json);
        }
        let annotations =
            if initial_events_end { ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" } else { "" };
        let object = format!(
            "{{{},\"metadata\":{{\"resourceVersion\":\"{revision}\"{annotations}}}}}",
            self.bookmark_type
        );
        self.write_made(buffer, "BOOKMARK", object.as_bytes());
    }

    /// Writes the frame that ends a watch, for failures the client has to know of.
    fn write_error(&self, buffer: &mut Vec<u8>, error: &WatchError) {
        let failure = match error {
            WatchError::Compacted { .. } => StatusError::expired(error.to_string()),
            // The client watches on from where it is: the end of the stream says all it needs.
            WatchError::Interrupted(_) => return,
            WatchError::Corrupt { .. } => StatusError::new(Reason::InternalError, error.to_string()),
        };
        if matches!(self.wire, Wire::Protobuf(_)) {
            return write_failure(buffer, &failure);
        }
        self.write_made(buffer, "ERROR", failure.to_value().to_string().as_bytes());
    }
}

/// A frame in protobuf. An object that cannot be written ends nothing: it is told in its place.
fn write_message(buffer: &mut Vec<u8>, event: &str, messages: &Messages, item: &Item<'_>) {
    match messages.message(item) {
        Ok(message) => {
            codec::protobuf::watch_frame(buffer, event, &messages.api_version, messages.kind, &message);
        }
        Err(failure) => write_failure(buffer, &failure),
    }
}

fn write_failure(buffer: &mut Vec<u8>, failure: &StatusError) {
    if let Some(message) = protobuf::status_message(failure) {
        codec::protobuf::watch_frame(buffer, "ERROR", "v1", "Status", &message);
    }
}

fn open(buffer: &mut Vec<u8>, kind: &str) {
    buffer.extend_from_slice(FRAME_BEGIN);
    buffer.extend_from_slice(kind.as_bytes());
    buffer.extend_from_slice(FRAME_OBJECT);
}

fn frame_head_bytes(kind: &str) -> usize {
    FRAME_BEGIN.len() + kind.len() + FRAME_OBJECT.len()
}
