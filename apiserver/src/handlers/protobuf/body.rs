//! A list of messages on its way out, in pieces.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::vec;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use registry_core::codec::protobuf::{ListFrame, begin_item};

/// Pieces are about this large.
const CHUNK_BYTES: usize = 64 * 1024;

/// A list as a body.
pub(super) struct MessagesBody {
    frame: ListFrame,
    items: vec::IntoIter<Bytes>,
    remaining_bytes: usize,
}

// === impl MessagesBody ===

impl MessagesBody {
    /// These messages in a list's frame; so many bytes in all.
    pub(super) fn new(frame: ListFrame, items: Vec<Bytes>, size_bytes: usize) -> Self {
        Self { frame, items: items.into_iter(), remaining_bytes: size_bytes }
    }

    fn next_chunk(&mut self) -> Vec<u8> {
        let mut chunk = std::mem::take(&mut self.frame.prefix);
        chunk.reserve(CHUNK_BYTES.min(self.remaining_bytes));
        while chunk.len() < CHUNK_BYTES {
            let Some(message) = self.items.next() else {
                chunk.extend_from_slice(std::mem::take(&mut self.frame.suffix));
                break;
            };
            begin_item(&mut chunk, message.len());
            chunk.extend_from_slice(&message);
        }
        chunk
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
        let chunk = self.next_chunk();
        self.remaining_bytes = self.remaining_bytes.saturating_sub(chunk.len());
        Poll::Ready(Some(Ok(Frame::data(chunk.into()))))
    }

    fn is_end_stream(&self) -> bool {
        self.remaining_bytes == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.remaining_bytes as u64)
    }
}
