//! A document that is made once and given as bytes, with a tag that says which bytes.

use axum::body::Body;
use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use ring::digest::{Digest, SHA256, digest};
use serde::Serialize;
use serde_json::Value;

use super::negotiation::{Format, Output};
use super::{negotiated, plain};

/// A document as JSON.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    json: Bytes,
    /// The hash of the bytes, in hexadecimal.
    pub(crate) hash: Box<str>,
    tag: EntityTag,
}

/// What stands for certain bytes: who has them is not sent them again.
#[derive(Clone, Debug)]
pub(crate) struct EntityTag(HeaderValue);

// === impl Document ===

impl Document {
    /// This value, written once.
    pub(crate) fn json(value: &impl Serialize) -> Self {
        // Documents have no keys but strings, and nothing else can fail.
        let json = Bytes::from(serde_json::to_vec(value).unwrap_or_default());
        let digest = digest(&SHA256, &json);
        Self { json, tag: EntityTag::of(&digest), hash: hexadecimal(&digest).into() }
    }

    /// The value the bytes stand for.
    pub(crate) fn parsed(&self) -> Value {
        serde_json::from_slice(&self.json).unwrap_or_default()
    }

    /// The document in the form the client takes.
    pub(crate) fn answer(&self, output: &Output) -> Response<Body> {
        if output.format == Format::Json {
            return negotiated::bytes(output, StatusCode::OK, self.json.clone());
        }
        let mut value = self.parsed();
        // Documents older than the field; protobuf's envelope always has it.
        if let (Format::Protobuf, Some(fields)) = (output.format, value.as_object_mut()) {
            fields.entry("apiVersion").or_insert_with(|| "v1".into());
        }
        negotiated::value(output, StatusCode::OK, &value)
    }

    /// The document with its tag; 304 for a client that has it already.
    pub(crate) fn cacheable_answer(&self, headers: &HeaderMap, media_type: &'static str) -> Response<Body> {
        let give = || Response::new(Body::from(self.json.clone()));
        let mut response = self.tag.unless_known(headers, media_type, give);
        let response_headers = response.headers_mut();
        response_headers.insert(VARY, HeaderValue::from_static("Accept"));
        // Kept, but asked about each time: it changes with what is installed.
        response_headers.insert(CACHE_CONTROL, HeaderValue::from_static("public"));
        response
    }
}

// === impl EntityTag ===

impl EntityTag {
    /// The tag of the bytes with this digest.
    pub(crate) fn of(digest: &Digest) -> Self {
        let quoted = HeaderValue::from_str(&format!("\"{}\"", hexadecimal(digest)));
        Self(quoted.unwrap_or(HeaderValue::from_static("\"\"")))
    }

    /// What `give` gives, of this media type, with the tag; 304 for a client that has it already.
    pub(crate) fn unless_known(
        &self,
        headers: &HeaderMap,
        media_type: &'static str,
        give: impl FnOnce() -> Response<Body>,
    ) -> Response<Body> {
        let mut response =
            if self.is_known(headers) { plain::empty(StatusCode::NOT_MODIFIED) } else { give() };
        let response_headers = response.headers_mut();
        response_headers.insert(CONTENT_TYPE, HeaderValue::from_static(media_type));
        response_headers.insert(ETAG, self.0.clone());
        response
    }

    /// Whether the client has what this tag stands for.
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
