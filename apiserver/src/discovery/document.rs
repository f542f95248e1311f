//! A document that is made once and given as bytes, with a tag that says which bytes.

use axum::body::Body;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use ring::digest::{Digest, SHA256, digest};
use serde_json::Value;

use crate::handlers::negotiation::Format;

/// A document as JSON.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    json: Bytes,
    /// The hash of the bytes, in hexadecimal.
    pub(crate) hash: Box<str>,
    etag: HeaderValue,
}

// === impl Document ===

impl Document {
    /// This value, written once.
    pub(crate) fn json(value: &Value) -> Self {
        let json = Bytes::from(value.to_string());
        let hash = hash_of(&json);
        Self { json, etag: quoted(&hash), hash: hash.into() }
    }

    /// The bytes, when they are in this format.
    pub(crate) fn in_format(&self, format: Format) -> Option<Bytes> {
        (format == Format::Json).then(|| self.json.clone())
    }

    /// The value the bytes stand for.
    pub(crate) fn parsed(&self) -> Value {
        serde_json::from_slice(&self.json).unwrap_or_default()
    }

    /// The document with its tag; 304 for a client that has it already.
    pub(crate) fn cacheable_answer(&self, headers: &HeaderMap, media_type: &'static str) -> Response<Body> {
        let mut response = if has_tag(headers, &self.etag) {
            let mut unchanged = Response::new(Body::empty());
            *unchanged.status_mut() = StatusCode::NOT_MODIFIED;
            unchanged
        } else {
            Response::new(Body::from(self.json.clone()))
        };
        let response_headers = response.headers_mut();
        response_headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        response_headers.insert(ETAG, self.etag.clone());
        response_headers.insert(VARY, HeaderValue::from_static("Accept"));
        // Kept, but asked about each time: it changes with what is installed.
        response_headers.insert(CACHE_CONTROL, HeaderValue::from_static("public"));
        response
    }
}

/// The tag of the bytes with this digest.
pub(crate) fn entity_tag(digest: &Digest) -> HeaderValue {
    quoted(&hexadecimal(digest.as_ref()))
}

/// Whether the client has what this tag stands for.
pub(crate) fn has_tag(headers: &HeaderMap, tag: &HeaderValue) -> bool {
    let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    known
        .flat_map(|value| value.split(','))
        .any(|known| known.trim().trim_start_matches("W/").as_bytes() == tag.as_bytes())
}

fn hash_of(content: &[u8]) -> String {
    hexadecimal(digest(&SHA256, content).as_ref())
}

fn quoted(hash: &str) -> HeaderValue {
    HeaderValue::from_str(&format!("\"{hash}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

/// The hash that tells clients when the version a kind is stored in changes.
pub(super) fn storage_version_hash(group: &str, version: &str, kind: &str) -> String {
    let digest = digest(&SHA256, format!("{group}/{version}/{kind}").as_bytes());
    BASE64_STANDARD.encode(digest.as_ref().get(..8).unwrap_or_default())
}

fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02X}");
        text
    })
}
