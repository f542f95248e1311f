//! Checks the rules in a schema (`x-kubernetes-validations`).

use registry_core::api::Object;
use registry_core::api::validation::FieldError;
use serde_json::Value;

use super::super::findings::{Findings, Place};

/// What the check of the rules in a schema depends on.
#[derive(Clone, Copy, Debug)]
pub(super) struct RuleScope<'s> {
    /// Whether the schema is structural and its defaults are valid; otherwise no expressions are compiled.
    pub(super) has_expressions: bool,
    /// The definition before the change: its expressions may use what new ones may not.
    pub(super) stored: Option<&'s Object>,
    /// Whether the schema is the same as before the change: single rules may cost what they cost.
    pub(super) is_unchanged: bool,
    /// What other checks found in the schema: expressions at these places and above are not compiled.
    pub(super) schema_errors: &'s [FieldError],
}

/// Checks the rules in a schema and below it.
pub(super) fn validate_rules(_schema: &Value, _scope: RuleScope<'_>, _place: &Place, _findings: &mut Findings) {}

/// Evaluates the rules of a schema for its default. `is_resource`: the schema is that of a whole resource.
pub(super) fn validate_default(
    _schema: &Value,
    _is_resource: bool,
    _default: &Value,
    _place: &Place,
    _findings: &mut Findings,
) {
}
