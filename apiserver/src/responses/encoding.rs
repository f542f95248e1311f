//! The last step of an answer's bytes: indented for people, compressed for the wire.

use std::io::Write;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http_body::{Body, Frame};

use super::negotiation::{Format, Output};

mod pretty;
#[cfg(test)]
mod tests;

use pretty::Pretty;

/// Answers smaller than this are not worth compressing.
const GZIP_FROM_BYTES: usize = 128 * 1024;

/// What is done to an answer's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Encoding {
    /// Indented.
    pub(super) pretty: bool,
    /// Compressed.
    pub(super) gzip: bool,
}

/// A body whose bytes are encoded as they pass.
pub(super) struct EncodedBody<B> {
    inner: B,
    encoder: Option<Encoder>,
}

struct Encoder {
    pretty: Option<Pretty>,
    gzip: Option<GzEncoder<Vec<u8>>>,
}

// === impl Encoding ===

impl Encoding {
    /// What a client wants done to an answer of about this size.
    pub(super) fn of(output: &Output, size_bytes: usize) -> Self {
        Self {
            pretty: output.pretty && output.format == Format::Json,
            gzip: output.gzip && size_bytes >= GZIP_FROM_BYTES,
        }
    }

    /// Whether a line's end follows the answer: after JSON, unless it is indented.
    pub(super) fn ends_line(self, format: Format) -> bool {
        format == Format::Json && !self.pretty
    }

    /// Whether nothing is done.
    pub(super) fn is_identity(self) -> bool {
        !self.pretty && !self.gzip
    }
}

/// Encodes an answer that is all there, and the end of its line if it has one.
pub(super) fn encode_all(encoding: Encoding, content: &[u8], ends_line: bool) -> Bytes {
    let mut encoder = Encoder::new(encoding);
    let mut encoded = encoder.encode(content);
    if ends_line {
        encoded.extend_from_slice(&encoder.encode(b"\n"));
    }
    encoded.extend_from_slice(&encoder.finish());
    encoded.into()
}

// === impl Encoder ===

impl Encoder {
    fn new(encoding: Encoding) -> Self {
        Self {
            pretty: encoding.pretty.then(Pretty::default),
            // The fastest level, as Kubernetes has it: JSON shrinks well with any.
            gzip: encoding.gzip.then(|| GzEncoder::new(Vec::new(), Compression::fast())),
        }
    }

    /// What can be sent after these bytes; may be nothing yet.
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

    /// What remains to be sent.
    fn finish(self) -> Vec<u8> {
        self.gzip.and_then(|gzip| gzip.finish().ok()).unwrap_or_default()
    }
}

// === impl EncodedBody ===

impl<B> EncodedBody<B> {
    /// This body, encoded.
    pub(super) fn new(inner: B, encoding: Encoding) -> Self {
        Self { inner, encoder: Some(Encoder::new(encoding)) }
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
            if self.encoder.is_none() {
                return Poll::Ready(None);
            }
            let frame = ready!(Pin::new(&mut self.inner).poll_frame(task));
            let encoded = match frame {
                Some(Ok(frame)) => match (frame.into_data(), &mut self.encoder) {
                    (Ok(data), Some(encoder)) => encoder.encode(&data),
                    _ => continue,
                },
                Some(Err(failure)) => {
                    self.encoder = None;
                    return Poll::Ready(Some(Err(failure)));
                }
                None => self.encoder.take().map(Encoder::finish).unwrap_or_default(),
            };
            if !encoded.is_empty() {
                return Poll::Ready(Some(Ok(Frame::data(encoded.into()))));
            }
        }
    }
}
