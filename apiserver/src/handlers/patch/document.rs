//! A patch as it came, parsed once and applied as often as needed.

use registry_core::api::{Reason, StatusError};
use registry_core::codec::{Limits, json};
use registry_core::patch::json::JsonPatch;
use registry_core::patch::{PatchError, merge, strategic};
use registry_core::schema::Schema;
use serde_json::Value;

use crate::responses::negotiation::with_empty_details;

use super::super::content::json_type;

/// The kinds of patches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatchType {
    /// A list of operations (RFC 6902).
    Json,
    /// A partial document (RFC 7396).
    Merge,
    /// A partial document with directives, merged by the schema's list keys.
    Strategic,
}

/// A parsed patch.
#[derive(Debug)]
pub(super) struct PatchDocument {
    content: Content,
    /// Fields of the patch that came twice.
    pub(super) duplicates: Vec<String>,
}

#[derive(Debug)]
enum Content {
    Json(JsonPatch),
    Merge(Value),
    Strategic(Value),
}

// === impl PatchDocument ===

impl PatchDocument {
    /// Reads a patch.
    ///
    /// # Errors
    /// 400 when it is malformed, 413 when it has too many operations.
    pub(super) fn parse(kind: PatchType, bytes: &[u8]) -> Result<Self, StatusError> {
        let prefix = if kind == PatchType::Strategic { "" } else { "error decoding patch: " };
        let malformed = |why: &str| StatusError::bad_request(format!("{prefix}{why}"));
        let decoded = json::decode(bytes, &Limits::default()).map_err(|fault| malformed(&fault.0))?;
        let value = decoded.value;
        let wrong_type = |target: &str| {
            malformed(&format!("json: cannot unmarshal {} into Go value of type {target}", json_type(&value)))
        };
        let content = match kind {
            PatchType::Json if !value.is_array() => return Err(wrong_type("[]handlers.jsonPatchOp")),
            PatchType::Merge | PatchType::Strategic if !value.is_object() => {
                return Err(wrong_type("map[string]interface {}"));
            }
            PatchType::Json => Content::Json(JsonPatch::parse(&value).map_err(refusal)?),
            PatchType::Merge => Content::Merge(value),
            PatchType::Strategic => Content::Strategic(value),
        };
        Ok(Self { content, duplicates: decoded.duplicates })
    }

    /// Applies the patch to the present object.
    ///
    /// # Errors
    /// It does not fit this object.
    pub(super) fn apply(&self, value: &mut Value, schema: &Schema) -> Result<(), StatusError> {
        match &self.content {
            Content::Json(patch) => patch.apply(value).map_err(refusal),
            Content::Merge(patch) => {
                merge::apply(value, patch);
                Ok(())
            }
            Content::Strategic(patch) => strategic::apply(value, patch, schema).map_err(refusal),
        }
    }
}

fn refusal(fault: PatchError) -> StatusError {
    match fault {
        PatchError::Malformed(why) => StatusError::bad_request(why),
        // Kubernetes does not tell what did not fit.
        PatchError::Inapplicable(_) => with_empty_details(StatusError::new(
            Reason::Invalid,
            "the server rejected our request due to an error in our request",
        )),
        PatchError::Contradictory(why) => StatusError::new(Reason::Unknown, why),
        PatchError::TooLarge(why) => {
            StatusError::new(Reason::RequestEntityTooLarge, format!("Request entity too large: {why}"))
        }
    }
}
