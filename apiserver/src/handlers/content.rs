//! Bodies: read within bounds, decoded, brought into the schema's form.

mod custom;
mod declared;
mod issues;
pub(super) mod owners;

use axum::body::Body;
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use registry_core::api::{FieldValidation, Object, Reason, Scope, StatusError};
use registry_core::apply::keep_reset;
use registry_core::codec::protobuf::Envelope;
use registry_core::codec::{DecodeError, Decoded, Limits, cbor, json, protobuf, yaml};
use registry_core::context::Budget;
use registry_core::resource::{in_form, with_defaults};
use registry_core::rest::NewObject;
use registry_core::schema::{EmptyFields, FieldIssue, Schema, TypeTable};
use responses::negotiation::Format;
use serde_json::{Map, Value};

use super::audit;
use super::call::Call;

#[cfg(test)]
mod tests;

use declared::{Declared, no_struct, unrecognized};
pub(super) use issues::{BodyIssue, Step, StrictError, bound_issues, pass_over_unknown, settle_issues};

/// Maximum size of a body that is read.
pub(crate) const BODY_LIMIT_BYTES: usize = 3 * 1024 * 1024;

/// Reads a body.
///
/// # Errors
/// 413 when it is too large, 400 when it is incomplete.
pub(super) async fn read_body(body: Body) -> Result<Bytes, StatusError> {
    match Limited::new(body, BODY_LIMIT_BYTES).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(fault) => Err(unreadable(fault.as_ref())),
    }
}

/// Returns the error for a body that cannot be read: 413 if it is too large, else 400.
pub(crate) fn unreadable(fault: &(dyn std::error::Error + Send + Sync + 'static)) -> StatusError {
    if fault.is::<http_body_util::LengthLimitError>() {
        return too_large();
    }
    StatusError::bad_request(format!("the body could not be read: {fault}"))
}

/// Returns the error for a body that is too large.
pub(crate) fn too_large() -> StatusError {
    let message = format!("Request entity too large: limit is {BODY_LIMIT_BYTES}");
    StatusError::new(Reason::RequestEntityTooLarge, message)
}

/// Decodes a body of this format, whose values take from the budget. Of protobuf, only the kinds that all servers know are
/// supported.
pub(super) fn decode(bytes: &[u8], format: Format, budget: &Budget) -> Result<Decoded, DecodeError> {
    decode_within(bytes, format, &Limits::within(budget))
}

/// Decodes a body of this format, as [`decode`] does.
pub(super) fn decode_within(
    bytes: &[u8],
    format: Format,
    limits: &Limits<'_>,
) -> Result<Decoded, DecodeError> {
    match format {
        Format::Json => json::decode(bytes, limits),
        // As in Kubernetes, it is converted to JSON, in which whole floats are integers.
        Format::Yaml => yaml::decode(bytes, &Limits { keeps_floats: false, ..*limits }),
        // CBOR does not allow duplicate keys, so there are none to report.
        Format::Cbor => {
            let value = cbor::decode(bytes, limits)?;
            Ok(Decoded { value, duplicates: Vec::new(), has_floats: false })
        }
        Format::Protobuf => {
            let value = protobuf::decode(bytes, limits, |api_version, kind| {
                TypeTable::meta().schema_of(api_version, kind)
            })?;
            Ok(Decoded { value, duplicates: Vec::new(), has_floats: false })
        }
    }
}

/// Decodes the object of a request: of the route's kind, in the schema's form, in the request's namespace,
/// with defaults set.
///
/// # Errors
/// 400 with Kubernetes' message, 413 if the object with its defaults takes too much memory.
pub(super) fn decode_object(
    call: &Call<'_>,
    bytes: &[u8],
    format: Format,
    validation: FieldValidation,
) -> Result<NewObject, StatusError> {
    let decoded = decode_conforming(call, bytes, format, validation);
    let NewObject { object, empty_fields } = decoded.map_err(|failure| declared::shown_for(call, failure))?;
    call.context.budget.check()?;
    let mut object = set_defaults(call, object, Some(&empty_fields))?;
    audit::request_object(call, &object);
    settle_namespace(call, &mut object)?;
    call.context.budget.check()?;
    owners::settle(call.context, &mut object);
    Ok(NewObject { object, empty_fields })
}

/// Decodes the object of a request: of the route's kind, in the schema's form.
fn decode_conforming(
    call: &Call<'_>,
    bytes: &[u8],
    format: Format,
    validation: FieldValidation,
) -> Result<NewObject, StatusError> {
    let expected = call.route.kind.kind;
    let schema = call.route.path.capabilities.storage.schema();
    let (declared, fields, mut duplicates, has_floats) = match format {
        Format::Json | Format::Yaml | Format::Cbor => decode_tree(call, bytes, format)?,
        Format::Protobuf => decode_message(call, bytes, &schema)?,
    };
    let mut object = Object(fields);
    object.set_type(&call.route.api_version, expected);
    let mut value = object.into_value();
    keep_reset(&mut value);
    let mut unknown: Vec<FieldIssue> = Vec::new();
    let mut empty_fields = EmptyFields::default();
    schema
        .conform_as_sent(&call.context.budget, &mut value, &mut unknown, &mut empty_fields)
        .map_err(|fault| declared.cannot_be_handled(expected, &fault.text))?;
    if has_floats {
        json::shorten_floats(&mut value);
    }
    let is_sorted = matches!(format, Format::Json) && validation != FieldValidation::Ignore;
    let is_custom = call.route.is_custom();
    // The unknown fields of a custom resource are found by pruning, after decoding.
    if is_sorted && is_custom && duplicates.len() > 1 {
        json::sort_as_written(bytes, &mut duplicates);
    }
    if format == Format::Json && !is_custom {
        pass_over_unknown(&mut duplicates, &unknown);
    }
    let mut issues = duplicates;
    issues.append(&mut unknown);
    if is_sorted && !is_custom && issues.len() > 1 {
        json::sort_as_written(bytes, &mut issues);
    }
    let issues = issues.into_iter().map(|issue| BodyIssue { step: Step::Decode, issue });
    let mut issues = issues.collect();
    bound_issues(&mut issues);
    settle_issues(call, &issues, validation)
        .map_err(|strict| declared.cannot_be_handled(expected, &strict.to_string()))?;
    Ok(NewObject { object: in_form(value)?, empty_fields })
}

/// The declared type of a body, its fields, the duplicate ones, and whether numbers may be whole floats.
type Declaration = (Declared, Map<String, Value>, Vec<FieldIssue>, bool);

fn decode_tree(call: &Call<'_>, bytes: &[u8], format: Format) -> Result<Declaration, StatusError> {
    let unrecognized = |why: &str| unrecognized(call.route.kind.kind, bytes, format, why);
    let limits = Limits::within(&call.context.budget);
    let limits = Limits { keeps_floats: call.route.path.resource.is_builtin, ..limits };
    let decoded = decode_within(bytes, format, &limits).map_err(|fault| unrecognized(&fault.to_string()))?;
    let fields = match decoded.value {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        other => return Err(unrecognized(&no_struct(&other))),
    };
    if custom::is_custom_object(call) {
        custom::check_type(call, &fields, bytes, format)?;
    }
    let declared = Declared::from_fields(&fields, call).map_err(|error| unrecognized(&error.to_string()))?;
    declared.check(call)?;
    Ok((declared, fields, decoded.duplicates, decoded.has_floats))
}

fn decode_message(call: &Call<'_>, bytes: &[u8], schema: &Schema) -> Result<Declaration, StatusError> {
    let expected = call.route.kind.kind;
    let envelope = Envelope::parse(bytes)
        .map_err(|fault| unrecognized(expected, bytes, Format::Protobuf, &fault.to_string()))?;
    let declared = Declared::new(envelope.api_version, envelope.kind, call);
    declared.check(call)?;
    let fields = protobuf::decode_message(envelope.message, schema, &Limits::within(&call.context.budget))
        .map_err(|fault| declared.cannot_be_handled(expected, &fault.to_string()))?;
    Ok((declared, fields, Vec::new(), false))
}

/// Sets an object's namespace to the request's.
///
/// # Errors
/// 400 when the object declares another one.
pub(super) fn settle_namespace(call: &Call<'_>, object: &mut Object) -> Result<(), StatusError> {
    let wanted = match call.route.scope {
        Scope::Cluster => "",
        Scope::Namespaced => call.context.namespace.as_str(),
    };
    let own = object.namespace();
    if own == wanted {
        return Ok(());
    }
    if wanted.is_empty() {
        object.metadata_mut().remove("namespace");
    } else if own.is_empty() {
        object.metadata_mut().insert("namespace".to_owned(), wanted.into());
    } else {
        return Err(StatusError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

/// Checks that an object's name is that of the path.
pub(super) fn check_name(call: &Call<'_>, object: &Object) -> Result<(), StatusError> {
    let name = call.name;
    match object.name() {
        "" => Err(StatusError::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))),
        own if own == name => Ok(()),
        own => Err(StatusError::bad_request(format!(
            "the name of the object ({own}) does not match the name on the URL ({name})"
        ))),
    }
}

/// Returns the object with the defaults of its schema and its resource. A list that the client sent empty gets none.
///
/// # Errors
/// 413 if they take too much memory.
pub(super) fn set_defaults(
    call: &Call<'_>,
    object: Object,
    empty_fields: Option<&EmptyFields>,
) -> Result<Object, StatusError> {
    let storage = &call.route.path.capabilities.storage;
    let dependent = |object: &mut Object| storage.apply_defaults(object);
    with_defaults(object, empty_fields, &storage.schema(), dependent, &call.context.budget)
}
