//! The answer of a webhook.
//!
//! Kubernetes concept: `VerifyAdmissionResponse` in `k8s.io/apiserver/pkg/admission/plugin/webhook/request`, and `ToStatusErr`
//! in `webhook/errors`.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use registry_core::api::go_text::quote_byte;
use registry_core::api::status::StatusDetails;
use registry_core::api::{Reason, StatusError};
use registry_core::codec::json::{self, type_name};
use serde::Deserialize;
use serde_json::Value;

use registry_core::json_fields::or_default;

use super::review::ReviewVersion;

/// The codes of a refusal. Others cannot be the status of a response that refuses.
const REFUSAL_CODES: std::ops::Range<i64> = 400..600;

/// The Go type of the part of a review that says what it is.
const PROBE: &str =
    r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

/// An answer that was checked.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// Whether the write is allowed.
    pub(super) is_allowed: bool,
    /// Why it is not.
    pub(super) result: Option<Refusal>,
    /// The change that the webhook asks for, a JSON patch; empty if it asks for none.
    pub(super) patch: Vec<u8>,
    /// The type of the patch, if it is not JSON patch.
    pub(super) unknown_patch_type: Option<String>,
    /// Annotations of the request's audit events.
    pub(super) audit_annotations: BTreeMap<String, String>,
    /// Warnings for the client.
    pub(super) warnings: Vec<String>,
}

/// Why a write is refused: the fields of a `Status`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Refusal {
    #[serde(deserialize_with = "or_default")]
    code: i64,
    #[serde(deserialize_with = "or_default")]
    message: String,
    #[serde(deserialize_with = "or_default")]
    reason: String,
    details: Option<StatusDetails>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Review {
    #[serde(deserialize_with = "or_default")]
    kind: String,
    #[serde(deserialize_with = "or_default")]
    api_version: String,
    response: Option<Response>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Response {
    #[serde(deserialize_with = "or_default")]
    uid: String,
    #[serde(deserialize_with = "or_default")]
    allowed: bool,
    status: Option<Refusal>,
    patch: Option<PatchBytes>,
    patch_type: Option<String>,
    #[serde(deserialize_with = "or_default")]
    audit_annotations: BTreeMap<String, String>,
    #[serde(deserialize_with = "or_default")]
    warnings: Vec<String>,
}

/// Bytes, as Go reads them: base64, or a list of numbers, which frameworks outside of Go write.
#[derive(Deserialize)]
#[serde(untagged)]
enum PatchBytes {
    Base64(String),
    List(Vec<u8>),
}

/// Error of an answer that cannot be used. The texts are Kubernetes'.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    /// It is not a review.
    #[error(transparent)]
    Undecodable(#[from] Undecodable),
    /// It is no answer to the question.
    #[error(transparent)]
    Invalid(#[from] InvalidAnswer),
}

/// Error of an answer that is not a review.
#[derive(Debug, thiserror::Error)]
pub(super) enum Undecodable {
    #[error("couldn't get version/kind; json parse error: {reason}")]
    Syntax { reason: String, source: serde_json::Error },
    #[error("couldn't get version/kind; json parse error: json: cannot unmarshal {0} into Go value of type {probe}", probe = PROBE)]
    NoObject(&'static str),
    #[error("json: cannot unmarshal {found} into Go struct field AdmissionReview.{field}")]
    Field { found: &'static str, field: &'static str },
    #[error("unable to decode the answer: {0}")]
    Types(#[source] serde_json::Error),
    #[error("v1.AdmissionReview.Response: Patch: illegal base64 data: {0}")]
    Patch(#[from] base64::DecodeError),
}

/// Error of a review that is no answer to the question.
#[derive(Debug, thiserror::Error)]
pub(super) enum InvalidAnswer {
    #[error("webhook response was absent")]
    Absent,
    #[error("expected response.uid={wanted:?}, got {found:?}")]
    Uid { wanted: String, found: String },
    #[error("expected webhook response of {}, Kind=AdmissionReview, got {found}, Kind={kind}", ReviewVersion::V1.api_version())]
    Kind { found: String, kind: String },
    #[error("validating webhook may not return response.patch")]
    Patch,
    #[error("validating webhook may not return response.patchType")]
    PatchType,
    #[error("webhook returned response.patch but not response.patchType")]
    PatchWithoutType,
    #[error("webhook returned response.patchType but not response.patch")]
    TypeWithoutPatch,
    #[error("webhook returned invalid response.patchType of \"\"")]
    EmptyPatchType,
}

// === impl Answer ===

impl Answer {
    /// Reads and checks the answer to the review with this uid. Only mutating webhooks may ask for a change.
    ///
    /// # Errors
    /// Fails with Kubernetes' text if it is no such answer.
    pub(super) fn read(
        body: &[u8],
        version: ReviewVersion,
        uid: &str,
        is_mutating: bool,
    ) -> Result<Self, Fault> {
        let review = decode(body)?;
        let mut response = review.response.ok_or(InvalidAnswer::Absent)?;
        let mut patch = match response.patch.take() {
            None => Vec::new(),
            Some(PatchBytes::List(bytes)) => bytes,
            Some(PatchBytes::Base64(text)) => STANDARD.decode(text).map_err(Undecodable::Patch)?,
        };
        if version == ReviewVersion::V1 {
            check_identity(&response, (&review.api_version, &review.kind), uid)?;
            check_patch(&response, !patch.is_empty(), is_mutating)?;
        } else {
            // Such answers were never checked further.
            response.patch_type = None;
            if !is_mutating {
                patch.clear();
            }
        }
        Ok(Self {
            is_allowed: response.allowed,
            result: response.status,
            patch,
            unknown_patch_type: response.patch_type.filter(|name| name != "JSONPatch"),
            audit_annotations: response.audit_annotations,
            warnings: response.warnings,
        })
    }
}

fn decode(body: &[u8]) -> Result<Review, Undecodable> {
    let value: Value = json::from_slice(body)
        .map_err(|source| Undecodable::Syntax { reason: unparsable(body, &source), source })?;
    if !value.is_object() {
        return Err(Undecodable::NoObject(type_name(&value)));
    }
    // A struct could be read from a list, too.
    let response = value.get("response").unwrap_or(&Value::Null);
    let result = response.get("status").unwrap_or(&Value::Null);
    for (field, part) in [("response", response), ("response.status", result)] {
        if !part.is_object() && !part.is_null() {
            return Err(Undecodable::Field { found: type_name(part), field });
        }
    }
    serde_json::from_value(value).map_err(Undecodable::Types)
}

/// Returns the text of a syntax error.
fn unparsable(body: &[u8], error: &serde_json::Error) -> String {
    match body.first() {
        None => "unexpected end of JSON input".to_owned(),
        Some(b'{' | b'[' | b' ' | b'\n' | b'\r' | b'\t') => error.to_string(),
        Some(start) => format!("invalid character {} looking for beginning of value", quote_byte(*start)),
    }
}

fn check_identity(
    response: &Response,
    (api_version, kind): (&str, &str),
    uid: &str,
) -> Result<(), InvalidAnswer> {
    if response.uid != uid {
        return Err(InvalidAnswer::Uid { wanted: uid.to_owned(), found: response.uid.clone() });
    }
    if (api_version, kind) != (ReviewVersion::V1.api_version(), "AdmissionReview") {
        let found = if api_version.is_empty() { "/" } else { api_version };
        return Err(InvalidAnswer::Kind { found: found.to_owned(), kind: kind.to_owned() });
    }
    Ok(())
}

fn check_patch(response: &Response, has_patch: bool, is_mutating: bool) -> Result<(), InvalidAnswer> {
    match &response.patch_type {
        _ if has_patch && !is_mutating => Err(InvalidAnswer::Patch),
        Some(_) if !is_mutating => Err(InvalidAnswer::PatchType),
        None if has_patch => Err(InvalidAnswer::PatchWithoutType),
        Some(_) if !has_patch => Err(InvalidAnswer::TypeWithoutPatch),
        Some(name) if name.is_empty() => Err(InvalidAnswer::EmptyPatchType),
        _ => Ok(()),
    }
}

// === impl Refusal ===

impl Refusal {
    /// Returns the error for the client. Without a code, and with one that does not refuse, it is a 400.
    pub(super) fn into_error(self, webhook: &str) -> StatusError {
        let denied = format!("admission webhook {webhook:?} denied the request");
        let message = match (self.message.as_str(), self.reason.as_str()) {
            ("", "") => format!("{denied} without explanation"),
            ("", reason) => format!("{denied}: {reason}"),
            (message, _) => format!("{denied}: {message}"),
        };
        let code = if REFUSAL_CODES.contains(&self.code) { self.code } else { 400 };
        let mut error = StatusError::new(Reason::Unknown, message).with_reason(&self.reason);
        error.code = u16::try_from(code).unwrap_or(400);
        error.details = self.details.map(Box::new);
        error
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(review: &Value, is_mutating: bool) -> Result<Answer, Fault> {
        Answer::read(review.to_string().as_bytes(), ReviewVersion::V1, "u", is_mutating)
    }

    fn review(response: &Value) -> Value {
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
    }

    /// Returns the answer, or the text of the fault.
    fn checked(review: &Value, is_mutating: bool) -> Result<Answer, String> {
        read(review, is_mutating).map_err(|fault| fault.to_string())
    }

    fn invalid(text: &str) -> Result<Answer, String> {
        Err(text.to_owned())
    }

    #[test]
    fn an_answer_is_checked() {
        let allowed =
            review(&json!({"uid": "u", "allowed": true, "warnings": null, "auditAnnotations": null}));
        assert_eq!(checked(&allowed, true), Ok(Answer { is_allowed: true, ..Answer::default() }));
        assert_eq!(checked(&json!({"response": null}), true), invalid("webhook response was absent"));
        let other = review(&json!({"uid": "v", "allowed": true}));
        assert_eq!(checked(&other, true), invalid(r#"expected response.uid="u", got "v""#));
        let mut untyped = allowed.clone();
        untyped["apiVersion"] = Value::Null;
        untyped["kind"] = Value::Null;
        let expected = "expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got /, Kind=";
        assert_eq!(checked(&untyped, true), invalid(expected));
        let cut = allowed.to_string().replace("\"warnings\":null", r#""warnings":["cut \ud83d"]"#);
        let read_cut = Answer::read(cut.as_bytes(), ReviewVersion::V1, "u", true).unwrap();
        assert_eq!(read_cut.warnings, ["cut \u{fffd}"]);
        let list = r#"["AdmissionReview", "admission.k8s.io/v1", {"uid": "u", "allowed": true}]"#;
        for garbage in [
            "",
            "x",
            "[1]",
            "{",
            list,
            "{\"response\": [\"u\", true]}",
            "{\"response\": 1}",
            "{\"response\": {\"allowed\": \"yes\"}}",
        ] {
            let read = Answer::read(garbage.as_bytes(), ReviewVersion::V1, "u", true);
            assert!(matches!(read, Err(Fault::Undecodable(_))), "{garbage}: {read:?}");
        }
        let deep = format!("{}{}", "{\"response\":".repeat(100_000), "}".repeat(100_000));
        assert!(Answer::read(deep.as_bytes(), ReviewVersion::V1, "u", true).is_err());
    }

    #[test]
    fn only_mutating_webhooks_may_ask_for_a_change() {
        let patched = review(&json!({"uid": "u", "patch": "W10=", "patchType": "JSONPatch"}));
        assert_eq!(read(&patched, true).unwrap().patch, b"[]");
        let list = review(&json!({"uid": "u", "patch": [91, 93], "patchType": "JSONPatch"}));
        assert_eq!(read(&list, true).unwrap().patch, b"[]");
        assert_eq!(checked(&patched, false), invalid("validating webhook may not return response.patch"));
        let untyped = review(&json!({"uid": "u", "patch": "W10="}));
        assert_eq!(
            checked(&untyped, true),
            invalid("webhook returned response.patch but not response.patchType")
        );
        let empty = review(&json!({"uid": "u", "patchType": "JSONPatch"}));
        assert_eq!(
            checked(&empty, true),
            invalid("webhook returned response.patchType but not response.patch")
        );
        assert_eq!(checked(&empty, false), invalid("validating webhook may not return response.patchType"));
        let illegal = review(&json!({"uid": "u", "patch": "?", "patchType": "JSONPatch"}));
        assert!(matches!(read(&illegal, true), Err(Fault::Undecodable(_))));
        let merge = review(&json!({"uid": "u", "patch": "W10=", "patchType": "MergePatch"}));
        assert_eq!(read(&merge, true).unwrap().unknown_patch_type.as_deref(), Some("MergePatch"));
        let old = Answer::read(untyped.to_string().as_bytes(), ReviewVersion::V1Beta1, "other", true);
        assert_eq!(old.unwrap().patch, b"[]", "answers of v1beta1 are not checked");
    }

    #[test]
    fn a_refusal_has_a_code_a_reason_and_a_message() {
        let error = |status: Value| {
            let refusal: Refusal = serde_json::from_value(status).unwrap();
            let error = refusal.into_error("w.example.com");
            let body = error.to_value();
            (error.code, body["reason"].clone(), error.message)
        };
        let denied = "admission webhook \"w.example.com\" denied the request";
        let nothing = error(json!({}));
        assert_eq!(nothing, (400, Value::Null, format!("{denied} without explanation")));
        let own = error(json!({"code": 418, "reason": "Teapot", "message": "short and stout"}));
        assert_eq!(own, (418, json!("Teapot"), format!("{denied}: short and stout")));
        let forbidden = error(json!({"code": 403, "reason": "Forbidden"}));
        assert_eq!(forbidden, (403, json!("Forbidden"), format!("{denied}: Forbidden")));
        assert_eq!(error(json!({"code": 200, "status": "Success"})).0, 400);
        assert_eq!(error(json!({"code": 70_000})).0, 400);
    }
}
