//! A list of messages on its way out, in pieces.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::vec;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use registry_core::codec::protobuf::{ListFrame, begin_item};
use registry_core::storage::StoredObject;

use super::super::items::Item;
use super::Messages;

/// Pieces are about this large.
const CHUNK_BYTES: usize = 64 * 1024;
/// Messages at least this large are sent as they are; smaller ones are copied together.
const SHARED_FROM_BYTES: usize = 16 * 1024;

/// A list as a body.
pub(super) struct MessagesBody {
    frame: ListFrame,
    messages: Messages,
    items: vec::IntoIter<StoredObject>,
    /// A piece that is ready, behind the one just given.
    ready: Option<Bytes>,
    remaining_bytes: usize,
}

// === impl MessagesBody ===

impl MessagesBody {
    /// The messages of these objects in a list's frame; so many bytes in all.
    pub(super) fn new(
        frame: ListFrame,
        messages: Messages,
        items: Vec<StoredObject>,
        size_bytes: usize,
    ) -> Self {
        Self { frame, messages, items: items.into_iter(), ready: None, remaining_bytes: size_bytes }
    }

    /// The next piece; `None` when an object cannot be written any more, which it could a moment ago: then the
    /// answer breaks off, short of the size that was announced.
    fn next_chunk(&mut self) -> Option<Bytes> {
        if let Some(ready) = self.ready.take() {
            return Some(ready);
        }
        let mut chunk = std::mem::take(&mut self.frame.prefix);
        chunk.reserve(CHUNK_BYTES.min(self.remaining_bytes));
        while chunk.len() < CHUNK_BYTES {
            let Some(entry) = self.items.next() else {
                chunk.extend_from_slice(std::mem::take(&mut self.frame.suffix));
                break;
            };
            let message = self.messages.message(&Item::stored(&entry)).ok()?;
            begin_item(&mut chunk, message.len());
            if message.len() >= SHARED_FROM_BYTES {
                self.ready = Some(message);
                break;
            }
            chunk.extend_from_slice(&message);
        }
        Some(chunk.into())
    }
}

impl Body for MessagesBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _task: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.remaining_bytes == 0 {
            return Poll::Ready(None);
        }
        let Some(chunk) = self.next_chunk() else { return Poll::Ready(None) };
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
