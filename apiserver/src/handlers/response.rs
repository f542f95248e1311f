//! The response to an operation on one object.

use std::borrow::Cow;

use bytes::Bytes;
use http::StatusCode;
use registry_core::api::{Reason, StatusError};
use registry_core::codec::{json, stored};
use registry_core::context::AuditLevel;
use registry_core::rest::{Answer, SuccessStatus};
use registry_core::stage;
use responses::negotiation::{Format, Output, ResponseShape};
use responses::{self, Response};
use serde::Serialize;

use super::audit;
use super::call::Call;
use super::representation::cbor::Maps;
use super::representation::partial::Partial;
use super::representation::protobuf::{Messages, no_protobuf};
use super::representation::{Item, ItemForm, Table};

/// The `Status` of a success, in Kubernetes' order.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SuccessBody<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: NoMetadata,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<SuccessBodyDetails<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u16>,
}

#[derive(Serialize)]
struct NoMetadata {}

/// The object that the operation was about.
#[derive(Serialize)]
struct SuccessBodyDetails<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    group: &'a str,
    kind: &'a str,
    uid: &'a str,
}

/// Returns the response to an operation on one object. `status` is for objects; a success without one has its
/// own.
pub(super) fn object_response(
    call: &Call<'_>,
    output: &Output,
    answer: Answer,
    status: StatusCode,
) -> Result<Response, StatusError> {
    let _encoding = stage!("encoding").entered();
    record(call, output, &answer);
    match answer {
        // The usual case: the stored bytes are sent unchanged.
        Answer::Stored(entry) if output.format == Format::Json && output.shape == ResponseShape::Whole => {
            Ok(responses::bytes(output, status, entry.line().clone()))
        }
        Answer::Stored(entry) => shaped(call, output, status, &Item::stored(&entry)),
        Answer::Object(object) => {
            let schema = call.route.path.capabilities.storage.schema();
            let json = json::encode(&object.0, schema.field_order());
            shaped(call, output, status, &Item::encoded(&json))
        }
        Answer::Success(success) => {
            let code = success.code.and_then(|code| StatusCode::from_u16(code).ok()).unwrap_or(status);
            Ok(responses::value(output, code, &SuccessBody::from(&success)))
        }
    }
}

/// Records the response for the audit log.
///
/// Kubernetes concept: `LogResponseObject` in `k8s.io/apiserver/pkg/audit`.
fn record(call: &Call<'_>, output: &Output, answer: &Answer) {
    let Some(record) = &call.context.audit else { return };
    if let Answer::Success(success) = answer {
        record.set_response_status(serde_json::to_value(SuccessBody::from(success)).unwrap_or_default());
    }
    if record.level() < AuditLevel::RequestResponse {
        return;
    }
    let json = match answer {
        Answer::Success(_) => return,
        Answer::Stored(entry) if output.shape == ResponseShape::Whole => Some(entry.line().clone()),
        Answer::Stored(entry) => recorded_shape(call, output, &Item::stored(entry)),
        Answer::Object(object) => {
            let mut object = Cow::Borrowed(object);
            audit::remove_tokens(call, &mut object);
            let schema = call.route.path.capabilities.storage.schema();
            let json = json::encode(&object.0, schema.field_order());
            recorded_shape(call, output, &Item::encoded(&json))
        }
    };
    if let Some(json) = json {
        record.set_response_object(json);
    }
}

/// Returns the JSON of an object in the shape that the client requests; `None` if it has none.
fn recorded_shape(call: &Call<'_>, output: &Output, item: &Item<'_>) -> Option<Bytes> {
    let mut json = Vec::with_capacity(item.json.len());
    // A failure is the response, and recorded as that.
    write_shape(call, output, item, &mut json).ok()?;
    Some(json.into())
}

/// Returns an object in the shape that the client requests.
fn shaped(
    call: &Call<'_>,
    output: &Output,
    status: StatusCode,
    item: &Item<'_>,
) -> Result<Response, StatusError> {
    if let Some(kept) = kept(call, output, item)? {
        return Ok(responses::bytes(output, status, kept));
    }
    let mut json = Vec::with_capacity(item.json.len() + 64);
    write_shape(call, output, item, &mut json)?;
    if output.format == Format::Json {
        json.push(b'\n');
        return Ok(responses::bytes(output, status, json.into()));
    }
    let parsed = stored::decode(&json).map_err(|error| item.unreadable(&error))?.into_value();
    if output.format == Format::Protobuf {
        let schema = call.route.path.capabilities.storage.schema();
        let table = schema.table();
        let envelope = responses::envelope(&parsed, Some(table)).map_err(|error| item.unreadable(&error))?;
        let envelope = envelope.ok_or_else(no_protobuf)?;
        return Ok(responses::bytes(output, status, envelope));
    }
    Ok(responses::value(output, status, &parsed))
}

/// Appends the JSON of an object in the shape that the client requests.
///
/// # Errors
/// 406: the shape is that of a list. 500: the object cannot be read.
fn write_shape(
    call: &Call<'_>,
    output: &Output,
    item: &Item<'_>,
    json: &mut Vec<u8>,
) -> Result<(), StatusError> {
    match output.shape {
        ResponseShape::Whole => json.extend_from_slice(item.json),
        ResponseShape::Partial(version) => {
            Partial::for_resource(&call.route.path.resource, version).write(json, item)?;
        }
        ResponseShape::Table(version) => {
            let table = Table::from_request(call, version)?;
            table.write_object(json, item, true)?;
        }
        ResponseShape::PartialList(_) => {
            return Err(StatusError::new(
                Reason::NotAcceptable,
                format!(
                    "you requested PartialObjectMetadataList, but the requested object is not a list (*{})",
                    call.route.go_type(call.route.kind.kind)
                ),
            ));
        }
    }
    Ok(())
}

/// Returns an object in the requested shape, in a format that is cached for stored objects, or `None` if
/// there is no such format.
fn kept(call: &Call<'_>, output: &Output, item: &Item<'_>) -> Result<Option<Bytes>, StatusError> {
    let form = match output.shape {
        ResponseShape::Whole if item.is_stored() => ItemForm::Whole,
        ResponseShape::Partial(version) => {
            ItemForm::Partial(Partial::for_resource(&call.route.path.resource, version))
        }
        ResponseShape::Whole | ResponseShape::Table(_) | ResponseShape::PartialList(_) => return Ok(None),
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

// === impl SuccessBody ===

impl<'a> From<&'a SuccessStatus> for SuccessBody<'a> {
    fn from(success: &'a SuccessStatus) -> Self {
        let details = success.details.as_ref().map(|details| SuccessBodyDetails {
            name: &details.name,
            group: details.resource.group,
            kind: details.resource.resource,
            uid: &details.uid,
        });
        Self {
            kind: "Status",
            api_version: "v1",
            metadata: NoMetadata {},
            status: "Success",
            details,
            code: success.code,
        }
    }
}
