//! The type of a custom resource in a body. Nothing of it is taken from the path.
//!
//! Kubernetes concept: the decoder of `Unstructured`, and `ValidateTypeMeta` of custom resources.

use registry_core::api::go_text::quote;
use registry_core::api::{ErrorList, FieldError, FieldPath, GroupVersionKind, StatusError};
use responses::negotiation::Format;
use serde_json::{Map, Value};

use super::super::call::Call;
use super::declared::summary;

/// Maximum number of characters of a body without a kind that the error shows.
const MAX_SHOWN_CHARS: usize = 4096;

/// Whether the body of a request is a custom resource, not its scale.
pub(super) fn is_custom_object(call: &Call<'_>) -> bool {
    call.route.is_custom() && call.route.kind == call.route.path.resource.kind
}

/// Checks the type that the fields of a body declare. Fields that are no text are left for the decoder to refuse.
///
/// # Errors
/// 400 if there is no kind, or another version; 422 for another kind.
pub(super) fn check_type(
    call: &Call<'_>,
    fields: &Map<String, Value>,
    bytes: &[u8],
    format: Format,
) -> Result<(), StatusError> {
    let (Some(api_version), Some(kind)) = (text(fields, "apiVersion"), text(fields, "kind")) else {
        return Ok(());
    };
    let expected = call.route.kind;
    if kind.is_empty() {
        let body = match format {
            Format::Json => String::from_utf8_lossy(bytes).into_owned(),
            Format::Yaml | Format::Cbor | Format::Protobuf => Value::Object(fields.clone()).to_string(),
        };
        let shown: String = body.chars().take(MAX_SHOWN_CHARS).collect();
        return Err(StatusError::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): Object 'Kind' is missing in '{shown}' ({})",
            expected.kind,
            summary(bytes)
        )));
    }
    if *api_version != *call.route.api_version {
        return Err(StatusError::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({})",
            call.route.api_version
        )));
    }
    if kind == expected.kind {
        return Ok(());
    }
    Err(other_kind_refused(expected, kind, fields))
}

/// Returns the error for an object of another kind, which the error names as the object's.
fn other_kind_refused(expected: GroupVersionKind, kind: &str, fields: &Map<String, Value>) -> StatusError {
    let name = fields.get("metadata").and_then(|metadata| metadata.get("name")).and_then(Value::as_str);
    let name = name.unwrap_or_default();
    let wanted = format!("must be {}", expected.kind);
    let error = FieldError::invalid(FieldPath::new("kind"), kind, wanted);
    let errors = ErrorList::from(error);
    let text = format!("{kind}.{} {} is invalid: {errors}", expected.group, quote(name));
    let mut failure = StatusError::invalid(expected, name, &errors);
    failure.message = text;
    if let Some(details) = &mut failure.details {
        kind.clone_into(&mut details.kind);
    }
    failure
}

/// Returns a text, empty if it is absent; `None` if it is something else.
fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    match fields.get(name) {
        None | Some(Value::Null) => Some(""),
        Some(value) => value.as_str(),
    }
}
