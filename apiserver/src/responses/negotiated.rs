//! Responses in the negotiated format.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, VARY};
use http::{HeaderValue, Response, StatusCode};
use http_body::{Frame, SizeHint};
use registry_core::api::StatusError;
use registry_core::codec::{cbor, protobuf};
use registry_core::schema::{Schema, TypeTable};
use serde_json::Value;

use super::encoding::{EncodedBody, Encoding, encode_all};
use super::negotiation::{Format, Output};
use super::{plain, yaml};

/// JSON on one line. The content is shared with the watch cache: the newline is a separate frame, so that
/// nothing is copied.
struct LineBody {
    content: Option<Bytes>,
    has_ended: bool,
}

/// Returns a JSON value in the negotiated format. A value without a protobuf form is returned as JSON.
pub(crate) fn value(output: &Output, status: StatusCode, value: &Value) -> Response<Body> {
    let text = match output.format {
        Format::Json => value.to_string(),
        Format::Yaml => yaml::encode(value),
        Format::Cbor => return bytes(output, status, cbor::encode(value, None)),
        Format::Protobuf => {
            if let Some(envelope) = envelope(value, None) {
                return bytes(output, status, envelope);
            }
            let as_json = Output { format: Format::Json, ..output.clone() };
            return bytes(&as_json, status, value.to_string().into());
        }
    };
    bytes(output, status, text.into())
}

/// Returns bytes that are in the negotiated format already, pretty-printed and compressed as requested. JSON
/// that is not pretty-printed is followed by a newline, as Go's encoder writes it.
pub(crate) fn bytes(output: &Output, status: StatusCode, content: Bytes) -> Response<Body> {
    let encoding = Encoding::of(output, content.len());
    let is_gzip = encoding.gzip;
    let ends_line = encoding.ends_line(output.format);
    let body = if !encoding.is_identity() {
        Body::from(encode_all(encoding, &content, ends_line))
    } else if ends_line {
        Body::new(LineBody { content: Some(content), has_ended: false })
    } else {
        Body::from(content)
    };
    response(output.format, status, is_gzip, body)
}

/// Returns a body that is produced while it is sent. `size_hint_bytes` is its approximate size.
pub(crate) fn stream<B>(output: &Output, body: B, size_hint_bytes: usize) -> Response<Body>
where
    B: http_body::Body<Data = Bytes, Error = StatusError> + Send + Unpin + 'static,
{
    let encoding = Encoding::of(output, size_hint_bytes);
    let is_gzip = encoding.gzip;
    let body =
        if encoding.is_identity() { Body::new(body) } else { Body::new(EncodedBody::new(body, encoding)) };
    response(output.format, StatusCode::OK, is_gzip, body)
}

fn response(format: Format, status: StatusCode, is_gzip: bool, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
    if is_gzip {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    }
    response
}

/// Returns a failure as a `Status`.
pub(crate) fn failure(failure: &StatusError, output: &Output) -> Response<Body> {
    let mut response = value(output, plain::code_of(failure), &failure.to_value());
    plain::retry_after(&mut response, failure);
    response
}

/// Returns a value with its type in its envelope, or `None` without a protobuf form. `table` is searched
/// before the types that all servers have.
pub(crate) fn envelope(value: &Value, table: Option<&Arc<TypeTable>>) -> Option<Bytes> {
    let api_version = value.get("apiVersion")?.as_str()?;
    let kind = value.get("kind")?.as_str()?;
    let tables = table.into_iter().chain([TypeTable::meta()]);
    let mut schemas = tables.filter_map(|table| table.schema_of(api_version, kind));
    let schema = schemas.find(Schema::has_protobuf)?;
    Some(protobuf::encode(value, &schema, api_version, kind))
}

// === impl LineBody ===

impl http_body::Body for LineBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let next = match self.content.take() {
            Some(content) if !content.is_empty() => Some(content),
            _ if std::mem::replace(&mut self.has_ended, true) => None,
            _ => Some(Bytes::from_static(b"\n")),
        };
        Poll::Ready(next.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.has_ended
    }

    fn size_hint(&self) -> SizeHint {
        let content_bytes = self.content.as_ref().map_or(0, Bytes::len);
        SizeHint::with_exact(content_bytes as u64 + u64::from(!self.has_ended))
    }
}

#[cfg(test)]
mod tests {
    use registry_core::codec::protobuf::Envelope;
    use serde_json::json;

    use super::*;

    #[test]
    fn statuses_have_protobuf_and_strangers_do_not() {
        let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "code": 404});
        let bytes = envelope(&status, None).unwrap();
        assert_eq!(Envelope::parse(&bytes).unwrap().kind, "Status");
        assert_eq!(envelope(&json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1"}), None), None);
        assert_eq!(envelope(&json!({"kind": "Enclosure", "apiVersion": "zoo.example.dev/v1"}), None), None);
        assert_eq!(envelope(&json!({}), None), None);
    }
}
