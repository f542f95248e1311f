//! OpenAPI v2: one document of everything, derived from those of v3 when it is first requested. It is large
//! (more than 4 MB of JSON, and more with custom kinds) and rarely requested: only its compressed bytes are kept.
//!
//! Kubernetes concept: [OpenAPI v2](https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v2).

use std::io::{BufWriter, Read as _, Write};
use std::sync::OnceLock;

use axum::body::Body;
use bytes::{Buf as _, Bytes};
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use http::header::{CONTENT_ENCODING, VARY};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, StatusCode};
use responses::negotiation::{accepts_gzip, clauses};
use responses::{self, Delivery, EntityTag, Response, ResponseBody};
use ring::digest;

mod content;
mod convert;
mod merged;
mod remote;

pub(super) use content::Content;
pub use remote::{RemoteSpec, SpecError};

/// Path of the document.
pub(super) const PATH: &str = "/openapi/v2";

/// The media types of the protobuf form: the current one, which responses have, and the previous one.
const PROTOBUF: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
];

/// Number of uncompressed bytes that are in memory at a time.
const CHUNK: usize = 64 * 1024;

/// The document in its two encodings.
#[derive(Default)]
pub(super) struct Forms {
    json: OnceLock<Packed>,
    protobuf: OnceLock<Packed>,
}

/// Compressed bytes, with the tag of the uncompressed ones.
struct Packed {
    gzip: Bytes,
    tag: EntityTag,
}

// === impl Forms ===

impl Forms {
    /// Responds to a request for the document, with the content that `make` returns.
    pub(super) fn response<'a>(&self, parts: &Parts, make: impl FnOnce() -> Content<'a> + Send) -> Response {
        match wanted(&parts.headers) {
            Some(Form::Json) => {
                let packed =
                    self.json.get_or_init(|| in_own_thread(|| Packed::pack(|out| make().write_json(out))));
                packed.response(&parts.headers, "application/json")
            }
            Some(Form::Protobuf) => {
                let packed = self
                    .protobuf
                    .get_or_init(|| in_own_thread(|| Packed::pack(|out| make().write_protobuf(out))));
                packed.response(&parts.headers, PROTOBUF[0])
            }
            None => responses::empty(StatusCode::NOT_ACCEPTABLE),
        }
    }
}

/// Packs a document in a thread of its own: the millions of small allocations are then contiguous and return to the system
/// when the thread ends, instead of fragmenting the heap.
fn in_own_thread(make: impl FnOnce() -> Packed + Send) -> Packed {
    std::thread::scope(|scope| match scope.spawn(make).join() {
        Ok(packed) => packed,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Json,
    Protobuf,
}

/// Returns the form that the client prefers.
fn wanted(headers: &HeaderMap) -> Option<Form> {
    let clauses = clauses(headers);
    if clauses.is_empty() {
        return Some(Form::Json);
    }
    clauses.iter().find_map(|clause| match clause.media_type() {
        "*/*" | "application/*" | "application/json" => Some(Form::Json),
        other => PROTOBUF.contains(&other).then_some(Form::Protobuf),
    })
}

/// Compresses and hashes what is written.
struct Packer {
    gzip: GzEncoder<Vec<u8>>,
    digest: digest::Context,
}

impl Default for Packer {
    fn default() -> Self {
        let gzip = GzEncoder::new(Vec::new(), Compression::fast());
        Self { gzip, digest: digest::Context::new(&digest::SHA256) }
    }
}

impl Packer {
    fn finish(self) -> Packed {
        let gzip = self.gzip.finish().unwrap_or_default();
        Packed { gzip: gzip.into(), tag: EntityTag::from_digest(&self.digest.finish()) }
    }
}

impl Write for Packer {
    fn write(&mut self, content: &[u8]) -> std::io::Result<usize> {
        let written = self.gzip.write(content)?;
        self.digest.update(content.get(..written).unwrap_or_default());
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.gzip.flush()
    }
}

// === impl Packed ===

impl Packed {
    /// Packs what is written; the whole is never in memory.
    fn pack(write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Self {
        let mut packer = Packer::default();
        let mut buffered = BufWriter::with_capacity(CHUNK, &mut packer);
        // Writing to memory cannot fail, and a document can be written.
        let _ = write(&mut buffered).and_then(|()| buffered.flush());
        drop(buffered);
        packer.finish()
    }

    fn response(&self, headers: &HeaderMap, media_type: &'static str) -> Response {
        let mut response = self.tag.unless_known(headers, media_type, || {
            if !accepts_gzip(headers) {
                return Response::new(
                    Delivery::Stream(Body::from_stream(futures::stream::iter(self.unpacked()))).into(),
                );
            }
            let mut packed = Response::new(ResponseBody::from(self.gzip.clone()));
            packed.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            packed
        });
        response.headers_mut().insert(VARY, HeaderValue::from_static("Accept, Accept-Encoding"));
        response
    }

    /// Returns the uncompressed bytes in chunks.
    fn unpacked(&self) -> impl Iterator<Item = std::io::Result<Bytes>> + Send + use<> {
        let mut decoder = GzDecoder::new(self.gzip.clone().reader());
        std::iter::from_fn(move || {
            let mut chunk = Vec::with_capacity(CHUNK);
            match decoder.by_ref().take(CHUNK as u64).read_to_end(&mut chunk) {
                Ok(0) => None,
                Ok(_) => Some(Ok(chunk.into())),
                Err(error) => Some(Err(error)),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_the_one_the_client_wants() {
        let of = |accept: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(http::header::ACCEPT, accept.parse().expect("a header"));
            wanted(&headers)
        };
        assert_eq!(of(PROTOBUF[0]), Some(Form::Protobuf));
        assert_eq!(of(&format!("{},application/json", PROTOBUF[1])), Some(Form::Protobuf));
        assert_eq!(of("application/json, */*"), Some(Form::Json));
        assert_eq!(of("text/html"), None);
        assert_eq!(wanted(&HeaderMap::new()), Some(Form::Json));
    }

    #[test]
    fn packed_documents_are_unpacked_unchanged() {
        let long = vec![b' '; 3 * CHUNK];
        let packed = Packed::pack(|out| out.write_all(&long));
        let chunks: std::io::Result<Vec<Bytes>> = packed.unpacked().collect();
        assert_eq!(chunks.expect("they were packed").concat(), long);
        let mut headers = HeaderMap::new();
        let first = packed.response(&headers, "application/json");
        headers.insert(http::header::IF_NONE_MATCH, first.headers()[http::header::ETAG].clone());
        assert_eq!(packed.response(&headers, "application/json").status(), StatusCode::NOT_MODIFIED);
    }
}
