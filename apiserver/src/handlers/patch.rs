//! `patch`: an update whose object is made from the present one.

use async_trait::async_trait;
use axum::body::Body;
use http::Response;
use registry_core::RequestContext;
use registry_core::api::{
    CreateOptions, DryRun, ErrorList, FieldError, FieldPath, FieldValidation, GroupVersionKind, Object,
    PatchOptions, Reason, StatusError,
};
use registry_core::rest::UpdatedObject;
use registry_core::schema::FieldIssue;
use serde_json::Value;

use crate::admission::Operation;

use super::call::{Call, method_not_allowed};
use super::content::{check_name, read_body, settle_issues, settle_namespace, with_defaults};
use super::negotiation::{Endpoint, body_media_type, unknown_body, with_empty_details};
use super::options::patch_options;
use super::respond;
use super::update::updated_status;

mod document;

use document::{PatchDocument, PatchType};

/// How often a patch that does not say which version it is for is tried again when the object changed.
const CONFLICT_RETRIES: usize = 5;

/// Answers a patch.
pub(super) async fn patch(call: &Call<'_>, body: Body) -> Result<Response<Body>, StatusError> {
    let updater = call.route.path.capabilities.patcher.as_ref().ok_or_else(method_not_allowed)?;
    let kind = patch_type(call)?;
    let output = call.negotiate(Endpoint::Object)?;
    let bytes = read_body(body).await?;
    let PatchOptions { dry_run, field_validation, field_manager, .. } = patch_options(call.query, false)?;
    let document = PatchDocument::parse(kind, &bytes)?;

    let options = CreateOptions { dry_run, field_validation, field_manager };
    let attributes = call.attributes(Operation::Update, call.name, dry_run);
    let mut attempt = 0;
    loop {
        let validation = call.api.admission.validation(attributes);
        let mut patched =
            Patched { call, document: &document, dry_run, field_validation, pins_version: false };
        let result = updater.update(call.context, call.name, &mut patched, &validation, &options).await;
        attempt += 1;
        match result {
            Err(failure) if failure.is_conflict() && !patched.pins_version && attempt < CONFLICT_RETRIES => {}
            result => {
                let (answer, created) = result?;
                return respond::answer(call, &output, answer, updated_status(created));
            }
        }
    }
}

fn patch_type(call: &Call<'_>) -> Result<PatchType, StatusError> {
    const CUSTOM: &str = "application/json-patch+json, application/merge-patch+json";
    const BUILTIN: &str =
        "application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json";
    let accepted = if call.route.is_builtin { BUILTIN } else { CUSTOM };
    match body_media_type(call.headers) {
        "application/json-patch+json" => Ok(PatchType::Json),
        "application/merge-patch+json" => Ok(PatchType::Merge),
        // Only kinds whose fields carry patch strategies can be merged strategically.
        "application/strategic-merge-patch+json" if call.route.is_builtin => Ok(PatchType::Strategic),
        "application/strategic-merge-patch+json" | "application/apply-patch+yaml" => {
            Err(unknown_body(accepted))
        }
        _ => Err(with_empty_details(StatusError::new(
            Reason::UnsupportedMediaType,
            "415: Unsupported Media Type",
        ))),
    }
}

/// The present object with the patch applied.
struct Patched<'a> {
    call: &'a Call<'a>,
    document: &'a PatchDocument,
    dry_run: DryRun,
    field_validation: FieldValidation,
    /// Whether the patch says which version of the object it is for: then a conflict is the client's to solve.
    pins_version: bool,
}

// === impl Patched ===

#[async_trait]
impl UpdatedObject for Patched<'_> {
    async fn updated_object(
        &mut self,
        context: &RequestContext,
        current: Option<&Object>,
    ) -> Result<Object, StatusError> {
        let call = self.call;
        let Some(current) = current else {
            return Err(StatusError::not_found(call.route.path.resource.group_resource(), call.name));
        };
        let value = self.apply(current)?;
        let mut object = match self.conform(value) {
            Ok(object) => object,
            // The refusal shows the patched document, which is gone by now: rare enough to make it again.
            Err(why) => return Err(invalid_patch(&self.apply(current)?.to_string(), &why)),
        };
        self.pins_version = object.resource_version() != current.resource_version();
        check_name(call, &object)?;
        settle_namespace(call, &mut object)?;
        let mut object = with_defaults(call, object);
        let attributes = call.attributes(Operation::Update, call.name, self.dry_run);
        call.api.admission.admit(context, &attributes, Some(&mut object), Some(current)).await?;
        Ok(object)
    }
}

impl Patched<'_> {
    /// The present object, patched.
    fn apply(&self, current: &Object) -> Result<Value, StatusError> {
        let mut value = current.clone().into_value();
        self.document.apply(&mut value, self.call.route.path.capabilities.storage.schema())?;
        Ok(value)
    }

    /// The patched value as an object of the route's kind, or why it is none.
    fn conform(&self, value: Value) -> Result<Object, String> {
        let call = self.call;
        let kind = call.route.kind;
        let Ok(object) = Object::from_value(value) else {
            return Err("the patched document is no object".to_owned());
        };
        if object.kind() != kind.kind || object.api_version() != &*call.route.api_version {
            return Err(format!(
                "{} in version {:?} cannot be handled as a {}",
                object.kind(),
                object.api_version(),
                kind.kind
            ));
        }
        let mut value = object.into_value();
        let mut issues: Vec<FieldIssue> =
            self.document.duplicates.iter().cloned().map(FieldIssue::Duplicate).collect();
        let schema = call.route.path.capabilities.storage.schema();
        schema.conform(&mut value, &mut issues).map_err(|fault| fault.0)?;
        settle_issues(call, issues, self.field_validation).map_err(|strict| strict.to_string())?;
        Ok(Object::from_value(value).unwrap_or_default())
    }
}

/// 422 that shows the patched document, as Kubernetes does.
fn invalid_patch(patched: &str, why: &str) -> StatusError {
    let nothing = GroupVersionKind { group: "", version: "", kind: "" };
    let error = FieldError::invalid(FieldPath::new("patch"), patched, why);
    StatusError::invalid(nothing, "", &ErrorList::from(error))
}
