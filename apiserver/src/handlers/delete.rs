//! `delete` and `deletecollection`.

use axum::body::Body;
use http::StatusCode;
use registry_core::api::go_text::quote;
use registry_core::api::{DeleteOptions, ErrorList, FieldError, FieldPath, StatusError};
use registry_core::codec::Limits;
use responses::Response;
use responses::negotiation::{Endpoint, Format, Formats};
use serde_json::Value;

use crate::admission::Operation;
use crate::authorization::rights::{Right, forbidden_because};

use super::audit;
use super::call::Call;
use super::content::{decode_within, read_body};
use super::list::{list_response, selection};
use super::options::{IGNORE_READ_ERROR, ListPurpose, delete_options, delete_options_of_query, refuse};
use super::response::object_response;
use super::routing::method_not_allowed;

/// The kind of the body of a deletion.
const OPTIONS: &str = "DeleteOptions";

/// The other kinds that kube-apiserver can decode there.
const OTHER_META_KINDS: [&str; 15] = [
    "APIGroup",
    "APIGroupList",
    "APIResourceList",
    "APIVersions",
    "CreateOptions",
    "GetOptions",
    "ListOptions",
    "PartialObjectMetadata",
    "PartialObjectMetadataList",
    "PatchOptions",
    "Status",
    "Table",
    "TableOptions",
    "UpdateOptions",
    "WatchEvent",
];

/// Handles the deletion of one object.
pub(super) async fn delete(call: &Call<'_>, body: Body) -> Result<Response, StatusError> {
    let deleter = call.route.path.capabilities.deleter.as_ref().ok_or_else(method_not_allowed)?;
    let output = call.negotiate(Endpoint::Object)?;
    let options = options(call, body).await?;
    if options.ignore_store_read_error {
        authorize_corrupt_deletion(call).await?;
    }
    let attributes = call.attributes(Operation::Delete, call.name, &options);
    let validation = call.api.admission.validation(attributes);
    let deletion = deleter.delete(call.context, call.name, &validation, &options).await?;
    // Clients of other forms of the options expect 200.
    let has_asked_to_wait = options.orphan_dependents == Some(false);
    let status =
        if has_asked_to_wait && !deletion.is_complete { StatusCode::ACCEPTED } else { StatusCode::OK };
    object_response(call, &output, deletion.answer, status)
}

/// Handles the deletion of the objects that list options select.
pub(super) async fn delete_collection(call: &Call<'_>, body: Body) -> Result<Response, StatusError> {
    let deleter = call.route.path.capabilities.collection_deleter.as_ref().ok_or_else(method_not_allowed)?;
    let output = call.negotiate(Endpoint::Collection)?;
    let selection = selection(call, ListPurpose::List)?;
    let options = options(call, body).await?;
    if options.ignore_store_read_error {
        let detail = "is not allowed with DELETECOLLECTION, try again after removing the option";
        let mut errors = ErrorList::default();
        errors.push(FieldError::invalid(FieldPath::new(IGNORE_READ_ERROR), true, detail));
        refuse("DeleteOptions", &errors)?;
    }
    let attributes = call.attributes(Operation::Delete, "", &options);
    let validation = call.api.admission.validation(attributes);
    let page = deleter.delete_collection(call.context, &validation, &options, &selection).await?;
    list_response(call, &output, page).await
}

/// Checks that the user may delete the object although its stored value cannot be read.
async fn authorize_corrupt_deletion(call: &Call<'_>) -> Result<(), StatusError> {
    audit::corrupt_deletion(call);
    let right = Right::to_delete_corrupt(call.info);
    if call.route.path.subresource.is_some() {
        let why = format!(
            "{IGNORE_READ_ERROR} delete option is not allowed on a subresource or non-resource request"
        );
        return Err(forbidden_because(&right.attributes(&call.context.user), &why));
    }
    call.require(Some(right)).await
}

/// Returns the options: from the body if there is one, else from the query.
async fn options(call: &Call<'_>, body: Body) -> Result<DeleteOptions, StatusError> {
    let has_corrupt_deletion = call.api.config.corrupt_object_deletion;
    let bytes = read_body(body).await?;
    if bytes.is_empty() {
        return delete_options_of_query(call.query, has_corrupt_deletion);
    }
    let format = Format::from_body(call.headers, Formats { protobuf: true, ..call.formats() })?;
    let stage = if format == Format::Json { "couldn't get version/kind; json parse error: " } else { "" };
    let limits = Limits { keeps_floats: true, ..Limits::within(&call.context.budget) };
    let decoded = decode_within(&bytes, format, &limits)
        .map_err(|fault| StatusError::bad_request(format!("{stage}{fault}")))?;
    check_kind(&decoded.value)?;
    let options = delete_options(decoded.value.clone(), has_corrupt_deletion)?;
    audit::delete_options(call, &decoded.value);
    Ok(options)
}

/// Checks that the body of a deletion is of the kind `DeleteOptions`, of any version, if it has a kind.
fn check_kind(body: &Value) -> Result<(), StatusError> {
    let text = |field: &str| body.get(field).and_then(Value::as_str).filter(|text| !text.is_empty());
    let kind = text("kind").unwrap_or(OPTIONS);
    if kind == OPTIONS {
        return Ok(());
    }
    Err(StatusError::bad_request(if OTHER_META_KINDS.contains(&kind) {
        format!("decoded object cannot be converted to {OPTIONS}")
    } else {
        format!(
            "no kind {} is registered for version {} in scheme \"pkg/apis/meta/internalversion/scheme/register.go:27\"",
            quote(kind),
            quote(text("apiVersion").unwrap_or("meta.k8s.io/v1"))
        )
    }))
}
