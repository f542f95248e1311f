//! `patch`: an update whose object is derived from the current one.

use async_trait::async_trait;
use axum::body::Body;
use http::HeaderMap;
use registry_core::RequestContext;
use registry_core::api::go_text::quote;
use registry_core::api::{
    CreateOptions, ErrorList, FieldError, FieldPath, GroupVersionKind, Object, PatchOptions, Reason,
    StatusError, split_api_version,
};
use registry_core::apply::keep_reset;
use registry_core::codec::json;
use registry_core::context::Budget;
use registry_core::rest::{NewObject, UpdatedObject};
use registry_core::schema::{ConformError, EmptyFields, FieldIssue};
use responses::Response;
use responses::negotiation::{Endpoint, Format, body_media_type, unknown_body, with_empty_details};
use serde_json::Value;

use crate::admission::Operation;

use super::call::Call;
use super::content::{
    BodyIssue, Step, StrictError, bound_issues, check_name, owners, read_body, set_defaults, settle_issues,
    settle_namespace,
};
use super::creation::CreationRight;
use super::managers;
use super::options::patch_options;
use super::response::object_response;
use super::routing::method_not_allowed;
use super::update::updated_status;
use super::{audit, content};

mod apply;
mod document;

use apply::Applied;
use document::{PatchDocument, PatchType};

/// Maximum number of attempts of a patch without a resource version when the object changes concurrently.
const CONFLICT_RETRIES: usize = 5;

/// Handles a patch.
pub(super) async fn patch(call: &Call<'_>, body: Body) -> Result<Response, StatusError> {
    let updater = call.route.path.capabilities.patcher.as_ref().ok_or_else(method_not_allowed)?;
    let kind = patch_type(call)?;
    let output = call.negotiate(Endpoint::Object)?;
    let bytes = read_body(body).await?;
    let patch_options = patch_options(call.query, matches!(kind, PatchRequest::Apply(_)))?;
    let PatchOptions { dry_run, field_validation, ref field_manager, .. } = patch_options;
    let field_manager = field_manager.clone();
    let options = CreateOptions { dry_run, field_validation, field_manager, ..CreateOptions::default() };
    audit::patch(call, &bytes, |patch| match kind {
        PatchRequest::Apply(format) => {
            content::decode(patch, format, &Budget::default()).ok().map(|decoded| decoded.value)
        }
        PatchRequest::Patch(_) => None,
    });
    let mut update = match kind {
        PatchRequest::Apply(format) => Update::Apply(Applied::parse(call, &bytes, format, &patch_options)?),
        PatchRequest::Patch(kind) => Update::Patch(Patched {
            call,
            document: PatchDocument::parse(
                kind,
                &bytes,
                &call.context.budget,
                call.route.path.resource.is_builtin,
            )?,
            options: &patch_options,
            pins_version: false,
            has_managers: true,
            empty_fields: EmptyFields::default(),
        }),
    };
    let attributes = call.attributes(Operation::Update, call.name, &patch_options);
    let creation = CreationRight::new(call);
    let mut attempt = 0;
    loop {
        let validation = call.api.admission.validation_of_update(attributes, &creation);
        let updated = update.as_updated_object();
        let result = updater.update(call.context, call.name, updated, &validation, &options).await;
        attempt += 1;
        match result {
            Err(failure) if update.may_retry(&failure) && attempt < CONFLICT_RETRIES => {}
            Err(failure) if managers::may_fit_without(&failure) && update.forget_managers() => {}
            result => {
                let (answer, created) = result?;
                return object_response(call, &output, answer, updated_status(created));
            }
        }
    }
}

/// The type of a patch request.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PatchRequest {
    /// A change of the current object.
    Patch(PatchType),
    /// A configuration to apply, in YAML or CBOR.
    Apply(Format),
}

/// A patch request that is ready to be applied.
enum Update<'a> {
    Patch(Patched<'a>),
    Apply(Applied<'a>),
}

// === impl Update ===

impl<'a> Update<'a> {
    fn as_updated_object(&mut self) -> &mut (dyn UpdatedObject + 'a) {
        match self {
            Self::Patch(patched) => patched,
            Self::Apply(applied) => applied,
        }
    }

    /// Leaves the managers of fields out of further attempts, and returns whether they were part of the last one. Objects
    /// that are applied are not stored without them.
    fn forget_managers(&mut self) -> bool {
        match self {
            Self::Patch(patched) => std::mem::replace(&mut patched.has_managers, false),
            Self::Apply(_) => false,
        }
    }

    /// Returns whether trying again may help: the object changed concurrently, the patch has no resource
    /// version, and there is no conflict with another manager.
    fn may_retry(&self, failure: &StatusError) -> bool {
        let pins_version = match self {
            Self::Patch(patched) => patched.pins_version,
            Self::Apply(applied) => applied.pins_version() || conflicts_with_managers(failure),
        };
        failure.is_conflict() && !pins_version
    }
}

/// Returns whether a conflict is between field managers.
fn conflicts_with_managers(failure: &StatusError) -> bool {
    let causes = failure.details.as_ref().map(|details| details.causes.as_slice()).unwrap_or_default();
    causes.iter().any(|cause| cause.reason == "FieldManagerConflict")
}

/// Returns whether a PATCH is a server-side apply.
pub(super) fn is_apply(headers: &HeaderMap) -> bool {
    body_media_type(headers).starts_with("application/apply-patch+")
}

fn patch_type(call: &Call<'_>) -> Result<PatchRequest, StatusError> {
    const CUSTOM: &str =
        "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
    let cbor = call.api.config.cbor;
    match body_media_type(call.headers) {
        "application/json-patch+json" => Ok(PatchRequest::Patch(PatchType::Json)),
        "application/merge-patch+json" => Ok(PatchRequest::Patch(PatchType::Merge)),
        "application/apply-patch+yaml" => Ok(PatchRequest::Apply(Format::Yaml)),
        "application/apply-patch+cbor" if cbor => Ok(PatchRequest::Apply(Format::Cbor)),
        // Only kinds whose fields have patch strategies support strategic merge patches.
        "application/strategic-merge-patch+json" if call.route.path.resource.is_builtin => {
            Ok(PatchRequest::Patch(PatchType::Strategic))
        }
        other if call.route.is_custom() || other == "application/strategic-merge-patch+json" => {
            let cbor = if cbor { ", application/apply-patch+cbor" } else { "" };
            Err(unknown_body(&format!("{CUSTOM}{cbor}")))
        }
        _ => Err(with_empty_details(StatusError::new(
            Reason::UnsupportedMediaType,
            "415: Unsupported Media Type",
        ))),
    }
}

/// Applies a patch to the current object.
struct Patched<'a> {
    call: &'a Call<'a>,
    document: PatchDocument,
    options: &'a PatchOptions,
    /// Whether the patch has a resource version: the client then has to resolve conflicts.
    pins_version: bool,
    /// Whether the stored object has the managers of its fields.
    has_managers: bool,
    /// The empty lists of the object that was patched last.
    empty_fields: EmptyFields,
}

/// Error of a patched document that is no object of the route's kind. The texts are Kubernetes'.
#[derive(Debug, thiserror::Error)]
enum Unfit {
    #[error("the patched document is not an object")]
    NoObject,
    #[error(
        "no kind {} is registered for version {} in scheme \"pkg/api/legacyscheme/scheme.go:30\"",
        quote(.kind),
        quote(.api_version)
    )]
    NotRegistered { kind: String, api_version: String },
    #[error("converting ({from}) to ({to}): unknown conversion")]
    Conversion { from: String, to: String },
    #[error(transparent)]
    Field(ConformError),
    /// A field of the result of a strategic merge patch, which Go reads from a map.
    #[error("{}", .0.map_message())]
    Map(#[source] ConformError),
    #[error(transparent)]
    Strict(#[from] StrictError),
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
            Ok(new) => {
                self.empty_fields = new.empty_fields;
                new.object
            }
            Err(unfit) => {
                context.budget.check()?;
                // The patched document is no longer available: this is rare enough to compute it again.
                let patched = self.apply(current)?;
                let schema = call.route.path.capabilities.storage.schema();
                return Err(invalid_patch(&self.document.shown(&patched, &schema), &unfit.to_string()));
            }
        };
        self.pins_version = object.resource_version() != current.resource_version();
        settle_namespace(call, &mut object)?;
        check_name(call, &object)?;
        let mut object = set_defaults(call, object, Some(&self.empty_fields))?;
        call.track_update(Some(current), &mut object, &self.options.field_manager).await;
        let attributes = call.attributes(Operation::Update, call.name, self.options);
        call.api.admission.admit(context, &attributes, Some(&mut object), Some(current)).await?;
        owners::settle_after_admission(context, &mut object);
        if !self.has_managers {
            managers::forget(&mut object);
        }
        Ok(object)
    }

    fn empty_fields(&self) -> Option<&EmptyFields> {
        Some(&self.empty_fields)
    }
}

impl Patched<'_> {
    /// Returns the patched object.
    fn apply(&self, current: &Object) -> Result<Value, StatusError> {
        let mut value = current.clone().into_value();
        let call = self.call;
        let schema = call.route.path.capabilities.storage.schema();
        self.document.apply(&mut value, &schema, &call.context.budget)?;
        Ok(value)
    }

    /// Returns the patched value as an object of the route's kind.
    ///
    /// # Errors
    /// Fails if it is none.
    fn conform(&self, mut value: Value) -> Result<NewObject, Unfit> {
        let call = self.call;
        let kind = call.route.kind;
        keep_reset(&mut value);
        let mut object = Object::from_value(value).map_err(|_| Unfit::NoObject)?;
        let is_strategic = self.document.is_strategic();
        if is_strategic || object.kind().is_empty() {
            // The result of a strategic patch is of the route's kind, whatever type it declares.
            object.set_type(&call.route.api_version, kind.kind);
        } else if object.kind() != kind.kind || object.api_version() != &*call.route.api_version {
            return Err(self.foreign(object));
        }
        let kept = self.take_unpatched(&mut object);
        let mut value = object.into_value();
        let mut odd: Vec<FieldIssue> = Vec::new();
        let schema = call.route.path.capabilities.storage.schema();
        let mut empty_fields = EmptyFields::default();
        schema
            .conform_as_sent(&call.context.budget, &mut value, &mut odd, &mut empty_fields)
            .map_err(|fault| if is_strategic { Unfit::Map(fault) } else { Unfit::Field(fault) })?;
        if self.document.has_floats {
            json::shorten_floats(&mut value);
        }
        if is_strategic {
            odd.sort();
        }
        let odd = odd.into_iter().map(|issue| BodyIssue { step: Step::Decode, issue });
        let mut issues: Vec<BodyIssue> = self.document.issues.iter().cloned().chain(odd).collect();
        if !is_strategic {
            bound_issues(&mut issues);
        }
        settle_issues(call, &issues, self.options.field_validation)?;
        let mut object = Object::from_value(value).map_err(|_| Unfit::NoObject)?;
        object.0.extend(kept);
        Ok(NewObject { object, empty_fields })
    }

    /// Removes the top-level fields that the patch does not change, and returns them: stored objects of built-in kinds
    /// conform.
    fn take_unpatched(&self, object: &mut Object) -> Vec<(String, Value)> {
        let patched = self.document.patched_fields().filter(|_| self.call.route.path.resource.is_builtin);
        let Some(patched) = patched else { return Vec::new() };
        let is_kept =
            |name: &str| !["apiVersion", "kind", "metadata"].contains(&name) && !patched.contains_key(name);
        let kept: Vec<String> = object.0.keys().filter(|name| is_kept(name)).cloned().collect();
        kept.into_iter().filter_map(|name| object.0.remove_entry(&name)).collect()
    }

    /// Returns the reason why a patched document that declares another kind or version is not of the route's
    /// kind.
    fn foreign(&self, object: Object) -> Unfit {
        let route = self.call.route;
        let api_version = object.api_version().to_owned();
        let kind = object.kind().to_owned();
        let (group, version) = split_api_version(&api_version);
        if !self.call.api.served().knows_kind(group, version, &kind) {
            return Unfit::NotRegistered { kind, api_version };
        }
        let schema = route.path.capabilities.storage.schema().table().schema_of(&api_version, &kind);
        let conformed = schema.map(|schema| schema.conform(&mut object.into_value(), &mut Vec::new()));
        if let Some(Err(fault)) = conformed {
            return Unfit::Field(fault);
        }
        Unfit::Conversion { from: format!("{version}.{kind}"), to: route.go_type(route.kind.kind) }
    }
}

/// Returns a 422 that shows the patched document, or the patch, as Kubernetes does.
fn invalid_patch(shown: &str, why: &str) -> StatusError {
    let nothing = GroupVersionKind { group: "", version: "", kind: "" };
    let error = FieldError::invalid(FieldPath::new("patch"), shown, why);
    StatusError::invalid(nothing, "", &ErrorList::from(error))
}
