//! The objects of requests and responses, recorded for the audit log. Nothing is encoded unless the request's level asks
//! for it.
//!
//! Tokens are never recorded: neither those that the server issues, nor those that it is asked to review.
//!
//! Kubernetes concept: `LogRequestObject` and `LogResponseObject` in `k8s.io/apiserver/pkg/audit`.

use std::borrow::Cow;

use bytes::Bytes;
use futures::StreamExt as _;
use http_body::Body as _;
use registry_core::api::{Object, StatusError};
use registry_core::codec::json;
use registry_core::context::AuditLevel;
use registry_core::rest::Answer;
use registry_core::storage::ListPage;
use responses::negotiation::{Output, ResponseShape};
use serde_json::{Value, json};

use super::call::Call;
use super::list::json_list;
use super::representation::Item;
use super::response::{success_status, write_shape};

/// The kinds with tokens, and where the tokens are.
const TOKENS: [(&str, [&str; 2]); 2] =
    [("TokenRequest", ["status", "token"]), ("TokenReview", ["spec", "token"])];

/// Records the object of a request, with its defaults, and its identity.
pub(super) fn request_object(call: &Call<'_>, object: &Object) {
    let Some(record) = &call.context.audit else { return };
    record.identify(object);
    if record.level() >= AuditLevel::Request {
        let mut object = Cow::Borrowed(object);
        remove_tokens(call, &mut object);
        let schema = call.route.path.capabilities.storage.schema();
        record.set_request_object(json::encode(&object.0, schema.field_order()).into());
    }
}

/// Records a patch, as it was sent. One that is no JSON (server-side apply is in YAML) is recorded as the JSON that it
/// means, or else as text.
pub(super) fn patch(call: &Call<'_>, patch: &Bytes, decode: impl FnOnce(&[u8]) -> Option<Value>) {
    let Some(record) = call.context.audit_at(AuditLevel::Request) else { return };
    // What is passed over is not checked for UTF-8.
    let text = std::str::from_utf8(patch).ok();
    let is_json = text.is_some_and(|text| serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok());
    let recorded = if is_json {
        patch.clone()
    } else {
        let meant = decode(patch);
        let text = || Value::from(String::from_utf8_lossy(patch));
        meant.unwrap_or_else(text).to_string().into()
    };
    record.set_request_object(recorded);
}

/// Records the options in the body of a deletion. They have an internal version, as in Kubernetes.
pub(super) fn delete_options(call: &Call<'_>, options: &Value) {
    let Some(record) = call.context.audit_at(AuditLevel::Request) else { return };
    let mut shown = json!({ "kind": "DeleteOptions", "apiVersion": "meta.k8s.io/__internal" });
    for field in [
        "gracePeriodSeconds",
        "preconditions",
        "orphanDependents",
        "propagationPolicy",
        "dryRun",
        "ignoreStoreReadErrorWithClusterBreakingPotential",
    ] {
        if let Some(value) = options.get(field).filter(|value| !value.is_null()) {
            registry_core::json_fields::put(&mut shown, field, value.clone());
        }
    }
    record.set_request_object(shown.to_string().into());
}

/// Records the response to an operation on one object.
pub(super) fn response(call: &Call<'_>, output: &Output, answer: &Answer) {
    let Some(record) = &call.context.audit else { return };
    if let Answer::Success(success) = answer {
        record.set_response_status(success_status(success));
    }
    if record.level() < AuditLevel::RequestResponse {
        return;
    }
    let json = match answer {
        Answer::Success(_) => return,
        Answer::Stored(entry) if output.shape == ResponseShape::Whole => Some(entry.line().clone()),
        Answer::Stored(entry) => shaped(call, output, &Item::stored(entry)),
        Answer::Object(object) => {
            let mut object = Cow::Borrowed(object);
            remove_tokens(call, &mut object);
            let schema = call.route.path.capabilities.storage.schema();
            let json = json::encode(&object.0, schema.field_order());
            shaped(call, output, &Item::encoded(&json))
        }
    };
    if let Some(json) = json {
        record.set_response_object(json);
    }
}

fn shaped(call: &Call<'_>, output: &Output, item: &Item<'_>) -> Option<Bytes> {
    let mut json = Vec::with_capacity(item.json.len());
    // A failure is the response, and recorded as that.
    write_shape(call, output, item, &mut json).ok()?;
    Some(json.into())
}

/// Records a list. One that is too large, alone or with what is recorded of other requests, is not recorded, and
/// annotated as truncated.
pub(super) async fn list(call: &Call<'_>, output: &Output, page: &ListPage) -> Result<(), StatusError> {
    let Some(record) = call.context.audit_at(AuditLevel::RequestResponse) else { return Ok(()) };
    let mut body = json_list(call, output, page.clone())?;
    let mut frames = futures::stream::poll_fn(move |task| std::pin::Pin::new(&mut body).poll_frame(task));
    let mut list = record.begin_list();
    while let Some(frame) = frames.next().await {
        let Ok(piece) = frame?.into_data() else { continue };
        if !list.add(&piece) {
            return Ok(());
        }
    }
    list.end();
    Ok(())
}

fn remove_tokens(call: &Call<'_>, object: &mut Cow<'_, Object>) {
    let tokens = TOKENS.iter().find(|(kind, _)| *kind == call.route.kind.kind);
    let Some((_, [parent, field])) = tokens else { return };
    if let Some(parent) = object.to_mut().0.get_mut(*parent).and_then(Value::as_object_mut) {
        parent.remove(*field);
    }
}

/// Annotates a request of a deprecated API, with the release that no longer has it if the deprecation names one.
pub(super) fn deprecated(call: &Call<'_>, deprecation: &str) {
    if call.context.audit.is_none() {
        return;
    }
    call.context.annotate("k8s.io/deprecated", "true");
    if let Some(release) = removed_release(deprecation) {
        call.context.annotate("k8s.io/removed-release", release.to_owned());
    }
}

/// Returns the release that no longer has a deprecated API, if the deprecation names one.
pub(super) fn removed_release(deprecation: &str) -> Option<&str> {
    let (_, rest) = deprecation.split_once("unavailable in v")?;
    Some(rest.split_once('+')?.0)
}
