//! The last step of a response: indentation and compression.

use std::io::Write;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body::{Body, Frame};
use serde::Serialize;

use crate::turns::wake_after_others;

use super::negotiation::{Format, Output};

mod pretty;
#[cfg(test)]
mod tests;

use pretty::Pretty;

/// Minimum size of responses that are compressed.
const GZIP_FROM_BYTES: usize = 128 * 1024;
/// Number of bytes after which the task lets others run: compressing them takes about 0.1 ms.
const TURN_BYTES: usize = 64 * 1024;

/// The encoding of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Encoding {
    /// Whether it is indented.
    pub(super) pretty: bool,
    /// Whether it is compressed.
    pub(super) gzip: bool,
}

/// A body whose bytes are encoded on the fly.
pub(super) struct EncodedBody<B> {
    inner: B,
    encoder: Option<Encoder>,
    /// Bytes of the last frame that are not encoded yet.
    rest: Bytes,
    /// Number of bytes that were encoded in this turn of the task.
    encoded_in_turn: usize,
}

struct Encoder {
    pretty: Option<Pretty>,
    gzip: Option<GzEncoder<Vec<u8>>>,
}

/// Returns a value as JSON with a newline.
pub(super) fn json_line(value: &impl Serialize) -> Bytes {
    // Cannot fail: the keys are strings, and all values have a JSON form.
    let mut line = serde_json::to_vec(value).unwrap_or_default();
    line.push(b'\n');
    line.into()
}

// === impl Encoding ===

impl Encoding {
    /// Returns the encoding that a client accepts for a response of about this size.
    pub(super) fn select(output: &Output, size_bytes: usize) -> Self {
        Self {
            pretty: output.pretty && output.format == Format::Json,
            gzip: output.gzip && size_bytes >= GZIP_FROM_BYTES,
        }
    }

    /// Returns whether the bytes are unchanged.
    pub(super) fn is_identity(self) -> bool {
        !self.pretty && !self.gzip
    }
}

/// Encodes a complete response.
pub(super) fn encode_all(encoding: Encoding, content: &[u8]) -> Bytes {
    let mut encoder = Encoder::new(encoding);
    let mut encoded = encoder.encode(content);
    encoded.extend_from_slice(&encoder.finish());
    encoded.into()
}

// === impl Encoder ===

impl Encoder {
    fn new(encoding: Encoding) -> Self {
        Self {
            pretty: encoding.pretty.then(Pretty::default),
            // The fastest level, as in Kubernetes: JSON compresses well at any.
            gzip: encoding.gzip.then(|| GzEncoder::new(Vec::new(), Compression::fast())),
        }
    }

    /// Returns what can be sent after these bytes; may be empty.
    fn encode(&mut self, content: &[u8]) -> Vec<u8> {
        let indented = match &mut self.pretty {
            Some(pretty) => pretty.indent(content),
            None => content.to_vec(),
        };
        let Some(gzip) = &mut self.gzip else { return indented };
        // Writing to memory cannot fail.
        let _ = gzip.write_all(&indented);
        std::mem::take(gzip.get_mut())
    }

    /// Returns the remaining bytes.
    fn finish(self) -> Vec<u8> {
        self.gzip.and_then(|gzip| gzip.finish().ok()).unwrap_or_default()
    }
}

// === impl EncodedBody ===

impl<B> EncodedBody<B> {
    /// Returns this body, encoded.
    pub(super) fn new(inner: B, encoding: Encoding) -> Self {
        Self { inner, encoder: Some(Encoder::new(encoding)), rest: Bytes::new(), encoded_in_turn: 0 }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for EncodedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        task: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        loop {
            let EncodedBody { inner, encoder, rest, encoded_in_turn } = &mut *self;
            let Some(running) = encoder else { return Poll::Ready(None) };
            if *encoded_in_turn >= TURN_BYTES {
                *encoded_in_turn = 0;
                wake_after_others(task);
                return Poll::Pending;
            }
            let encoded = if rest.is_empty() {
                match ready!(Pin::new(inner).poll_frame(task)) {
                    Some(Ok(frame)) => {
                        *rest = frame.into_data().unwrap_or_default();
                        continue;
                    }
                    Some(Err(failure)) => {
                        *encoder = None;
                        return Poll::Ready(Some(Err(failure)));
                    }
                    None => encoder.take().map(Encoder::finish).unwrap_or_default(),
                }
            } else {
                let piece = rest.split_to(rest.len().min(TURN_BYTES));
                *encoded_in_turn += piece.len();
                running.encode(&piece)
            };
            if !encoded.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(encoded.into()))));
            }
        }
    }
}
