//! Responses in the negotiated format.

use std::sync::Arc;

use axum::body::Body;
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, VARY};
use http::{HeaderValue, StatusCode};
use registry_core::api::StatusError;
use registry_core::codec::protobuf::EncodeError;
use registry_core::codec::{cbor, protobuf};
use registry_core::schema::{Schema, TypeTable};
use serde::Serialize;
use serde_json::Value;

use super::body::{Delivery, Response, ResponseBody};
use super::encoding::{EncodedBody, Encoding, encode_all, json_line};
use super::negotiation::{Format, Output};
use super::{plain, yaml};

/// Minimum size of a response that counts as long: producing and sending it takes about 0.1 ms.
const LONG_BYTES: usize = 128 * 1024;

/// Returns a value in the negotiated format. A value without a protobuf form is returned as JSON.
pub fn value(output: &Output, status: StatusCode, value: &impl Serialize) -> Response {
    if output.format == Format::Json {
        return bytes(output, status, json_line(value));
    }
    // Cannot fail, as in `json_line`.
    let tree = serde_json::to_value(value).unwrap_or_default();
    let content = match output.format {
        Format::Yaml => yaml::encode(&tree).into(),
        Format::Cbor => cbor::encode(&tree, None),
        Format::Json | Format::Protobuf => {
            let Ok(Some(envelope)) = envelope(&tree, None) else {
                let as_json = Output { format: Format::Json, ..output.clone() };
                return bytes(&as_json, status, json_line(value));
            };
            envelope
        }
    };
    bytes(output, status, content)
}

/// Returns bytes that are in the negotiated format already, pretty-printed and compressed as requested. JSON ends with
/// a newline, as Go's encoder writes it; pretty-printed, it does not.
pub fn bytes(output: &Output, status: StatusCode, content: Bytes) -> Response {
    let encoding = Encoding::select(output, content.len());
    let content = if encoding.is_identity() { content } else { encode_all(encoding, &content) };
    response(output.format, status, encoding.gzip, content.into())
}

/// Returns a body that is produced while it is sent. `size_hint_bytes` is its approximate size.
pub fn stream<B>(output: &Output, body: B, size_hint_bytes: usize) -> Response
where
    B: http_body::Body<Data = Bytes, Error = StatusError> + Send + Unpin + 'static,
{
    let encoding = Encoding::select(output, size_hint_bytes);
    let is_gzip = encoding.gzip;
    let body =
        if encoding.is_identity() { Body::new(body) } else { Body::new(EncodedBody::new(body, encoding)) };
    let delivery = if size_hint_bytes >= LONG_BYTES { Delivery::Long(body) } else { Delivery::Stream(body) };
    response(output.format, StatusCode::OK, is_gzip, delivery.into())
}

fn response(format: Format, status: StatusCode, is_gzip: bool, body: ResponseBody) -> Response {
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
pub fn failure(failure: &StatusError, output: &Output) -> Response {
    let mut response = value(output, plain::code_of(failure), failure);
    plain::retry_after(&mut response, failure);
    response
}

/// Returns a value with its type in its envelope, or `None` without a protobuf form. `table` is searched
/// before the types that all servers have.
///
/// # Errors
/// Fails if a field of the value does not have its type.
pub fn envelope(value: &Value, table: Option<&Arc<TypeTable>>) -> Result<Option<Bytes>, EncodeError> {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let (Some(api_version), Some(kind)) = (text("apiVersion"), text("kind")) else { return Ok(None) };
    let tables = table.into_iter().chain([TypeTable::meta()]);
    let mut schemas = tables.filter_map(|table| table.schema_of(api_version, kind));
    let schema = schemas.find(Schema::has_protobuf);
    schema.map(|schema| protobuf::encode(value, &schema, api_version, kind)).transpose()
}

#[cfg(test)]
mod tests {
    use registry_core::codec::protobuf::Envelope;
    use serde_json::json;

    use super::*;

    #[test]
    fn statuses_have_protobuf_and_strangers_do_not() {
        let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "code": 404});
        let bytes = envelope(&status, None).unwrap().unwrap();
        assert_eq!(Envelope::parse(&bytes).unwrap().kind, "Status");
        assert_eq!(envelope(&json!({"kind": "Table", "apiVersion": "meta.k8s.io/v1"}), None).unwrap(), None);
        assert_eq!(
            envelope(&json!({"kind": "Enclosure", "apiVersion": "zoo.example.dev/v1"}), None).unwrap(),
            None
        );
        assert_eq!(envelope(&json!({}), None).unwrap(), None);
        // An error, unlike a missing form, which is answered with 406.
        let wrong = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "code": "404"});
        assert_eq!(envelope(&wrong, None).unwrap_err().to_string(), "code: this string is not an integer");
    }
}
