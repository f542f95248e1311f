//! Checks the rules in a schema (`x-kubernetes-validations`).

use registry_core::api::Object;
use registry_core::api::validation::FieldError;
use serde_json::Value;

use super::super::findings::{Findings, Place};

/// Checks the rules in a schema and below it.
///
/// `has_expressions`: the schema is structural and its defaults are valid; otherwise no expressions are compiled.
/// `schema_errors`: what other checks found in the schema; expressions at these places and above are not compiled.
/// `stored`: the definition before the change, whose expressions may use what new ones may not. `is_unchanged`: the
/// schema is the same as before the change, so single rules may cost what they cost.
pub(super) fn validate_rules(
    _schema: &Value,
    _has_expressions: bool,
    _schema_errors: &[FieldError],
    _stored: Option<&Object>,
    _is_unchanged: bool,
    _place: &Place,
    _findings: &mut Findings,
) {
}

/// Evaluates rules for the defaults in a schema, within a limit of cost for all of them.
#[derive(Default)]
pub(super) struct DefaultRules {}

// === impl DefaultRules ===

impl DefaultRules {
    /// Evaluates the rules of a schema for its default. `is_resource`: the schema is that of a whole resource.
    #[allow(clippy::unused_self, reason = "what the rules may still cost belongs here")]
    pub(super) fn validate(
        &mut self,
        _schema: &Value,
        _is_resource: bool,
        _default: &Value,
        _place: &Place,
        _findings: &mut Findings,
    ) {
    }
}
