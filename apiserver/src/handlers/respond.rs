//! Answers: status line, headers and body.

use axum::body::Body;
use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, RETRY_AFTER, VARY, WARNING, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderValue, Response, StatusCode};
use registry_core::api::{Reason, StatusError};
use registry_core::codec::{cbor, stored};
use registry_core::rest::{Answer, SuccessStatus};
use serde_json::{Value, json};

use crate::json_fields::put;

use super::call::Call;
use super::cbor::Maps;
use super::encoding::{self, EncodedBody, Encoding};
use super::items::{Item, ItemForm};
use super::negotiation::{Format, Output, Shape};
use super::protobuf::Messages;
use super::table::Table;
use super::{partial, protobuf, yaml};

/// Warnings longer than this in all are cut to [`WARNING_MAX_CHARS`] each.
const WARNINGS_TOTAL_CHARS: usize = 4 * 1024;
/// What remains of each warning when all of them are too long.
const WARNING_MAX_CHARS: usize = 256;

/// The answer to an operation on one object. `status` is for objects; a success without one has its own.
pub(super) fn answer(
    call: &Call<'_>,
    output: &Output,
    answer: Answer,
    status: StatusCode,
) -> Result<Response<Body>, StatusError> {
    match answer {
        // The usual case: what is stored is what is sent.
        Answer::Stored(entry) if output.format == Format::Json && output.shape == Shape::Whole => {
            Ok(bytes(output, status, entry.json.clone()))
        }
        Answer::Stored(entry) => shaped(call, output, status, &Item::stored(&entry)),
        Answer::Object(object) => {
            let json = serde_json::to_vec(&object).map_err(StatusError::internal)?;
            shaped(call, output, status, &Item::encoded(&json))
        }
        Answer::Success(success) => {
            let code = success.code.and_then(|code| StatusCode::from_u16(code).ok()).unwrap_or(status);
            Ok(value(output, code, &success_value(&success)))
        }
    }
}

/// One object in the shape the client wants.
fn shaped(
    call: &Call<'_>,
    output: &Output,
    status: StatusCode,
    item: &Item<'_>,
) -> Result<Response<Body>, StatusError> {
    if let Some(kept) = kept(call, output, item)? {
        return Ok(bytes(output, status, kept));
    }
    let mut json = Vec::with_capacity(item.json.len() + 64);
    match output.shape {
        Shape::Whole => json.extend_from_slice(item.json),
        Shape::Partial(version) => partial::write(&mut json, item, version),
        Shape::Table(version) => {
            let table = Table::of_request(call, version)?;
            table.write_object(&mut json, item, true);
        }
        Shape::PartialList(_) => {
            return Err(StatusError::new(
                Reason::NotAcceptable,
                format!(
                    "you requested PartialObjectMetadataList, but the requested object is not a list (*{})",
                    call.route.go_type(call.route.kind.kind)
                ),
            ));
        }
    }
    if output.format == Format::Json {
        return Ok(bytes(output, status, json.into()));
    }
    let parsed = stored::decode(&json).map_err(StatusError::internal)?.into_value();
    if output.format == Format::Protobuf {
        let table = call.route.path.capabilities.storage.schema().table();
        let envelope = protobuf::envelope(&parsed, Some(table)).ok_or_else(protobuf::no_protobuf)?;
        return Ok(bytes(output, status, envelope));
    }
    Ok(value(output, status, &parsed))
}

/// One object in the shape the client wants, in a format that stored objects are kept in. `None` where that does not
/// help.
fn kept(call: &Call<'_>, output: &Output, item: &Item<'_>) -> Result<Option<Bytes>, StatusError> {
    let form = match output.shape {
        Shape::Whole if item.is_stored() => ItemForm::Whole,
        Shape::Partial(version) => ItemForm::Partial(version),
        Shape::Whole | Shape::Table(_) | Shape::PartialList(_) => return Ok(None),
    };
    match output.format {
        Format::Protobuf => Messages::new(call, output.shape)?.envelope(item).map(Some),
        Format::Cbor => {
            let mut whole = Vec::with_capacity(item.json.len());
            Maps::new(call, form).write(&mut whole, item)?;
            Ok(Some(whole.into()))
        }
        Format::Json | Format::Yaml => Ok(None),
    }
}

/// A JSON value in the client's format. What has no protobuf is given as JSON.
pub(crate) fn value(output: &Output, status: StatusCode, value: &Value) -> Response<Body> {
    let text = match output.format {
        Format::Json => value.to_string(),
        Format::Yaml => yaml::encode(value),
        Format::Cbor => return bytes(output, status, cbor::encode(value, None)),
        Format::Protobuf => {
            if let Some(envelope) = protobuf::envelope(value, None) {
                return bytes(output, status, envelope);
            }
            let as_json = Output { format: Format::Json, ..output.clone() };
            return bytes(&as_json, status, value.to_string().into());
        }
    };
    bytes(output, status, text.into())
}

/// Bytes that are in the client's format already; pretty-printed and compressed as it wants.
pub(crate) fn bytes(output: &Output, status: StatusCode, content: Bytes) -> Response<Body> {
    let encoding = Encoding::of(output, content.len());
    let is_gzip = encoding.gzip;
    let body = if encoding.is_identity() { content } else { encoding::encode_all(encoding, &content) };
    response(output.format, status, is_gzip, Body::from(body))
}

/// A body that is made while it is sent. `size_hint_bytes` is about how large it will be.
pub(super) fn stream<B>(output: &Output, body: B, size_hint_bytes: usize) -> Response<Body>
where
    B: http_body::Body<Data = Bytes, Error = std::convert::Infallible> + Send + Unpin + 'static,
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

/// A failure as a `Status`.
pub(crate) fn failure(failure: &StatusError, output: &Output) -> Response<Body> {
    let code = StatusCode::from_u16(failure.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = value(output, code, &failure.to_value());
    let retry_after = failure.details.as_ref().map_or(0, |details| details.retry_after_seconds);
    if retry_after > 0 {
        response.headers_mut().insert(RETRY_AFTER, retry_after.into());
    }
    response
}

/// The page for paths that are nobody's.
pub(crate) fn page_not_found() -> Response<Body> {
    let mut response = Response::new(Body::from("404 page not found\n"));
    *response.status_mut() = StatusCode::NOT_FOUND;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// Tells the client what was noted while its request was served.
pub(super) fn add_warnings(response: &mut Response<Body>, warnings: &[String]) {
    let total: usize = warnings.iter().map(|text| text.chars().count()).sum();
    let limit = if total > WARNINGS_TOTAL_CHARS { WARNING_MAX_CHARS } else { WARNINGS_TOTAL_CHARS };
    // As in Kubernetes, a text that no header can hold is told to nobody.
    for text in warnings.iter().filter(|text| !text.chars().any(char::is_control)) {
        // 299 is "miscellaneous persistent warning"; the agent is nobody in particular.
        let mut header = String::from("299 - \"");
        for character in text.chars().take(limit) {
            if matches!(character, '"' | '\\') {
                header.push('\\');
            }
            header.push(character);
        }
        header.push('"');
        if let Ok(header) = HeaderValue::from_bytes(header.as_bytes()) {
            response.headers_mut().append(WARNING, header);
        }
    }
}

fn success_value(success: &SuccessStatus) -> Value {
    let mut status = json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success" });
    if let Some(details) = &success.details {
        let mut shown =
            json!({ "name": details.name, "kind": details.resource.resource, "uid": details.uid });
        if !details.resource.group.is_empty() {
            put(&mut shown, "group", details.resource.group);
        }
        put(&mut status, "details", shown);
    }
    if let Some(code) = success.code {
        put(&mut status, "code", code);
    }
    status
}

/// The form of a list's items for a shape.
pub(super) fn item_form(call: &Call<'_>, output: &Output) -> Result<ItemForm, StatusError> {
    Ok(match output.shape {
        // Items of Kubernetes' own typed lists go without kind and version, which the list says for all.
        Shape::Whole if call.route.is_builtin => ItemForm::Tail,
        Shape::Whole => ItemForm::Whole,
        Shape::PartialList(version) => ItemForm::Partial(version),
        Shape::Table(version) => ItemForm::Row(Table::of_request(call, version)?),
        Shape::Partial(_) => {
            let list_kind =
                call.route.path.capabilities.lister.as_ref().map_or("", |lister| lister.list_kind());
            return Err(StatusError::new(
                Reason::NotAcceptable,
                format!(
                    "you requested PartialObjectMetadata, but the requested object is a list (*{})",
                    call.route.go_type(list_kind)
                ),
            ));
        }
    })
}
