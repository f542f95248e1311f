//! The frames of a watch: an event each, in the format that the client accepts.
//!
//! A frame of JSON around a whole object is made of the bytes that are stored, without a copy.

use bytes::Buf as _;
use registry_core::api::{Reason, StatusError};
use registry_core::codec::{self, stored};
use registry_core::storage::{StoredObject, WatchError, WatchEvent};
use responses::negotiation::{Format, Output};
use responses::{FRAME_END, Pieces};

use crate::handlers::call::Call;
use crate::handlers::representation::cbor::{self, Maps};
use crate::handlers::representation::protobuf::{self, Messages};
use crate::handlers::representation::{Item, ItemForm};
use crate::metrics::WatchMetrics;

/// The types of events, and the bytes before the object in a JSON frame of each.
const ADDED: EventType = EventType { name: "ADDED", head: b"{\"type\":\"ADDED\",\"object\":" };
const MODIFIED: EventType = EventType { name: "MODIFIED", head: b"{\"type\":\"MODIFIED\",\"object\":" };
const DELETED: EventType = EventType { name: "DELETED", head: b"{\"type\":\"DELETED\",\"object\":" };
const BOOKMARK: EventType = EventType { name: "BOOKMARK", head: b"{\"type\":\"BOOKMARK\",\"object\":" };
const ERROR: EventType = EventType { name: "ERROR", head: b"{\"type\":\"ERROR\",\"object\":" };

/// A type of event, with its JSON prefix.
#[derive(Clone, Copy)]
struct EventType {
    name: &'static str,
    head: &'static [u8],
}

/// Encodes events as frames.
pub(super) struct Frames {
    pub(super) form: ItemForm,
    /// `kind` and `apiVersion` of bookmarks, as JSON fields.
    pub(super) bookmark_type: Box<str>,
    pub(super) sends_bookmarks: bool,
    pub(super) sent_columns: bool,
    pub(super) wire: Wire,
    pub(super) metrics: WatchMetrics,
}

/// The format of frames.
pub(super) enum Wire {
    Json,
    Protobuf(Messages),
    Cbor(Maps),
}

// === impl Frames ===

impl Frames {
    pub(super) fn new(call: &Call<'_>, output: &Output, sends_bookmarks: bool) -> Result<Self, StatusError> {
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
    pub(super) fn write(&mut self, pieces: &mut Pieces, event: WatchEvent) -> Result<(), StatusError> {
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
        event_type: EventType,
        object: StoredObject,
    ) -> Result<(), StatusError> {
        let item = Item::stored(&object);
        let mut frame = Vec::new();
        match (&self.wire, &self.form) {
            (_, ItemForm::Row(table)) => {
                let mut json = Vec::new();
                table.write_object(&mut json, &item, !self.sent_columns)?;
                self.sent_columns = true;
                return self.write_made(pieces, event_type, &json);
            }
            (Wire::Json, ItemForm::Whole) => {
                pieces.push_frame(event_type.head, object);
                return Ok(());
            }
            (Wire::Json, form) => {
                frame.extend_from_slice(event_type.head);
                form.write(&mut frame, &item)?;
                frame.extend_from_slice(FRAME_END);
            }
            (Wire::Protobuf(messages), _) => write_message(&mut frame, event_type, messages, &item)?,
            (Wire::Cbor(maps), _) => maps.write_event(&mut frame, event_type.name, &item)?,
        }
        pieces.push_made(frame.into());
        Ok(())
    }

    /// Writes a frame around an object that was built for it.
    fn write_made(&self, pieces: &mut Pieces, event_type: EventType, json: &[u8]) -> Result<(), StatusError> {
        let mut frame = Vec::with_capacity(event_type.head.len() + json.len() + FRAME_END.len());
        match &self.wire {
            Wire::Json => {
                frame.extend_from_slice(event_type.head);
                frame.extend_from_slice(json);
                frame.extend_from_slice(FRAME_END);
            }
            Wire::Protobuf(messages) => {
                write_message(&mut frame, event_type, messages, &Item::encoded(json))?;
            }
            Wire::Cbor(_) => {
                let object = stored::decode_value(json).map_err(StatusError::internal)?;
                cbor::write_made_event(&mut frame, event_type.name, &object);
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
    pub(super) fn write_error(&self, pieces: &mut Pieces, error: &WatchError) {
        let failure = match error {
            WatchError::Compacted { .. } => StatusError::expired(error.to_string()),
            // The client can resume the watch: the end of the stream is sufficient.
            WatchError::Interrupted(_) => return,
            WatchError::Corrupt(_) => StatusError::new(Reason::InternalError, error.to_string()),
        };
        self.write_failure(pieces, &failure);
    }

    /// Writes the frame that ends a watch.
    pub(super) fn write_failure(&self, pieces: &mut Pieces, failure: &StatusError) {
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
    event_type: EventType,
    messages: &Messages,
    item: &Item<'_>,
) -> Result<(), StatusError> {
    let message = messages.message(item)?;
    codec::protobuf::watch_frame(buffer, event_type.name, &messages.api_version, messages.kind, &message);
    Ok(())
}
