//! The request and the answer of a conversion's webhook: `ConversionReview`.

use bytes::Bytes;
use registry_core::api::Object;
use registry_core::budget::{Budget, memory};
use registry_core::codec::json;
use registry_core::codec::stored;
use registry_core::schema::FieldOrder;
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
    pub(super) fn converted(&self, answer: &[u8], budget: &Budget) -> Result<Vec<Value>, String> {
        budget.take_bytes(memory::json_bytes(answer)).map_err(|why| why.to_string())?;
        let mut answer = stored::decode_value(answer)
            .map_err(|error| format!("couldn't get version/kind; json parse error: {error}"))?;
        if !answer.is_object() {
            let found = go_type(&answer);
            return Err(format!("couldn't get version/kind; json parse error: cannot unmarshal {found}"));
        }
        if self.version == ReviewVersion::V1 {
            self.check_type(&answer)?;
        }
        let Some(response) = answer.get_mut("response").filter(|response| response.is_object()) else {
            return Err("no response provided".to_owned());
        };
        let field = |path: &str| response.pointer(path).and_then(Value::as_str).unwrap_or_default();
        let (expected, found) = (&self.uid, field("/uid"));
        if self.version == ReviewVersion::V1 && found != expected {
            return Err(format!("expected response.uid={expected:?}, got {found:?}"));
        }
        let (status, message) = (field("/result/status"), field("/result/message"));
        if status != "Success" {
            return Err(match message {
                "" => format!("response.result.status was '{status}', not 'Success'"),
                message => message.to_owned(),
            });
        }
        match response.get_mut("convertedObjects").map(Value::take) {
            None | Some(Value::Null) => Ok(Vec::new()),
            Some(Value::Array(objects)) => Ok(objects),
            Some(other) => Err(format!("response.convertedObjects is not a list but {}", go_type(&other))),
        }
    }

    fn check_type(&self, answer: &Value) -> Result<(), String> {
        let field = |name: &str| answer.get(name).and_then(Value::as_str).unwrap_or_default();
        let (api_version, kind) = (field("apiVersion"), field("kind"));
        let expected = self.version.api_version();
        if api_version == expected && kind == "ConversionReview" {
            return Ok(());
        }
        let slash = if api_version.contains('/') { "" } else { "/" };
        Err(format!(
            "expected webhook response of {expected}, Kind=ConversionReview, got {slash}{api_version}, Kind={kind}"
        ))
    }
}

/// Returns Go's name for the type of a decoded value.
pub(super) fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}
