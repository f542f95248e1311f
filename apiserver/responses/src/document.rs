//! A document that is encoded once and served as bytes, with an entity tag.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use http::{HeaderMap, HeaderValue, StatusCode};
use registry_core::codec::stored;
use ring::digest::{Digest, SHA256, digest};
use serde::Serialize;
use serde_json::Value;

use super::encoding::json_line;
use super::negotiation::{Format, Output};
use super::{Response, ResponseBody};
use super::{negotiated, plain};

/// A document as JSON.
#[derive(Clone, Debug)]
pub struct Document {
    /// The JSON, and a newline.
    line: Bytes,
    tag: EntityTag,
}

/// An entity tag, which identifies bytes: a client that has them does not receive them again.
#[derive(Clone, Debug)]
pub struct EntityTag(HeaderValue);

// === impl Document ===

impl Document {
    /// Encodes this value.
    pub fn json(value: &impl Serialize) -> Self {
        let line = json_line(value);
        let tag = EntityTag::from_digest(&digest(&SHA256, line.trim_ascii_end()));
        Self { line, tag }
    }

    /// Encodes this value, whose tag is derived from something else than its bytes.
    pub fn tagged(value: &impl Serialize, tag: EntityTag) -> Self {
        Self { line: json_line(value), tag }
    }

    /// Returns the tag.
    pub const fn tag(&self) -> &EntityTag {
        &self.tag
    }

    /// Returns the decoded value.
    pub fn parsed(&self) -> Value {
        stored::decode_value(&self.line).unwrap_or_default()
    }

    /// Returns the document in the negotiated format.
    pub fn response(&self, output: &Output) -> Response {
        if output.format == Format::Json {
            return negotiated::bytes(output, StatusCode::OK, self.line.clone());
        }
        let mut value = self.parsed();
        // The core group's document has no `apiVersion`; protobuf's envelope always has one.
        if let (Format::Protobuf, Some(fields)) = (output.format, value.as_object_mut()) {
            fields.entry("apiVersion").or_insert_with(|| "v1".into());
        }
        negotiated::value(output, StatusCode::OK, &value)
    }

    /// Returns the document with its tag, or 304 if the client has it already.
    pub fn cacheable_response(&self, headers: &HeaderMap, media_type: &'static str) -> Response {
        self.tag.cacheable_response(headers, media_type, || self.bytes())
    }

    /// Returns the encoded document, without a newline.
    pub fn bytes(&self) -> Bytes {
        self.line.slice_ref(self.line.trim_ascii_end())
    }
}

// === impl EntityTag ===

impl EntityTag {
    /// Returns the tag of the bytes with this digest.
    pub fn from_digest(digest: &Digest) -> Self {
        let quoted = HeaderValue::from_str(&format!("\"{}\"", hexadecimal(digest)));
        Self(quoted.unwrap_or(HeaderValue::from_static("\"\"")))
    }

    /// Returns the hash in the tag, in hexadecimal.
    pub fn hash(&self) -> &str {
        self.0.to_str().unwrap_or_default().trim_matches('"')
    }

    /// Returns the bytes of `give`, of this media type, with the tag and for caches, or 304 if the client has them
    /// already.
    pub fn cacheable_response(
        &self,
        headers: &HeaderMap,
        media_type: &'static str,
        give: impl FnOnce() -> Bytes,
    ) -> Response {
        let mut response =
            self.unless_known(headers, media_type, || Response::new(ResponseBody::from(give())));
        let response_headers = response.headers_mut();
        response_headers.insert(VARY, HeaderValue::from_static("Accept"));
        // Clients may store it but have to revalidate it: it changes with what is installed.
        response_headers.insert(CACHE_CONTROL, HeaderValue::from_static("public"));
        response
    }

    /// Returns the bytes of `give`, of this media type, with the tag, or 304 if the client has them already.
    pub fn unless_known(
        &self,
        headers: &HeaderMap,
        media_type: &'static str,
        give: impl FnOnce() -> Response,
    ) -> Response {
        let mut response =
            if self.is_known(headers) { plain::empty(StatusCode::NOT_MODIFIED) } else { give() };
        let response_headers = response.headers_mut();
        response_headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        response_headers.insert(ETAG, self.0.clone());
        response
    }

    /// Returns whether the client has the bytes of this tag.
    fn is_known(&self, headers: &HeaderMap) -> bool {
        let known = headers.get_all(IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
        known
            .flat_map(|value| value.split(','))
            .any(|known| known.trim().trim_start_matches("W/").as_bytes() == self.0.as_bytes())
    }
}

fn hexadecimal(digest: &Digest) -> String {
    use std::fmt::Write;
    let bytes = digest.as_ref();
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02X}");
        text
    })
}
