//! A patch document, parsed once and applied as often as needed.

use registry_core::api::{Reason, StatusError, go_text};
use registry_core::codec::json::type_name;
use registry_core::codec::{Limits, json};
use registry_core::context::Budget;
use registry_core::patch::json::JsonPatch;
use registry_core::patch::shown::{Touched, shown};
use registry_core::patch::strategic;
use registry_core::patch::{PatchError, merge};
use registry_core::schema::{FieldIssue, Schema};
use responses::negotiation::with_empty_details;
use serde_json::{Map, Value};

use super::super::content::{BodyIssue, Step, pass_over_unknown};

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
    /// Issues of the patch itself: duplicate fields, and unknown fields of an operation.
    pub(super) issues: Vec<BodyIssue>,
    /// Whether numbers may be whole floats.
    pub(super) has_floats: bool,
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
    /// 400 when it is malformed, 413 when it has too many operations or takes too much memory.
    pub(super) fn parse(
        kind: PatchType,
        bytes: &[u8],
        budget: &Budget,
        is_builtin: bool,
    ) -> Result<Self, StatusError> {
        let prefix = if kind == PatchType::Strategic { "" } else { "error decoding patch: " };
        let malformed = |why: &str| StatusError::bad_request(format!("{prefix}{why}"));
        // The result of a strategic patch is read from a map.
        let keeps_floats = is_builtin && kind != PatchType::Strategic;
        let limits = Limits { keeps_floats, ..Limits::within(budget) };
        let decoded = json::decode(bytes, &limits).map_err(|fault| malformed(&fault.to_string()))?;
        let has_floats = decoded.has_floats;
        let value = decoded.value;
        let wrong_type = |target: &str| {
            malformed(&format!("json: cannot unmarshal {} into Go value of type {target}", type_name(&value)))
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
        let mut issues = decoded.duplicates;
        if let Content::Json(patch) = &content {
            let unknown: Vec<_> = patch.unknown_fields().iter().cloned().map(FieldIssue::Unknown).collect();
            pass_over_unknown(&mut issues, &unknown);
            issues.extend(unknown);
            json::sort_as_written(bytes, &mut issues);
        }
        let step = if matches!(content, Content::Json(_)) { Step::JsonPatch } else { Step::Decode };
        let issues = issues.into_iter().map(|issue| BodyIssue { step, issue }).collect();
        Ok(Self { content, issues, has_floats })
    }

    /// Returns the patched document as an error shows it.
    pub(super) fn shown(&self, patched: &Value, schema: &Schema) -> String {
        match &self.content {
            Content::Json(patch) => shown(patched, &patch.touched(), schema),
            Content::Merge(patch) => shown(patched, &Touched::by_merge(patch), schema),
            Content::Strategic(patch) => go_text::print(patch),
        }
    }

    /// Returns whether it is a strategic patch, which Go's server applies to maps instead of JSON.
    pub(super) fn is_strategic(&self) -> bool {
        matches!(self.content, Content::Strategic(_))
    }

    /// Returns the top-level fields of an object that the patch changes, by name; `None` if they are not known.
    pub(super) fn patched_fields(&self) -> Option<&Map<String, Value>> {
        let (Content::Merge(patch) | Content::Strategic(patch)) = &self.content else { return None };
        // A directive is about the whole object.
        patch.as_object().filter(|fields| !fields.keys().any(|name| name.starts_with('$')))
    }

    /// Applies the patch to the current object. What it adds takes from the budget.
    ///
    /// # Errors
    /// Fails if it cannot be applied to this object.
    pub(super) fn apply(
        &self,
        value: &mut Value,
        schema: &Schema,
        budget: &Budget,
    ) -> Result<(), StatusError> {
        match &self.content {
            Content::Json(patch) => patch.apply(value, budget).map_err(refusal),
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
        PatchError::Malformed(why) => StatusError::bad_request(why.to_string()),
        // Kubernetes does not report the reason.
        PatchError::Inapplicable(_) | PatchError::TestFailed { .. } => with_empty_details(StatusError::new(
            Reason::Invalid,
            "the server rejected our request due to an error in our request",
        )),
        PatchError::Contradictory(why) => StatusError::new(Reason::Unknown, why.to_string()),
        PatchError::TooLarge(why) => {
            StatusError::new(Reason::RequestEntityTooLarge, format!("Request entity too large: {why}"))
        }
    }
}
