//! OpenAPI v2: one document of everything, derived from those of v3 when it is first requested. It is large
//! (more than 4 MB of JSON) and rarely requested: only its compressed bytes are kept.
//!
//! Kubernetes concept: [OpenAPI v2](https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-v2).

use std::collections::BTreeSet;
use std::io::{Read as _, Write};
use std::sync::OnceLock;

use axum::body::Body;
use bytes::Bytes;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use http::header::{CONTENT_ENCODING, VARY};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use registry_core::api::GroupVersion;
use ring::digest;
use serde_json::{Map, Value, json};

use crate::responses::negotiation::{accepts_gzip, clauses};
use crate::responses::{self, EntityTag};

use super::gnostic;

mod convert;
mod roots;

/// Path of the document.
pub(super) const PATH: &str = "/openapi/v2";

/// The media types of the protobuf form: the current and the previous one, and that of responses.
const PROTOBUF: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
];

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

/// Returns the document; `versions` are the v3 documents.
pub(super) fn document(versions: Vec<(GroupVersion, Value)>) -> Value {
    let mut paths = roots::paths(versions.iter().map(|(version, _)| *version));
    let mut definitions = Map::new();
    for (_, mut version) in versions {
        if let Some(Value::Object(own)) = version.get_mut("paths").map(Value::take) {
            paths.extend(own.into_iter().map(|(path, item)| (path, convert::path_item(item))));
        }
        let Some(Value::Object(schemas)) = version.pointer_mut("/components/schemas").map(Value::take) else {
            continue;
        };
        for (name, schema) in schemas {
            add_definition(&mut definitions, name, convert::schema(schema));
        }
    }
    json!({
        "swagger": "2.0",
        "info": { "title": "Kubernetes", "version": "unversioned" },
        "paths": paths,
        "definitions": definitions,
        "security": [{ "BearerToken": [] }],
        "securityDefinitions": {
            "BearerToken": {
                "description": "Bearer Token authentication",
                "type": "apiKey", "name": "authorization", "in": "header",
            },
        },
    })
}

/// Adds a definition. For a shared one, the kinds of all documents are merged.
fn add_definition(definitions: &mut Map<String, Value>, name: String, schema: Value) {
    const KINDS: &str = "x-kubernetes-group-version-kind";
    let Some(present) = definitions.get_mut(&name) else {
        definitions.insert(name, schema);
        return;
    };
    let more = schema.get(KINDS).and_then(Value::as_array).into_iter().flatten();
    if let Some(kinds) = present.get_mut(KINDS).and_then(Value::as_array_mut) {
        let known: BTreeSet<String> = kinds.iter().map(Value::to_string).collect();
        kinds.extend(more.filter(|kind| !known.contains(&kind.to_string())).cloned());
    }
}

// === impl Forms ===

impl Forms {
    /// Responds to a request for the document, which `make` creates.
    pub(super) fn answer(&self, parts: &Parts, make: impl FnOnce() -> Value + Send) -> Response<Body> {
        match wanted(&parts.headers) {
            Some(Form::Json) => {
                let packed = self.json.get_or_init(|| aside(|| Packed::json(&make())));
                packed.answer(&parts.headers, "application/json")
            }
            Some(Form::Protobuf) => {
                let packed = self.protobuf.get_or_init(|| aside(|| Packed::bytes(&gnostic::v2(&make()))));
                packed.answer(&parts.headers, PROTOBUF[0])
            }
            None => responses::empty(StatusCode::NOT_ACCEPTABLE),
        }
    }
}

/// Runs a function in a thread of its own: the millions of small allocations of a document are then
/// contiguous and return to the system when the thread ends, instead of fragmenting the heap.
fn aside(make: impl FnOnce() -> Packed + Send) -> Packed {
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
        Packed { gzip: gzip.into(), tag: EntityTag::of(&self.digest.finish()) }
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
    /// Encodes the document as JSON, which is never in memory as a whole.
    fn json(document: &Value) -> Self {
        let mut packer = Packer::default();
        // Writing to memory cannot fail, and a document can be written.
        let _ = serde_json::to_writer(&mut packer, document);
        packer.finish()
    }

    fn bytes(content: &[u8]) -> Self {
        let mut packer = Packer::default();
        let _ = packer.write_all(content);
        packer.finish()
    }

    fn answer(&self, headers: &HeaderMap, media_type: &'static str) -> Response<Body> {
        let mut response = self.tag.unless_known(headers, media_type, || {
            if !accepts_gzip(headers) {
                return Response::new(Body::from(self.unpacked()));
            }
            let mut packed = Response::new(Body::from(self.gzip.clone()));
            packed.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
            packed
        });
        response.headers_mut().insert(VARY, HeaderValue::from_static("Accept, Accept-Encoding"));
        response
    }

    fn unpacked(&self) -> Vec<u8> {
        let mut content = Vec::new();
        // The bytes were written by the encoder itself.
        let _ = GzDecoder::new(&*self.gzip).read_to_end(&mut content);
        content
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
    fn what_is_packed_comes_out_again() {
        let packed = Packed::bytes(b"{}");
        assert_eq!(packed.unpacked(), b"{}");
        let mut headers = HeaderMap::new();
        let first = packed.answer(&headers, "application/json");
        headers.insert(http::header::IF_NONE_MATCH, first.headers()[http::header::ETAG].clone());
        assert_eq!(packed.answer(&headers, "application/json").status(), StatusCode::NOT_MODIFIED);
    }
}
