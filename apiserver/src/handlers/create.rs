//! `create`: creates an object, or a subresource of a named one.

use axum::body::Body;
use http::StatusCode;
use registry_core::api::StatusError;
use responses::Response;
use responses::negotiation::Endpoint;

use crate::admission::Operation;

use super::call::Call;
use super::content::{decode_object, owners, read_body};
use super::managers;
use super::options::write_options;
use super::response::object_response;
use super::routing::method_not_allowed;

/// Size of a body from which on the stored object may be too large.
const LARGE_BODY_BYTES: usize = 256 * 1024;

/// Handles a create.
pub(super) async fn create(call: &Call<'_>, body: Body) -> Result<Response, StatusError> {
    let capabilities = &call.route.path.capabilities;
    let is_served = if call.name.is_empty() {
        capabilities.creater.is_some()
    } else {
        capabilities.named_creater.is_some()
    };
    if !is_served {
        return Err(method_not_allowed());
    }
    let output = call.negotiate(Endpoint::Object)?;
    let format = call.body_format()?;
    let bytes = read_body(body).await?;
    let options = write_options(call.query, "CreateOptions")?;
    let mut new = decode_object(call, &bytes, format, options.field_validation)?;
    let object = &mut new.object;
    call.track_update(None, object, &options.field_manager).await;

    let name = if call.name.is_empty() { object.name().to_owned() } else { call.name.to_owned() };
    let attributes = call.attributes(Operation::Create, &name, &options);
    call.api.admission.admit(call.context, &attributes, Some(&mut *object), None).await?;
    owners::settle_after_admission(call.context, object);
    let validation = call.api.admission.validation(attributes);
    let answer = if let (Some(creater), true) = (&capabilities.named_creater, !call.name.is_empty()) {
        creater.create_named(call.context, call.name, new.object, &validation, &options).await?
    } else if let Some(creater) = &capabilities.creater {
        let large = (bytes.len() >= LARGE_BODY_BYTES).then(|| new.clone());
        let created = creater.create(call.context, new, &validation, &options).await;
        match (created, large) {
            (Err(failure), Some(mut new)) if managers::may_fit_without(&failure) => {
                managers::forget(&mut new.object);
                creater.create(call.context, new, &validation, &options).await?
            }
            (created, _) => created?,
        }
    } else {
        return Err(method_not_allowed());
    };
    object_response(call, &output, answer, StatusCode::CREATED)
}
