//! A list in protobuf: its size precedes its objects, and it is sent in pieces.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::vec;

use bytes::Bytes;
use futures::Stream;
use http_body::{Frame, SizeHint};
use registry_core::api::StatusError;
use registry_core::codec::protobuf::{self, ListFrame, ListMetadata, begin_item};
use registry_core::storage::{ListPage, StoredObject};
use registry_core::storage::{Rest, RestStream};
use responses::negotiation::{Output, ResponseShape};
use responses::{self, Response};

use super::super::call::Call;
use super::super::representation::Item;
use super::super::representation::protobuf::Messages;
use super::next_of;

#[cfg(test)]
mod tests;

/// Number of bytes of JSON that are converted to messages before yielding to other requests.
const TURN_BYTES: usize = 256 * 1024;
/// Approximate size of a piece.
const CHUNK_BYTES: usize = 64 * 1024;
/// Minimum size of messages that are sent without a copy; smaller ones are copied together.
const SHARED_FROM_BYTES: usize = 16 * 1024;

/// A list as a body.
struct MessagesBody {
    frame: ListFrame,
    messages: Messages,
    items: vec::IntoIter<StoredObject>,
    /// The items after those in memory: read a second time.
    rest: Option<RestStream>,
    /// The piece after the one just returned.
    ready: Option<Bytes>,
    /// The message that did not fit into the last piece.
    held: Option<Bytes>,
    remaining_bytes: usize,
}

/// Returns a page of objects. Its size precedes its first object, so every message is encoded, or found in
/// the cache, once before anything is sent; each is then sent from the cache. A message that the full cache
/// did not take is encoded again: no list is ever in memory as a whole.
pub(super) async fn response(
    call: &Call<'_>,
    output: &Output,
    page: ListPage,
) -> Result<Response, StatusError> {
    let messages = Messages::new(call, output.shape)?;
    let kind = match output.shape {
        ResponseShape::PartialList(_) => "PartialObjectMetadataList",
        _ => call.route.path.capabilities.lister.as_ref().map_or("", |lister| lister.list_kind()),
    };
    let items_len = items_len(&messages, &page).await?;
    let revision = page.revision.to_string();
    let continue_token = page.continue_token.as_deref().unwrap_or_default();
    let shard = page.shard.as_ref().filter(|_| output.shape == ResponseShape::Whole);
    let metadata = ListMetadata {
        shard: shard.map_or("", |shard| shard.text()),
        resource_version: &revision,
        continue_token,
        remaining: page
            .remaining
            .filter(|_| page.continue_token.is_some())
            .and_then(|remaining| i64::try_from(remaining).ok()),
    };
    let frame = ListFrame::new(&messages.api_version, kind, &metadata, items_len);
    let size_bytes = frame.prefix.len() + items_len + frame.suffix.len();
    Ok(responses::stream(output, MessagesBody::new(frame, messages, page, size_bytes), size_bytes))
}

/// Returns the size of a page's objects in a list. Yields to other requests in between.
async fn items_len(messages: &Messages, page: &ListPage) -> Result<usize, StatusError> {
    let mut items_len = part_len(messages, &page.items).await?;
    let mut rest = page.rest.as_ref().map(Rest::stream);
    while let Some(items) = next_of(&mut rest).await? {
        items_len += part_len(messages, &items).await?;
    }
    Ok(items_len)
}

async fn part_len(messages: &Messages, items: &[StoredObject]) -> Result<usize, StatusError> {
    let mut items_len = 0;
    let mut turn_bytes = 0;
    for entry in items {
        items_len += protobuf::item_len(messages.message(&Item::stored(entry))?.len());
        turn_bytes += entry.json().len();
        if turn_bytes >= TURN_BYTES {
            turn_bytes = 0;
            tokio::task::yield_now().await;
        }
    }
    Ok(items_len)
}

// === impl MessagesBody ===

impl MessagesBody {
    /// Returns a body of the messages of a page's objects in a list's frame, of this total size.
    fn new(frame: ListFrame, messages: Messages, page: ListPage, size_bytes: usize) -> Self {
        let ListPage { items, rest, .. } = page;
        let items = items.into_iter();
        let rest = rest.as_ref().map(Rest::stream);
        Self { frame, messages, items, rest, ready: None, held: None, remaining_bytes: size_bytes }
    }

    /// Waits until there is an item to write, or no more to read.
    fn poll_items(&mut self, task: &mut Context<'_>) -> Poll<Result<(), StatusError>> {
        while self.ready.is_none() && self.held.is_none() && self.items.as_slice().is_empty() {
            let Some(rest) = &mut self.rest else { break };
            match ready!(Pin::new(rest).poll_next(task)) {
                Some(items) => self.items = items?.into_iter(),
                None => self.rest = None,
            }
        }
        Poll::Ready(Ok(()))
    }

    /// Returns the next message; `None` after the last one in memory.
    fn next_message(&mut self) -> Result<Option<Bytes>, StatusError> {
        if let Some(held) = self.held.take() {
            return Ok(Some(held));
        }
        self.items.next().map(|entry| self.messages.message(&Item::stored(&entry))).transpose()
    }

    /// Returns the next piece.
    ///
    /// # Errors
    /// 500 if an object that could be encoded before cannot be any more: the response then ends before the announced
    /// size.
    fn next_chunk(&mut self) -> Result<Bytes, StatusError> {
        if let Some(ready) = self.ready.take() {
            return Ok(ready);
        }
        let mut chunk = std::mem::take(&mut self.frame.prefix);
        chunk.reserve(CHUNK_BYTES.min(self.remaining_bytes));
        while chunk.len() < CHUNK_BYTES {
            let Some(message) = self.next_message()? else {
                if self.rest.is_some() {
                    break;
                }
                chunk.extend_from_slice(std::mem::take(&mut self.frame.suffix));
                break;
            };
            let is_shared = message.len() >= SHARED_FROM_BYTES;
            let copied_bytes = if is_shared { 0 } else { protobuf::item_len(message.len()) };
            // A piece that is full before it has to grow is copied once.
            if !chunk.is_empty() && chunk.len() + copied_bytes > chunk.capacity() {
                self.held = Some(message);
                break;
            }
            begin_item(&mut chunk, message.len());
            if is_shared {
                self.ready = Some(message);
                break;
            }
            chunk.extend_from_slice(&message);
        }
        Ok(chunk.into())
    }
}

impl http_body::Body for MessagesBody {
    type Data = Bytes;
    type Error = StatusError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, StatusError>>> {
        if self.remaining_bytes == 0 {
            return Poll::Ready(None);
        }
        if let Err(failure) = ready!(self.poll_items(task)) {
            return Poll::Ready(Some(Err(failure)));
        }
        let chunk = match self.next_chunk() {
            Ok(chunk) => chunk,
            Err(failure) => return Poll::Ready(Some(Err(failure))),
        };
        self.remaining_bytes = self.remaining_bytes.saturating_sub(chunk.len());
        Poll::Ready(Some(Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.remaining_bytes == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.remaining_bytes as u64)
    }
}
