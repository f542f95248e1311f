//! The body of a list: produced in pieces from shared slices, as fast as the client reads it. Items that are
//! not in memory are read once the client has taken those before them.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::vec;

use bytes::Bytes;
use futures::Stream;
use http_body::{Body, Frame, SizeHint};
use registry_core::api::StatusError;
use registry_core::codec::{protobuf, stored};
use registry_core::storage::{ListPage, Rest, RestStream, StoredObject};
use responses::yaml;

use super::super::representation::cbor::Maps;
use super::super::representation::protobuf::Messages;
use super::super::representation::{Item, ItemForm};

/// Approximate size of a piece: large enough to keep the overhead low, small enough to be sent while the next
/// one is produced.
const CHUNK_BYTES: usize = 64 * 1024;
/// Minimum size of items that are sent without a copy; smaller ones are copied together.
const SHARED_FROM_BYTES: usize = 16 * 1024;

/// A list as a body.
pub(super) struct ListBody {
    /// The bytes before the items; sent with the first piece.
    prefix: Vec<u8>,
    items: vec::IntoIter<StoredObject>,
    /// The items after those in memory.
    rest: Option<RestStream>,
    writer: Writer,
    /// The bytes after the items; `None` once they are sent.
    suffix: Option<Vec<u8>>,
    /// The first piece, if it was made before the response started.
    begun: Option<Bytes>,
    /// The piece after the one just returned.
    ready: Option<Bytes>,
    is_first_item: bool,
    remaining_bytes: Option<u64>,
}

/// Format of the items.
pub(super) enum Writer {
    /// JSON, separated by commas.
    Json(ItemForm),
    /// As YAML list items.
    Yaml(ItemForm),
    /// A sequence of CBOR items.
    Cbor(Maps),
    /// Messages in protobuf.
    Protobuf(MessageWriter),
}

/// Writes messages, whose size is known in advance.
pub(super) struct MessageWriter {
    messages: Messages,
    items_len: usize,
    /// The message of the next item, if it did not fit into the last piece.
    next: Option<Bytes>,
}

// === impl ListBody ===

impl ListBody {
    /// Returns a body of the items of a page, between a prefix and a suffix.
    pub(super) fn new(prefix: Vec<u8>, page: ListPage, writer: Writer, suffix: Vec<u8>) -> Self {
        let ListPage { items, rest, .. } = page;
        let remaining_bytes = writer
            .total_bytes(&items, rest.is_some())
            .and_then(|total| u64::try_from(total + prefix.len() + suffix.len()).ok());
        Self {
            prefix,
            items: items.into_iter(),
            rest: rest.as_ref().map(Rest::stream),
            writer,
            suffix: Some(suffix),
            begun: None,
            ready: None,
            is_first_item: true,
            remaining_bytes,
        }
    }

    /// Waits until there is an item to write, or no more to read.
    fn poll_items(&mut self, task: &mut Context<'_>) -> Poll<Result<(), StatusError>> {
        while self.begun.is_none() && self.ready.is_none() && self.items.as_slice().is_empty() {
            let Some(rest) = &mut self.rest else { break };
            match ready!(Pin::new(rest).poll_next(task)) {
                Some(items) => self.items = items?.into_iter(),
                None => self.rest = None,
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Returns the body with its first piece, so that an item in it that cannot be written fails the request. Later
    /// ones break the response.
    ///
    /// # Errors
    /// 500 if the bytes of an item are not an object.
    pub(super) fn begun(mut self) -> Result<Self, StatusError> {
        if self.writer.can_fail() && !self.items.as_slice().is_empty() {
            self.begun = self.next_chunk()?;
        }
        Ok(self)
    }

    fn next_chunk(&mut self) -> Result<Option<Bytes>, StatusError> {
        let begun = self.begun.take();
        if let Some(ready) = begun.or_else(|| self.ready.take()) {
            return Ok(Some(ready));
        }
        if self.suffix.is_none() {
            return Ok(None);
        }
        let mut buffer = std::mem::take(&mut self.prefix);
        let reserved = self.remaining_bytes.map(|remaining| CHUNK_BYTES.min(clamp(remaining)));
        buffer.reserve(reserved.unwrap_or(CHUNK_BYTES + SHARED_FROM_BYTES));
        while buffer.len() < CHUNK_BYTES {
            let Some(entry) = self.items.as_slice().first() else {
                if self.rest.is_some() {
                    break;
                }
                buffer.extend_from_slice(&self.suffix.take().unwrap_or_default());
                break;
            };
            if !buffer.is_empty() && buffer.len() + self.writer.copied_bytes(entry)? > buffer.capacity() {
                break;
            }
            let Some(entry) = self.items.next() else { break };
            let is_first = std::mem::take(&mut self.is_first_item);
            if let Some(shared) = self.writer.begin(&mut buffer, &entry, is_first)? {
                self.ready = Some(shared);
                break;
            }
        }
        Ok(Some(buffer.into()))
    }
}

fn clamp(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

impl Body for ListBody {
    type Data = Bytes;
    type Error = StatusError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StatusError>>> {
        if let Err(failure) = ready!(self.poll_items(task)) {
            return Poll::Ready(Some(Err(failure)));
        }
        let chunk = match self.next_chunk() {
            Ok(chunk) => chunk,
            Err(failure) => return Poll::Ready(Some(Err(failure))),
        };
        if let (Some(remaining), Some(chunk)) = (&mut self.remaining_bytes, &chunk) {
            *remaining = remaining.saturating_sub(chunk.len() as u64);
        }
        Poll::Ready(chunk.map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.suffix.is_none() && self.begun.is_none() && self.ready.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.remaining_bytes.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

// === impl Writer ===

impl Writer {
    /// Returns whether an item can be impossible to write, because its bytes are decoded.
    fn can_fail(&self) -> bool {
        !matches!(self, Self::Json(ItemForm::Whole | ItemForm::Tail) | Self::Protobuf(_))
    }

    /// Writes an item, or the bytes before it and returns the rest to be shared.
    ///
    /// # Errors
    /// 500 if its bytes are not an object.
    fn begin(
        &mut self,
        buffer: &mut Vec<u8>,
        entry: &StoredObject,
        is_first: bool,
    ) -> Result<Option<Bytes>, StatusError> {
        let item = Item::stored(entry);
        match self {
            Self::Json(form) => {
                if !is_first {
                    buffer.push(b',');
                }
                if let Some(shared) = shared(form, entry, &item) {
                    if matches!(form, ItemForm::Tail) && !item.tail.is_empty() {
                        buffer.push(b'{');
                    }
                    return Ok(Some(shared));
                }
                form.write(buffer, &item)?;
            }
            Self::Yaml(form) => {
                let mut json = Vec::with_capacity(item.json.len());
                form.write(&mut json, &item)?;
                let value = stored::decode_value(&json).map_err(|error| item.unreadable(&error))?;
                let mut text = String::new();
                yaml::write_item(&mut text, &value, 0);
                buffer.extend_from_slice(text.as_bytes());
            }
            Self::Cbor(maps) => {
                let Some(whole) = maps.begin_item(buffer, &item)? else { return Ok(None) };
                if whole.len() >= SHARED_FROM_BYTES {
                    return Ok(Some(whole));
                }
                buffer.extend_from_slice(&whole);
            }
            Self::Protobuf(writer) => {
                let message = writer.take(&item)?;
                protobuf::begin_item(buffer, message.len());
                if message.len() >= SHARED_FROM_BYTES {
                    return Ok(Some(message));
                }
                buffer.extend_from_slice(&message);
            }
        }
        Ok(None)
    }

    /// Returns the number of bytes that an item adds to a piece, if that is known without writing it: a piece
    /// that is full before does not have to be reallocated.
    ///
    /// # Errors
    /// 500 if a message that could be encoded before cannot be any more.
    fn copied_bytes(&mut self, entry: &StoredObject) -> Result<usize, StatusError> {
        let item = Item::stored(entry);
        let bytes = match self {
            Self::Json(form) => 1 + form.exact_len(&item).unwrap_or_default(),
            Self::Protobuf(writer) => protobuf::item_len(writer.peek(&item)?.len()),
            Self::Yaml(_) | Self::Cbor(_) => 0,
        };
        Ok(if bytes < SHARED_FROM_BYTES { bytes } else { 0 })
    }

    /// Returns the size of all items with their separators, if that is known without writing them.
    fn total_bytes(&self, items: &[StoredObject], has_rest: bool) -> Option<usize> {
        match self {
            Self::Json(form) if !has_rest => {
                let separators = items.len().saturating_sub(1);
                items
                    .iter()
                    .try_fold(separators, |total, entry| Some(total + form.exact_len(&Item::stored(entry))?))
            }
            Self::Protobuf(writer) => Some(writer.items_len),
            Self::Json(_) | Self::Yaml(_) | Self::Cbor(_) => None,
        }
    }
}

// === impl MessageWriter ===

impl MessageWriter {
    /// Returns a writer of messages of this total size, with the bytes before each.
    pub(super) const fn new(messages: Messages, items_len: usize) -> Self {
        Self { messages, items_len, next: None }
    }

    /// Returns the message of an item, and keeps it: the full cache may not have taken it.
    fn peek(&mut self, item: &Item<'_>) -> Result<&Bytes, StatusError> {
        let message = self.take(item)?;
        Ok(self.next.insert(message))
    }

    fn take(&mut self, item: &Item<'_>) -> Result<Bytes, StatusError> {
        self.next.take().map_or_else(|| self.messages.message(item), Ok)
    }
}

/// Returns the part of a large item that is not copied.
fn shared(form: &ItemForm, entry: &StoredObject, item: &Item<'_>) -> Option<Bytes> {
    let part = match form {
        ItemForm::Tail if !item.tail.is_empty() => item.tail,
        ItemForm::Whole | ItemForm::Tail => item.json,
        ItemForm::Partial(_) | ItemForm::Row(_) => return None,
    };
    (part.len() >= SHARED_FROM_BYTES).then(|| entry.line().slice_ref(part))
}
