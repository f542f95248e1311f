//! `get`: one object, in its stored form.

use registry_core::api::StatusError;
use registry_core::rest::Answer;
use responses::Response;
use responses::negotiation::{Endpoint, Format, ResponseShape};

use super::call::Call;
use super::options::get_options;
use super::response::object_response;
use super::routing::method_not_allowed;

/// Handles a get. In JSON, the object is neither parsed nor encoded.
pub(super) async fn get(call: &Call<'_>) -> Result<Response, StatusError> {
    let getter = call.route.path.capabilities.getter.as_ref().ok_or_else(method_not_allowed)?;
    let output = call.negotiate(Endpoint::Object)?;
    let options = get_options(call.query)?;
    let answer = getter.get(call.context, call.name, &options).await?;
    let is_encoded = output.format != Format::Json || output.shape != ResponseShape::Whole;
    if let (Answer::Stored(entry), true) = (&answer, is_encoded) {
        call.context.budget.leave_for_large(entry.json().len()).await;
    }
    object_response(call, &output, answer, http::StatusCode::OK)
}
