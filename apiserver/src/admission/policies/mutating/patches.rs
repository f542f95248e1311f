//! The patches that expressions make, and how they are applied.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch`.

use registry_core::api::{Object, StatusError};
use registry_core::apply::merge_configuration;
use registry_core::cel::admission::ExpressionError;
use registry_core::cel::{
    CostBudget, EvaluationError, List, Map as EvaluatedMap, OutOfBudget, Value as Evaluated,
};
use registry_core::context::{Budget, Exhausted};
use registry_core::patch::PatchError;
use registry_core::patch::json::JsonPatch;
use registry_core::registry::InstalledPath;
use serde_json::{Map, Value, json};

/// The reason that a mutation is not applied.
#[derive(Debug)]
pub(super) enum Failure {
    /// The policy refuses the write, unless its failures are ignored.
    Refused(String),
    /// The write fails, whatever the policy says about failures.
    Status(StatusError),
}

/// Error of an expression that makes no patch. The texts are Kubernetes'.
#[derive(Debug, thiserror::Error)]
pub(super) enum PatchFailure {
    /// The expression cannot be evaluated.
    #[error("{0}")]
    NotCompiled(#[source] ExpressionError),
    #[error(transparent)]
    OutOfBudget(#[from] OutOfBudget),
    #[error("expression '{expression}' resulted in error: {source}")]
    Evaluation { expression: String, source: EvaluationError },
    #[error("unsupported return type from ApplyConfiguration expression")]
    NoObject,
    #[error("type mismatch: JSONPatchType.expression should evaluate to array")]
    NoList,
    #[error("type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch")]
    NoOperation,
    #[error("JSONPath valueExpression evaluated to a type that could not marshal to JSON")]
    NoJson,
    /// Parts have the names of other fields' types.
    #[error("type mismatch: {}", .0.join("\n"))]
    Names(Vec<String>),
    /// A part cannot be written as JSON.
    #[error(transparent)]
    Value(#[from] EvaluationError),
    #[error(transparent)]
    Patch(#[from] PatchError),
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
}

/// A patch that an expression has made.
#[derive(Debug)]
pub(super) enum Patch {
    /// Fields that are merged into the object.
    Configuration(Map<String, Value>),
    /// Operations on the object.
    Operations(JsonPatch),
}

// === impl Failure ===

impl Failure {
    /// Returns what went wrong.
    pub(super) fn message(&self) -> &str {
        match self {
            Self::Refused(message) => message,
            Self::Status(failure) => &failure.message,
        }
    }
}

// === impl Patch ===

impl Patch {
    /// Reads an `Object`.
    ///
    /// # Errors
    /// Fails if a part has the name of another field's type, or cannot be written.
    pub(super) fn configuration(value: &Evaluated<'_>, budget: &Budget) -> Result<Self, PatchFailure> {
        check_names(value, budget)?;
        match to_json(value, budget)? {
            Some(Value::Object(fields)) => Ok(Self::Configuration(fields)),
            _ => Err(PatchFailure::NoObject),
        }
    }

    /// Reads a list of `JSONPatch`.
    ///
    /// # Errors
    /// Fails if an element is something else, or cannot be written.
    pub(super) fn operations(value: &Evaluated<'_>, budget: &Budget) -> Result<Self, PatchFailure> {
        let Evaluated::List(List::Owned(elements)) = value else {
            return Err(PatchFailure::NoList);
        };
        let operations: Result<Vec<Value>, PatchFailure> =
            elements.iter().map(|element| operation(element, budget)).collect();
        let patch = JsonPatch::parse(&Value::Array(operations?))?;
        Ok(Self::Operations(patch))
    }
}

/// Returns a value as JSON. The parts that it shares are copied each time.
fn to_json(value: &Evaluated<'_>, budget: &Budget) -> Result<Option<Value>, PatchFailure> {
    Ok(value.to_json(&CostBudget::default().within(budget))?)
}

fn operation(element: &Evaluated<'_>, budget: &Budget) -> Result<Value, PatchFailure> {
    let Evaluated::Map(EvaluatedMap::Object(entries, _)) = element else {
        return Err(PatchFailure::NoOperation);
    };
    let mut operation = Map::new();
    for (key, value) in entries.values() {
        let name = key.as_str().unwrap_or_default();
        if name == "value" {
            if matches!(value, Evaluated::Map(EvaluatedMap::Object(..))) {
                check_names(value, budget)?;
            }
            let json = to_json(value, budget)?.ok_or(PatchFailure::NoJson)?;
            operation.insert(name.to_owned(), json);
        } else {
            operation.insert(name.to_owned(), json!(value.as_str().unwrap_or_default()));
        }
    }
    // Absent texts are empty ones, except for the source of a move.
    for name in ["op", "path"] {
        operation.entry(name).or_insert_with(|| json!(""));
    }
    if operation.get("from").is_some_and(|from| from == "") {
        operation.remove("from");
    }
    Ok(Value::Object(operation))
}

/// Checks that the parts of an object have the types of their fields: `Object.spec` below `spec`.
fn check_names(value: &Evaluated<'_>, budget: &Budget) -> Result<(), PatchFailure> {
    let Evaluated::Map(EvaluatedMap::Object(_, of)) = value else { return Ok(()) };
    let mut mismatches = Vec::new();
    collect_mismatches(value, of.name(), budget, &mut mismatches)?;
    if mismatches.is_empty() { Ok(()) } else { Err(PatchFailure::Names(mismatches)) }
}

fn collect_mismatches(
    value: &Evaluated<'_>,
    expected: &str,
    budget: &Budget,
    found: &mut Vec<String>,
) -> Result<(), Exhausted> {
    budget.take_steps(1)?;
    match value {
        Evaluated::Map(EvaluatedMap::Object(entries, of)) => {
            let name = of.name();
            if name != expected {
                let mismatch = format!(
                    "unexpected type name {name:?}, expected {expected:?}, which matches field name path from root Object \
                     type"
                );
                budget.take_bytes(mismatch.len())?;
                found.push(mismatch);
            }
            for (key, value) in entries.values() {
                let field = key.as_str().unwrap_or_default();
                collect_mismatches(value, &format!("{expected}.{field}"), budget, found)?;
            }
        }
        Evaluated::Map(EvaluatedMap::Owned(entries)) => {
            return entries
                .values()
                .try_for_each(|(_, value)| collect_mismatches(value, expected, budget, found));
        }
        Evaluated::List(List::Owned(elements)) => {
            return elements
                .iter()
                .try_for_each(|element| collect_mismatches(element, expected, budget, found));
        }
        _ => {}
    }
    Ok(())
}

/// Applies a patch to an object of the kind of a path. Returns the object in the form of its schema, with defaults; `None`
/// if a test of the patch fails.
///
/// # Errors
/// Fails if the patch does not apply, or if the result does not match the schema.
pub(super) fn apply(
    patch: &Patch,
    object: &Object,
    path: &InstalledPath,
    budget: &Budget,
) -> Result<Option<Object>, Failure> {
    let storage = &path.capabilities.storage;
    let schema = storage.schema();
    let patched = match patch {
        Patch::Configuration(fields) => merge_configuration(&schema, object, fields)
            .map_err(|why| Failure::Refused(format!("error applying patch: {why}")))?
            .into_value(),
        Patch::Operations(operations) => {
            let mut value = object.clone().into_value();
            match operations.apply(&mut value, budget) {
                Ok(()) => value,
                Err(PatchError::TestFailed { .. }) => return Ok(None),
                Err(failure) => return Err(Failure::Refused(format!("JSON Patch: {failure}"))),
            }
        }
    };
    let internal = |why: &str| Failure::Status(StatusError::internal(why));
    let mut value = patched;
    let mut issues = Vec::new();
    schema.conform_within(budget, &mut value, &mut issues).map_err(|fault| internal(&fault.text))?;
    let is_strict = matches!(patch, Patch::Operations(_)) && path.resource.is_builtin;
    if is_strict && !issues.is_empty() {
        let issues: Vec<String> = issues.iter().map(ToString::to_string).collect();
        return Err(internal(&format!("strict decoding error: {}", issues.join(", "))));
    }
    schema.apply_defaults(&mut value, budget).map_err(|why| Failure::Status(why.into()))?;
    let mut object = Object::from_value(value).map_err(|_| internal("the patched value is not an object"))?;
    storage.apply_defaults(&mut object);
    Ok(Some(object))
}
