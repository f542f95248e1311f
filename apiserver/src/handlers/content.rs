//! Bodies: read within bounds, decoded, brought into the schema's form.

mod owners;

use axum::body::Body;
use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use registry_core::api::{FieldValidation, Object, Reason, Scope, StatusError};
use registry_core::apply::keep_reset;
use registry_core::codec::protobuf::Envelope;
use registry_core::codec::{DecodeError, Decoded, Limits, cbor, json, protobuf, yaml};
use registry_core::schema::{FieldIssue, Schema, TypeTable};
use serde_json::{Map, Value};

use super::call::Call;
use super::negotiation::Format;

#[cfg(test)]
mod tests;

/// The largest body that is read.
pub(super) const BODY_LIMIT_BYTES: usize = 3 * 1024 * 1024;
/// How many bytes of a body that cannot be decoded an error shows.
const SHOWN_BYTES: usize = 30;

/// Reads a body.
///
/// # Errors
/// 413 when it is larger than is taken, 400 when it breaks off.
pub(super) async fn read_body(body: Body) -> Result<Bytes, StatusError> {
    match Limited::new(body, BODY_LIMIT_BYTES).collect().await {
        Ok(collected) => Ok(collected.to_bytes()),
        Err(fault) if fault.is::<http_body_util::LengthLimitError>() => Err(StatusError::new(
            Reason::RequestEntityTooLarge,
            format!("Request entity too large: limit is {BODY_LIMIT_BYTES}"),
        )),
        Err(fault) => Err(StatusError::bad_request(format!("the body could not be read: {fault}"))),
    }
}

/// Decodes a body of this format. Of protobuf, the kinds are known that all servers know.
pub(super) fn decode(bytes: &[u8], format: Format) -> Result<Decoded, DecodeError> {
    match format {
        Format::Json => json::decode(bytes, &Limits::default()),
        Format::Yaml => yaml::decode(bytes, &Limits::default()),
        // A map with a key twice is no CBOR: nothing is left to be told.
        Format::Cbor => {
            let value = cbor::decode(bytes, &Limits::default())?;
            Ok(Decoded { value, duplicates: Vec::new() })
        }
        Format::Protobuf => {
            let value = protobuf::decode(bytes, &Limits::default(), |api_version, kind| {
                TypeTable::meta().schema_of(api_version, kind)
            })?;
            Ok(Decoded { value, duplicates: Vec::new() })
        }
    }
}

/// Decodes the object a request brings: of the route's kind, in the schema's form, in the request's namespace,
/// defaults filled in.
///
/// # Errors
/// 400 with Kubernetes' words for whatever is wrong.
pub(super) fn decode_object(
    call: &Call<'_>,
    bytes: &[u8],
    format: Format,
    validation: FieldValidation,
) -> Result<Object, StatusError> {
    let expected = call.route.kind.kind;
    let schema = call.route.path.capabilities.storage.schema();
    let (declared, fields, duplicates) = match format {
        Format::Json | Format::Yaml | Format::Cbor => decode_tree(call, bytes, format)?,
        Format::Protobuf => decode_message(call, bytes, schema)?,
    };
    let mut object = Object(fields);
    object.set_type(&call.route.api_version, expected);
    let mut value = object.into_value();
    keep_reset(&mut value);
    let mut unknown: Vec<FieldIssue> = Vec::new();
    schema
        .conform(&mut value, &mut unknown)
        .map_err(|fault| declared.cannot_be_handled(expected, &fault.text))?;
    let issues: Vec<String> = duplicates.into_iter().chain(unknown.iter().map(ToString::to_string)).collect();
    settle_issues(call, &issues, validation)
        .map_err(|strict| declared.cannot_be_handled(expected, &strict.to_string()))?;
    let mut object = Object::from_value(value).unwrap_or_default();
    settle_namespace(call, &mut object)?;
    Ok(with_defaults(call, object))
}

/// What a body declares to be, its fields, and which of them came twice.
type Declaration = (Declared, Map<String, Value>, Vec<String>);

fn decode_tree(call: &Call<'_>, bytes: &[u8], format: Format) -> Result<Declaration, StatusError> {
    let unrecognized = |why: &str| unrecognized(call.route.kind.kind, bytes, format, why);
    let decoded = decode(bytes, format).map_err(|fault| unrecognized(&fault.0))?;
    let fields = match decoded.value {
        Value::Object(fields) => fields,
        Value::Null => Map::new(),
        other => return Err(unrecognized(&no_struct(&other))),
    };
    let declared = Declared::of(&fields, call).map_err(|why| unrecognized(&why))?;
    declared.check(call)?;
    Ok((declared, fields, decoded.duplicates))
}

fn decode_message(call: &Call<'_>, bytes: &[u8], schema: &Schema) -> Result<Declaration, StatusError> {
    let expected = call.route.kind.kind;
    let envelope =
        Envelope::parse(bytes).map_err(|fault| unrecognized(expected, bytes, Format::Protobuf, &fault.0))?;
    let declared = Declared::new(envelope.api_version, envelope.kind, call);
    declared.check(call)?;
    let fields = protobuf::decode_message(envelope.message, schema, &Limits::default())
        .map_err(|fault| declared.cannot_be_handled(expected, &fault.0))?;
    Ok((declared, fields, Vec::new()))
}

/// What strict validation found, as a refusal words it.
#[derive(Debug, thiserror::Error)]
#[error("strict decoding error: {0}")]
pub(super) struct StrictError(String);

/// Says, ignores or refuses what is odd about single fields.
pub(super) fn settle_issues(
    call: &Call<'_>,
    issues: &[String],
    validation: FieldValidation,
) -> Result<(), StrictError> {
    if issues.is_empty() || validation == FieldValidation::Ignore {
        return Ok(());
    }
    if validation == FieldValidation::Strict {
        return Err(StrictError(issues.join(", ")));
    }
    for text in issues {
        call.context.warn(text.clone());
    }
    Ok(())
}

/// Puts an object into the request's namespace.
///
/// # Errors
/// 400 when it says it is in another one.
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

/// Checks that an object is the one its path names.
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

/// The object with all defaults.
pub(super) fn with_defaults(call: &Call<'_>, object: Object) -> Object {
    let storage = &call.route.path.capabilities.storage;
    let mut value = object.into_value();
    storage.schema().apply_defaults(&mut value);
    let mut object = Object::from_value(value).unwrap_or_default();
    storage.apply_defaults(&mut object);
    owners::settle(call.context, &mut object);
    object
}

/// What a body says it is, with what it leaves out taken from the path.
struct Declared {
    group: String,
    version: String,
    kind: String,
}

// === impl Declared ===

impl Declared {
    fn of(fields: &Map<String, Value>, call: &Call<'_>) -> Result<Self, String> {
        Ok(Self::new(declared_text(fields, "apiVersion")?, declared_text(fields, "kind")?, call))
    }

    fn new(api_version: &str, kind: &str, call: &Call<'_>) -> Self {
        let api_version = if api_version.is_empty() { &call.route.api_version } else { api_version };
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let kind = if kind.is_empty() { call.route.kind.kind } else { kind };
        Self { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() }
    }

    fn check(&self, call: &Call<'_>) -> Result<(), StatusError> {
        let expected = call.route.kind;
        let is_expected_kind = self.group == expected.group && self.kind == expected.kind;
        if is_expected_kind && self.version == expected.version {
            return Ok(());
        }
        let others = call.route.path.capabilities.storage.other_versions();
        if self.kind == expected.kind
            && others.iter().any(|other| other.group == self.group && other.version == self.version)
        {
            return Ok(());
        }
        if !call.api.routes.knows_kind(&self.group, &self.version, &self.kind) {
            let why = format!(
                "no kind {:?} is registered for version {:?} in scheme \"pkg/api/legacyscheme/scheme.go:30\"",
                self.kind,
                self.api_version()
            );
            return Err(self.cannot_be_handled(expected.kind, &why));
        }
        if is_expected_kind {
            return Err(StatusError::bad_request(format!(
                "the API version in the data ({}) does not match the expected API version ({})",
                self.api_version(),
                call.route.api_version
            )));
        }
        let target = call.route.go_type(expected.kind);
        let why = format!("converting ({}.{}) to ({target}): unknown conversion", self.version, self.kind);
        Err(self.cannot_be_handled(expected.kind, &why))
    }

    fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    fn cannot_be_handled(&self, expected: &str, why: &str) -> StatusError {
        let Self { version, kind, .. } = self;
        StatusError::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {expected}: {why}"
        ))
    }
}

fn declared_text<'a>(fields: &'a Map<String, Value>, name: &str) -> Result<&'a str, String> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(""),
        Some(Value::String(text)) => Ok(text),
        Some(other) => {
            let found = json_type(other);
            Err(format!("json: cannot unmarshal {found} into Go struct field .{name} of type string"))
        }
    }
}

/// 400 for a body whose kind cannot even be found out.
fn unrecognized(expected: &str, bytes: &[u8], format: Format, why: &str) -> StatusError {
    let stage = match format {
        Format::Json => "couldn't get version/kind; json parse error: ",
        Format::Cbor => "unable to determine group/version/kind: ",
        Format::Yaml | Format::Protobuf => "",
    };
    let shown = summary(bytes);
    StatusError::bad_request(format!(
        "the object provided is unrecognized (must be of type {expected}): {stage}{why} ({shown})"
    ))
}

/// The beginning of a body: as text when it looks like JSON, else as hexadecimal digits.
fn summary(bytes: &[u8]) -> String {
    use std::fmt::Write;
    let Some(first) = bytes.first() else { return "<empty>".to_owned() };
    let shown = bytes.get(..SHOWN_BYTES).unwrap_or(bytes);
    let mut text = if *first == b'{' {
        String::from_utf8_lossy(shown).into_owned()
    } else {
        shown.iter().fold(String::with_capacity(2 * SHOWN_BYTES), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
    };
    if bytes.len() > SHOWN_BYTES {
        text.push_str(" ...");
    }
    text
}

fn no_struct(value: &Value) -> String {
    format!(
        "json: cannot unmarshal {} into Go value of type struct {{ APIVersion string \
         \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}",
        json_type(value)
    )
}

/// What Go's decoder calls the type of a JSON value.
pub(super) fn json_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
