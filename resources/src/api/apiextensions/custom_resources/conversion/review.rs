//! The request and the answer of a conversion's webhook: `ConversionReview`.

use bytes::Bytes;
use registry_core::api::Object;
use registry_core::api::go_text::{quote, type_name};
use registry_core::budget::{Budget, memory};
use registry_core::codec::{DecodeError, json, stored};
use registry_core::context::Exhausted;
use registry_core::schema::FieldOrder;
use resource_views::apiextensions::v1::{ConversionReview, ConversionReviewMut};
use serde_json::Value;
use uuid::Uuid;

/// A version of reviews.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReviewVersion {
    /// `v1`.
    V1,
    /// `v1beta1`, whose answers name neither their type nor the request's uid reliably.
    V1Beta1,
}

/// A review that is under way.
pub(super) struct Review {
    version: ReviewVersion,
    uid: String,
}

/// Error of an answer without converted objects. The texts are Kubernetes'.
#[derive(Debug, thiserror::Error)]
pub(super) enum AnswerError {
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
    #[error("couldn't get version/kind; json parse error: {0}")]
    Syntax(#[from] DecodeError),
    #[error("couldn't get version/kind; json parse error: cannot unmarshal {0}")]
    NoObject(&'static str),
    #[error("expected webhook response of {expected}, Kind=ConversionReview, got {found}, Kind={kind}")]
    Type { expected: &'static str, found: String, kind: String },
    #[error("no response provided")]
    NoResponse,
    #[error("expected response.uid={}, got {}", quote(.expected), quote(.found))]
    Uid { expected: String, found: String },
    #[error("response.result.status was '{0}', not 'Success'")]
    Status(String),
    /// The webhook says why it fails.
    #[error("{0}")]
    Failed(String),
    #[error("response.convertedObjects is not a list but {0}")]
    NoList(&'static str),
}

// === impl ReviewVersion ===

impl ReviewVersion {
    /// Returns the first of these versions that the server speaks.
    pub(super) fn first_of(names: &[String]) -> Option<Self> {
        names.iter().find_map(|name| match name.as_str() {
            "v1" => Some(Self::V1),
            "v1beta1" => Some(Self::V1Beta1),
            _ => None,
        })
    }

    const fn api_version(self) -> &'static str {
        match self {
            Self::V1 => "apiextensions.k8s.io/v1",
            Self::V1Beta1 => "apiextensions.k8s.io/v1beta1",
        }
    }
}

// === impl Review ===

impl Review {
    /// Creates a review with a new uid.
    pub(super) fn new(version: ReviewVersion) -> Self {
        Self { version, uid: Uuid::new_v4().to_string() }
    }

    /// Returns the request to convert objects to a version.
    pub(super) fn request(&self, objects: &[Object], api_version: &str) -> Bytes {
        let mut out = Vec::with_capacity(1024);
        let text = |text: &str| Value::from(text).to_string();
        let head = format!(
            r#"{{"kind":"ConversionReview","apiVersion":{},"request":{{"uid":{},"desiredAPIVersion":{},"objects":["#,
            text(self.version.api_version()),
            text(&self.uid),
            text(api_version),
        );
        out.extend_from_slice(head.as_bytes());
        for (index, object) in objects.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(&json::encode(&object.0, FieldOrder::ByName));
        }
        // Kubernetes sends an empty response, too.
        out.extend_from_slice(
            br#"]},"response":{"uid":"","convertedObjects":null,"result":{"metadata":{}}}}"#,
        );
        out.into()
    }

    /// Returns the objects of an answer.
    ///
    /// # Errors
    /// Fails if it is not the answer to this request, takes more memory than the budget allows, or if the webhook could not
    /// convert.
    pub(super) fn converted(&self, answer: &[u8], budget: &Budget) -> Result<Vec<Value>, AnswerError> {
        budget.take_bytes(memory::json_bytes(answer))?;
        let answer = stored::decode_value(answer)?;
        let mut answer =
            Object::from_value(answer).map_err(|other| AnswerError::NoObject(type_name(&other)))?;
        if self.version == ReviewVersion::V1 {
            self.check_type(&answer)?;
        }
        let response = ConversionReview(&answer).response();
        if !response.value().is_some_and(Value::is_object) {
            return Err(AnswerError::NoResponse);
        }
        let (expected, found) = (&self.uid, response.uid().text());
        if self.version == ReviewVersion::V1 && found != expected {
            return Err(AnswerError::Uid { expected: expected.clone(), found: found.to_owned() });
        }
        let (status, message) = (response.result().status().text(), response.result().message().text());
        if status != "Success" {
            return Err(match message {
                "" => AnswerError::Status(status.to_owned()),
                message => AnswerError::Failed(message.to_owned()),
            });
        }
        let response = ConversionReviewMut(&mut answer).response().present();
        match response.and_then(|mut response| response.converted_objects().remove()) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(objects)) => Ok(objects),
            Some(other) => Err(AnswerError::NoList(type_name(&other))),
        }
    }

    fn check_type(&self, answer: &Object) -> Result<(), AnswerError> {
        let (api_version, kind) = (answer.api_version(), answer.kind());
        let expected = self.version.api_version();
        if api_version == expected && kind == "ConversionReview" {
            return Ok(());
        }
        let slash = if api_version.contains('/') { "" } else { "/" };
        Err(AnswerError::Type { expected, found: format!("{slash}{api_version}"), kind: kind.to_owned() })
    }
}
