//! The change that a mutating webhook asks for.

use registry_core::api::Object;
use registry_core::api::StatusError;
use registry_core::apply::{ElementError, FieldSet};
use registry_core::budget::memory;
use registry_core::codec::json::{self, type_name};
use registry_core::context::{Budget, Exhausted};
use registry_core::patch::json::JsonPatch;
use serde_json::Value;

use super::answer::Answer;
use super::call::Failure;

/// The code of a patch that cannot be read, in metrics.
const UNAVAILABLE: u16 = 503;

/// A change of an object.
pub(super) struct Change {
    /// The patch, as the webhook sent it.
    pub(super) patch: Value,
    /// The patched object, not in the form of its schema yet.
    pub(super) object: Object,
}

/// Error of managers of fields that are malformed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ManagersError {
    #[error("invalid operation {operation:?} of manager {manager:?}")]
    Operation { operation: String, manager: String },
    #[error("invalid fields type {fields_type:?} of manager {manager:?}")]
    FieldsType { fields_type: String, manager: String },
    #[error("invalid fields of manager {manager:?}: {source}")]
    Fields { manager: String, source: ElementError },
}

/// Returns the change that an answer asks for; `None` if it asks for none.
///
/// # Errors
/// Fails if the patch cannot be read, or does not apply to the object.
pub(super) fn change(
    answer: &Answer,
    webhook: &str,
    object: Option<&Object>,
    budget: &Budget,
) -> Result<Option<Change>, Failure> {
    if answer.patch.is_empty() {
        return Ok(None);
    }
    budget.take_bytes(memory::json_bytes(&answer.patch)).map_err(exhausted)?;
    let patch = decode(&answer.patch)?;
    if patch.as_array().is_none_or(Vec::is_empty) {
        return Ok(None);
    }
    let Some(object) = object else {
        let text = format!(
            "admission webhook {webhook:?} attempted to modify the object, which is not supported for this operation"
        );
        return Err(unusable(text));
    };
    if let Some(name) = &answer.unknown_patch_type {
        return Err(calling(format!("unsupported patch type {name:?}")));
    }
    let operations = JsonPatch::parse(&patch).map_err(unusable)?;
    let mut value = object.clone().into_value();
    operations.apply(&mut value, budget).map_err(unusable)?;
    let object = Object::from_value(value)
        .map_err(|value| unusable(format!("the patched document is {}, not an object", type_name(&value))))?;
    Ok(Some(Change { patch, object }))
}

fn decode(patch: &[u8]) -> Result<Value, Failure> {
    let undecodable =
        |reason: String| calling(format!("received undecodable patch in webhook response: {reason}"));
    let patch: Value = json::from_slice(patch).map_err(|error| undecodable(error.to_string()))?;
    if patch.is_array() || patch.is_null() {
        return Ok(patch);
    }
    let found = type_name(&patch);
    Err(undecodable(format!("json: cannot unmarshal {found} into Go value of type jsonpatch.Patch")))
}

fn calling(reason: String) -> Failure {
    Failure::Calling { reason, code: UNAVAILABLE }
}

fn exhausted(why: Exhausted) -> Failure {
    Failure::Unusable(why.into())
}

fn unusable(reason: impl std::fmt::Display) -> Failure {
    Failure::Unusable(StatusError::internal(reason))
}

/// Checks the managers of fields in a changed object.
///
/// # Errors
/// Fails if they are malformed.
///
/// Kubernetes concept: `ValidateManagedFields` in `k8s.io/apimachinery/pkg/util/managedfields`.
pub(super) fn check_managers(managers: Option<&Value>) -> Result<(), ManagersError> {
    for entry in managers.and_then(Value::as_array).into_iter().flatten() {
        let text = |field: &str| entry.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (manager, operation, fields_type) = (text("manager"), text("operation"), text("fieldsType"));
        if !matches!(operation.as_str(), "Apply" | "Update") {
            return Err(ManagersError::Operation { operation, manager });
        }
        if fields_type != "FieldsV1" {
            return Err(ManagersError::FieldsType { fields_type, manager });
        }
        if let Some(Err(source)) = entry.get("fieldsV1").map(FieldSet::from_fields_v1) {
            return Err(ManagersError::Fields { manager, source });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn apply(patch: &str, object: Option<Value>) -> Result<Option<Value>, String> {
        let answer = Answer { patch: patch.as_bytes().to_vec(), ..Answer::default() };
        let object = object.map(|object| Object::from_value(object).unwrap());
        match change(&answer, "w", object.as_ref(), &Budget::default()) {
            Ok(change) => Ok(change.map(|change| change.object.into_value())),
            Err(Failure::Calling { reason, .. }) => Err(reason),
            Err(Failure::Refused(error) | Failure::Unusable(error)) => Err(error.message),
        }
    }

    #[test]
    fn a_patch_changes_the_object_or_fails() {
        let add = r#"[{"op": "add", "path": "/a", "value": 1}]"#;
        assert_eq!(apply(add, Some(json!({}))), Ok(Some(json!({"a": 1}))));
        let replace = r#"[{"op": "replace", "path": "", "value": {"b": 1}}]"#;
        assert_eq!(apply(replace, Some(json!({"a": 1}))), Ok(Some(json!({"b": 1}))));
        assert_eq!(apply("", None), Ok(None));
        assert_eq!(apply("[]", None), Ok(None));
        assert!(apply(add, None).unwrap_err().ends_with("which is not supported for this operation"));
        for (patch, expected) in [
            ("[", "received undecodable patch in webhook response: "),
            ("{}", "received undecodable patch in webhook response: json: cannot unmarshal object"),
            (r#"[{"op": "remove", "path": "/b"}]"#, "Internal error occurred: "),
            (r#"[{"op": "test", "path": "/a", "value": 1}]"#, "Internal error occurred: "),
            (r#"[{"op": "explode", "path": "/a"}]"#, "Internal error occurred: "),
            (r#"[{"op": 1}]"#, "Internal error occurred: "),
            (r#"[{"op": "replace", "path": "", "value": [1]}]"#, "Internal error occurred: "),
            (r#"[{"op": "replace", "path": "", "value": 1}]"#, "Internal error occurred: replace operation "),
        ] {
            let failure = apply(patch, Some(json!({}))).unwrap_err();
            assert!(failure.starts_with(expected), "{patch}: {failure}");
        }
    }

    #[test]
    fn a_patch_that_expands_too_much_is_refused() {
        let items = vec![r#"{"a":1}"#; 200_000].join(",");
        let add = format!(r#"{{"op": "add", "path": "/a", "value": [{items}]}}"#);
        let copies = vec![r#"{"op": "copy", "from": "/spec", "path": "/spec/copies/-"}"#; 30].join(",");
        let object =
            Object::from_value(json!({"spec": {"copies": [], "items": vec![json!({"a": 1}); 10]}})).unwrap();
        for operations in [add, copies] {
            let answer = Answer { patch: format!("[{operations}]").into_bytes(), ..Answer::default() };
            let failure = change(&answer, "w", Some(&object), &Budget::default()).err();
            assert!(matches!(failure, Some(Failure::Unusable(error)) if [413, 500].contains(&error.code)));
        }
    }

    #[test]
    fn malformed_managers_are_found() {
        let entry = |operation: &str, fields: Value| json!([{"manager": "m", "operation": operation, "fieldsType": "FieldsV1", "fieldsV1": fields}]);
        assert!(check_managers(Some(&entry("Update", json!({"f:data": {}})))).is_ok());
        assert!(check_managers(None).is_ok());
        assert!(check_managers(Some(&entry("Steal", json!({})))).is_err());
        assert!(check_managers(Some(&entry("Apply", json!({"data": {}})))).is_err());
        assert!(check_managers(Some(&json!([{"manager": "m"}]))).is_err());
    }
}
