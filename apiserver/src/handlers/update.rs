//! `update`: replaces the current object.

use async_trait::async_trait;
use axum::body::Body;
use http::StatusCode;
use registry_core::RequestContext;
use registry_core::api::{Object, Preconditions, StatusError, UpdateOptions};
use registry_core::rest::{NewObject, UpdatedObject};
use registry_core::schema::EmptyFields;
use responses::Response;
use responses::negotiation::Endpoint;

use crate::admission::Operation;

use super::call::Call;
use super::content::{check_name, decode_object, owners, read_body};
use super::creation::CreationRight;
use super::managers;
use super::options::write_options;
use super::response::object_response;
use super::routing::method_not_allowed;

/// Handles an update.
pub(super) async fn update(call: &Call<'_>, body: Body) -> Result<Response, StatusError> {
    let updater = call.route.path.capabilities.updater.as_ref().ok_or_else(method_not_allowed)?;
    let output = call.negotiate(Endpoint::Object)?;
    let format = call.body_format()?;
    let bytes = read_body(body).await?;
    let options = write_options(call.query, "UpdateOptions")?;
    let new = decode_object(call, &bytes, format, options.field_validation)?;
    check_name(call, &new.object)?;

    let mut replacement = Replacement { call, new, options: &options, has_managers: true };
    let attributes = call.attributes(Operation::Update, call.name, &options);
    let creation = CreationRight::new(call);
    let validation = call.api.admission.validation_of_update(attributes, &creation);
    let mut updated = updater.update(call.context, call.name, &mut replacement, &validation, &options).await;
    if updated.as_ref().is_err_and(managers::may_fit_without) {
        managers::forget(&mut replacement.new.object);
        replacement.has_managers = false;
        let validation = call.api.admission.validation_of_update(attributes, &creation);
        updated = updater.update(call.context, call.name, &mut replacement, &validation, &options).await;
    }
    let (answer, created) = updated?;
    object_response(call, &output, answer, updated_status(created))
}

/// Returns 201 if the update created the object.
pub(super) fn updated_status(created: bool) -> StatusCode {
    if created { StatusCode::CREATED } else { StatusCode::OK }
}

/// Replaces the current object with the request's.
struct Replacement<'a> {
    call: &'a Call<'a>,
    new: NewObject,
    options: &'a UpdateOptions,
    /// Whether the stored object has the managers of its fields.
    has_managers: bool,
}

// === impl Replacement ===

#[async_trait]
impl UpdatedObject for Replacement<'_> {
    /// Returns the preconditions: a uid in the object must match that of the current one.
    fn preconditions(&self) -> Preconditions {
        let uid = self.new.object.uid();
        Preconditions { uid: (!uid.is_empty()).then(|| uid.to_owned()), resource_version: None }
    }

    async fn updated_object(
        &mut self,
        context: &RequestContext,
        current: Option<&Object>,
    ) -> Result<Object, StatusError> {
        // Each attempt needs its own copy: admission may depend on the current object.
        let mut object = self.new.object.clone();
        if self.has_managers {
            self.call.track_update(current, &mut object, &self.options.field_manager).await;
        } else {
            self.call.route.path.capabilities.storage.schema().nil_empties(&mut object.0);
        }
        let operation = if current.is_some() { Operation::Update } else { Operation::Create };
        let attributes = self.call.attributes(operation, self.call.name, self.options);
        self.call.api.admission.admit(context, &attributes, Some(&mut object), current).await?;
        owners::settle_after_admission(context, &mut object);
        Ok(object)
    }

    fn empty_fields(&self) -> Option<&EmptyFields> {
        Some(&self.new.empty_fields)
    }
}
