//! The objects of requests, recorded for the audit log. Nothing is encoded unless the request's level asks for it. Those of
//! responses are recorded where they are written: `response`, `list`.
//!
//! Tokens are never recorded: neither those that the server issues, nor those that it is asked to review.
//!
//! Kubernetes concept: `LogRequestObject` in `k8s.io/apiserver/pkg/audit`.

use std::borrow::Cow;

use bytes::Bytes;
use registry_core::api::Object;
use registry_core::codec::json;
use registry_core::context::AuditLevel;
use serde_json::{Value, json};

use super::call::Call;
use super::options::IGNORE_READ_ERROR;

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

/// Records a patch, as it was sent. One that is not JSON (server-side apply is in YAML) is recorded as the JSON that it
/// means, or else as text.
pub(super) fn patch(call: &Call<'_>, patch: &Bytes, decode: impl FnOnce(&[u8]) -> Option<Value>) {
    let Some(record) = call.context.audit_at(AuditLevel::Request) else { return };
    // Strings that are ignored are not checked for UTF-8 by the decoder.
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

/// Annotates a deletion of an object whose stored value cannot be read.
pub(super) fn corrupt_deletion(call: &Call<'_>) {
    call.context.annotate("apiserver.k8s.io/unsafe-delete-ignore-read-error", "");
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
        IGNORE_READ_ERROR,
    ] {
        if let Some(value) = options.get(field).filter(|value| !value.is_null()) {
            registry_core::json_fields::put(&mut shown, field, value.clone());
        }
    }
    record.set_request_object(shown.to_string().into());
}

/// Removes the token of an object that has one.
pub(super) fn remove_tokens(call: &Call<'_>, object: &mut Cow<'_, Object>) {
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
