//! `watch`: a stream of events, one JSON frame per line, built from bytes that are encoded once.

use std::time::Duration;

use bytes::{Buf, Bytes};
use http::HeaderValue;
use http::header::CONTENT_TYPE;
use registry_core::api::{Reason, StatusError};
use registry_core::codec::{self, stored};
use registry_core::storage::{StoredObject, WatchError, WatchEvent};
use responses::negotiation::{Endpoint, Format, Output};
use responses::{Delivery, FRAME_END, Pieces, Response, ResponseBody};
use uuid::Uuid;

use crate::authentication::is_websocket;
use crate::metrics::WatchMetrics;

use super::call::Call;
use super::list::selection;
use super::options::ListPurpose;
use super::representation::cbor::{self, Maps};
use super::representation::protobuf::{self, Messages};
use super::representation::{Item, ItemForm};
use super::routing::method_not_allowed;

mod body;
mod initializing;
#[cfg(test)]
mod tests;
mod websocket;

use body::WatchBody;

/// Maximum duration of a watch that a client can request. A longer one would overflow the clock.
const MAX_WATCH_SECONDS: u64 = 366 * 24 * 3600;

/// The cause of a watch's refusal whose resource version is still to come.
const VERSION_TOO_LARGE: &str = "ResourceVersionTooLarge";

/// The types of events, and the bytes before the object in a JSON frame of each.
const ADDED: Kind = Kind { name: "ADDED", head: b"{\"type\":\"ADDED\",\"object\":" };
const MODIFIED: Kind = Kind { name: "MODIFIED", head: b"{\"type\":\"MODIFIED\",\"object\":" };
const DELETED: Kind = Kind { name: "DELETED", head: b"{\"type\":\"DELETED\",\"object\":" };
const BOOKMARK: Kind = Kind { name: "BOOKMARK", head: b"{\"type\":\"BOOKMARK\",\"object\":" };
const ERROR: Kind = Kind { name: "ERROR", head: b"{\"type\":\"ERROR\",\"object\":" };

/// Handles a watch.
pub(super) async fn watch(call: &Call<'_>) -> Result<Response, StatusError> {
    let watcher = call.route.path.capabilities.watcher.as_ref().ok_or_else(method_not_allowed)?;
    let output = call.negotiate(Endpoint::Watch)?;
    let options = selection(call, ListPurpose::Watch)?;
    let frames = Frames::new(call, &output, options.allow_watch_bookmarks)?;
    let timeout = options.timeout_seconds.map_or_else(
        || default_timeout(call.api.config.watches.minimum),
        |seconds| Duration::from_secs(seconds.min(MAX_WATCH_SECONDS)),
    );
    let is_websocket = is_websocket(call.headers);
    let events = match watcher.watch(call.context, &options).await {
        Ok(events) => events,
        Err(failure) if is_about_version(&failure) => {
            let content = ended(&frames, &failure);
            if is_websocket {
                let message = websocket::message(content, output.format);
                return websocket::open(call, futures::stream::iter([message]), output.format);
            }
            return Ok(ended_response(&output, content));
        }
        Err(failure) => return Err(failure),
    };

    let body = WatchBody::new(events, frames, timeout, call.route.ending.clone()).drained(watcher.clone());
    if is_websocket {
        return websocket::open(call, websocket::messages(body, output.format), output.format);
    }
    let mut response = Response::new(Delivery::Watch(Box::new(body)).into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(output.format.stream_media_type()));
    Ok(response)
}

/// Returns whether a watch cannot start because its resource version is too old, or is still to come.
fn is_about_version(failure: &StatusError) -> bool {
    let causes = failure.details.as_ref().map_or(&[][..], |details| &details.causes);
    failure.reason == Reason::Expired || causes.iter().any(|cause| cause.reason == VERSION_TOO_LARGE)
}

/// Returns the frame of a watch that ends with an event of the type `ERROR` before any other event.
///
/// Kubernetes concept: the `errWatcher` of the Cacher.
fn ended(frames: &Frames, failure: &StatusError) -> Bytes {
    let mut pieces = Pieces::default();
    frames.write_failure(&mut pieces, failure);
    pieces.copy_to_bytes(pieces.remaining())
}

/// Returns the response to a watch that consists of this content. Its status is 200.
fn ended_response(output: &Output, content: Bytes) -> Response {
    let mut response = Response::new(ResponseBody::from(content));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(output.format.stream_media_type()));
    response
}

/// Returns the duration of a watch without a requested timeout: at least `minimum`. It is up to twice as long, so that
/// clients that connected together do not connect again together.
fn default_timeout(minimum: Duration) -> Duration {
    // A random uuid has enough randomness to spread the timeouts.
    let (random, _, _, _) = Uuid::new_v4().as_fields();
    minimum + minimum.mul_f64(f64::from(random) / f64::from(u32::MAX))
}

/// A type of event, with its JSON prefix.
#[derive(Clone, Copy)]
struct Kind {
    name: &'static str,
    head: &'static [u8],
}

/// Encodes events as frames.
struct Frames {
    form: ItemForm,
    /// `kind` and `apiVersion` of bookmarks, as JSON fields.
    bookmark_type: Box<str>,
    sends_bookmarks: bool,
    sent_columns: bool,
    wire: Wire,
    metrics: WatchMetrics,
}

/// The format of frames.
enum Wire {
    Json,
    Protobuf(Messages),
    Cbor(Maps),
}

// === impl Frames ===

impl Frames {
    fn new(call: &Call<'_>, output: &Output, sends_bookmarks: bool) -> Result<Self, StatusError> {
        let form = ItemForm::for_watch(call, output)?;
        let (api_version, kind) = match &form {
            // Bookmarks in tables are rows of whole objects.
            ItemForm::Row(_) => ItemForm::Whole.type_of(call.route),
            form => form.type_of(call.route),
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

    /// Adds an event's frame, and counts it.
    ///
    /// # Errors
    /// 500 if the object's bytes are not an object; nothing is added.
    fn write(&mut self, pieces: &mut Pieces, event: WatchEvent) -> Result<(), StatusError> {
        let before = pieces.remaining();
        match event {
            WatchEvent::Added(object) => self.write_object(pieces, ADDED, object)?,
            WatchEvent::Modified(object) => self.write_object(pieces, MODIFIED, object)?,
            WatchEvent::Deleted(object) => self.write_object(pieces, DELETED, object)?,
            WatchEvent::Bookmark { revision, initial_events_end } if self.sends_bookmarks => {
                self.write_bookmark(pieces, revision, initial_events_end)?;
            }
            WatchEvent::Bookmark { .. } => {}
        }
        self.metrics.sent(pieces.remaining() - before);
        Ok(())
    }

    fn write_object(
        &mut self,
        pieces: &mut Pieces,
        kind: Kind,
        object: StoredObject,
    ) -> Result<(), StatusError> {
        let item = Item::stored(&object);
        let mut frame = Vec::new();
        match (&self.wire, &self.form) {
            (_, ItemForm::Row(table)) => {
                let mut json = Vec::new();
                table.write_object(&mut json, &item, !self.sent_columns)?;
                self.sent_columns = true;
                return self.write_made(pieces, kind, &json);
            }
            (Wire::Json, ItemForm::Whole) => {
                pieces.push_frame(kind.head, object);
                return Ok(());
            }
            (Wire::Json, form) => {
                frame.extend_from_slice(kind.head);
                form.write(&mut frame, &item)?;
                frame.extend_from_slice(FRAME_END);
            }
            (Wire::Protobuf(messages), _) => write_message(&mut frame, kind, messages, &item)?,
            (Wire::Cbor(maps), _) => maps.write_event(&mut frame, kind.name, &item)?,
        }
        pieces.push_made(frame.into());
        Ok(())
    }

    /// Writes a frame around an object that was built for it.
    fn write_made(&self, pieces: &mut Pieces, kind: Kind, json: &[u8]) -> Result<(), StatusError> {
        let mut frame = Vec::with_capacity(kind.head.len() + json.len() + FRAME_END.len());
        match &self.wire {
            Wire::Json => {
                frame.extend_from_slice(kind.head);
                frame.extend_from_slice(json);
                frame.extend_from_slice(FRAME_END);
            }
            Wire::Protobuf(messages) => write_message(&mut frame, kind, messages, &Item::encoded(json))?,
            Wire::Cbor(_) => {
                let object = stored::decode_value(json).map_err(StatusError::internal)?;
                cbor::write_made_event(&mut frame, kind.name, &object);
            }
        }
        pieces.push_made(frame.into());
        Ok(())
    }

    fn write_bookmark(
        &mut self,
        pieces: &mut Pieces,
        revision: u64,
        initial_events_end: bool,
    ) -> Result<(), StatusError> {
        let annotations =
            if initial_events_end { ",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}" } else { "" };
        let object = format!(
            "{{{},\"metadata\":{{\"resourceVersion\":\"{revision}\"{annotations}}}}}",
            self.bookmark_type
        );
        let ItemForm::Row(table) = &self.form else {
            return self.write_made(pieces, BOOKMARK, object.as_bytes());
        };
        // The row's object has the resource version of the watch: it is included even if rows have no
        // objects.
        let table = if initial_events_end { table.clone().with_metadata() } else { table.clone() };
        let mut json = Vec::new();
        table.write_object(&mut json, &Item::encoded(object.as_bytes()), !self.sent_columns)?;
        self.sent_columns = true;
        self.write_made(pieces, BOOKMARK, &json)
    }

    /// Writes the frame that ends a watch, for failures that the client has to know of.
    fn write_error(&self, pieces: &mut Pieces, error: &WatchError) {
        let failure = match error {
            WatchError::Compacted { .. } => StatusError::expired(error.to_string()),
            // The client can resume the watch: the end of the stream is sufficient.
            WatchError::Interrupted(_) => return,
            WatchError::Corrupt { .. } => StatusError::new(Reason::InternalError, error.to_string()),
        };
        self.write_failure(pieces, &failure);
    }

    /// Writes the frame that ends a watch.
    fn write_failure(&self, pieces: &mut Pieces, failure: &StatusError) {
        let mut frame = Vec::new();
        match &self.wire {
            Wire::Json => {
                frame.extend_from_slice(ERROR.head);
                frame.extend_from_slice(failure.to_json().as_bytes());
                frame.extend_from_slice(FRAME_END);
            }
            Wire::Protobuf(_) => {
                if let Some(message) = protobuf::status_message(failure) {
                    codec::protobuf::watch_frame(&mut frame, ERROR.name, "v1", "Status", &message);
                }
            }
            Wire::Cbor(_) => cbor::write_made_event(&mut frame, ERROR.name, &failure.to_value()),
        }
        pieces.push_made(frame.into());
    }
}

/// Writes a frame in protobuf.
fn write_message(
    buffer: &mut Vec<u8>,
    kind: Kind,
    messages: &Messages,
    item: &Item<'_>,
) -> Result<(), StatusError> {
    let message = messages.message(item)?;
    codec::protobuf::watch_frame(buffer, kind.name, &messages.api_version, messages.kind, &message);
    Ok(())
}
