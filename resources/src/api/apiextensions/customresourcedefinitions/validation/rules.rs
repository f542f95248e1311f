//! Checks the rules in a schema (`x-kubernetes-validations`).

use std::sync::Arc;

use registry_core::api::validation::{ErrorList, FieldError};
use registry_core::cel::{DefinitionCheck, RuleBudget, StoredExpressions, ValidationRules};
use registry_core::context::Budget;
use serde_json::Value;

use super::super::findings::{Findings, Place};

/// Checks the rules in a schema and below it.
///
/// `has_expressions`: the schema is structural and its defaults are valid; otherwise no expressions are compiled.
/// `schema_errors`: what other checks found in the schema; expressions at these places and above are not compiled.
/// `stored`: the expressions of the definition before the change, which may use what new ones may not. `is_unchanged`:
/// the schema is the same as before the change, so single rules may cost what they cost.
pub(super) fn validate_rules(
    schema: &Value,
    has_expressions: bool,
    schema_errors: &[FieldError],
    stored: &Arc<StoredExpressions<'_>>,
    is_unchanged: bool,
    place: &Place,
    findings: &mut Findings<'_>,
) {
    let schema_errors = ErrorList(schema_errors.to_vec());
    let mut check = DefinitionCheck::default()
        .with_unchanged_schema(is_unchanged)
        .with_schema_errors(&schema_errors)
        .with_stored_expressions(stored.clone());
    if !has_expressions {
        check = check.without_expressions();
    }
    let errors = check.check(schema, place.path(), findings.budget());
    findings.append(place, errors);
}

/// Evaluates rules for the defaults in a schema, within a limit of cost for all of them.
pub(super) struct DefaultRules<'b> {
    budget: RuleBudget<'b>,
}

// === impl DefaultRules ===

impl<'b> DefaultRules<'b> {
    /// Creates the limit of a request.
    pub(super) fn new(request: &'b Budget) -> Self {
        Self { budget: RuleBudget::default().within(request) }
    }

    /// Evaluates the rules of a schema for its default. `is_resource`: the schema is that of a whole resource.
    pub(super) fn validate(
        &mut self,
        schema: &Value,
        is_resource: bool,
        default: &Value,
        place: &Place,
        findings: &mut Findings<'_>,
    ) {
        if self.budget.is_exhausted() {
            return;
        }
        let Some(rules) = ValidationRules::compile(schema, is_resource) else { return };
        let mut without_old = self.budget.clone();
        let mut errors = ErrorList::default();
        let unchanged = rules.validate(place.path(), default, Some(default), &mut self.budget, &mut errors);
        errors.append(unchanged);
        if errors.is_empty() {
            // Rules about the old value must also hold where there is none.
            rules.validate(place.path(), default, None, &mut without_old, &mut errors);
            if without_old.is_exhausted() {
                self.budget = without_old;
            }
        }
        findings.append(place, errors);
    }
}
