//! Expressions in policies and webhooks: they must compile.

use std::collections::HashSet;

use registry_core::api::FieldError;
use registry_core::api::validation::{ErrorList, names};
use registry_core::cel::KEYWORDS;
use registry_core::cel::admission::{Age, ExpressionCompiler, ExpressionError, Returns, Uses};
use registry_core::context::Budget;
use resource_views::admissionregistration::v1::{MatchCondition, Variable};
use resource_views::alike::AnyAdmissionPolicySpec;
use resource_views::{List, Text};
use serde_json::Value;

/// Maximum number of match conditions.
const MAX_CONDITIONS: usize = 64;

/// Checks the expressions of one object.
pub(super) struct Expressions<'o> {
    /// The budget of the request.
    budget: &'o Budget,
    compiler: ExpressionCompiler,
    /// Compiles match conditions, which cannot use the policy's variables.
    conditions: ExpressionCompiler,
    /// The expressions of the object that is updated: they may use what was accepted before.
    stored: HashSet<&'o str>,
    has_params: bool,
}

// === impl Expressions ===

impl<'o> Expressions<'o> {
    /// Checks the expressions of a policy with or without `paramKind`. The expressions of the old policy were accepted before.
    pub(super) fn for_policy(
        spec: &AnyAdmissionPolicySpec<'_, '_>,
        old: Option<&AnyAdmissionPolicySpec<'o, '_>>,
        budget: &'o Budget,
    ) -> Self {
        let has_params = spec.param_kind().exists();
        Self { has_params, ..Self::for_webhooks(old.and_then(|old| old.value()), budget) }
    }

    /// Checks the expressions of webhooks. The expressions of the old webhooks were accepted before.
    pub(super) fn for_webhooks(old: Option<&'o Value>, budget: &'o Budget) -> Self {
        let mut stored = HashSet::new();
        if let Some(old) = old {
            collect(old, &mut stored);
        }
        Self {
            budget,
            compiler: ExpressionCompiler::new(),
            conditions: ExpressionCompiler::new(),
            stored,
            has_params: false,
        }
    }

    /// Lets expressions use the policy's variables.
    pub(super) fn with_variables(self) -> Self {
        Self { compiler: ExpressionCompiler::with_variables(), ..self }
    }

    /// Checks match conditions: names are unique, and expressions compile.
    pub(super) fn check_conditions(
        &mut self,
        conditions: &List<MatchCondition<'_, '_>>,
        errors: &mut ErrorList,
    ) {
        if conditions.len() > MAX_CONDITIONS {
            errors.push(FieldError::too_many(conditions.path(), conditions.len(), MAX_CONDITIONS));
        }
        let mut seen = HashSet::new();
        for condition in conditions.elements() {
            let expression = condition.expression();
            let source = expression.text().trim();
            if source.is_empty() {
                errors.push(expression.required(""));
            } else {
                let uses = Uses { age: self.age(expression.text()), ..self.uses() };
                let result = self.conditions.compile(source, Returns::Bool, uses, self.budget);
                report(&expression, source, result.err(), errors);
            }
            let name = condition.name();
            if name.check_present(errors) {
                name.check(names::qualified_name, errors);
                if !seen.insert(name.text()) {
                    errors.push(name.duplicate());
                }
            }
        }
    }

    /// Checks the variables of a policy, which later expressions can use.
    pub(super) fn check_variables(&mut self, variables: &List<Variable<'_, '_>>, errors: &mut ErrorList) {
        for variable in variables.elements() {
            let name = variable.name();
            if name.text().trim().is_empty() {
                errors.push(name.required("name is not specified"));
            } else if !is_identifier(name.text()) {
                errors.push(name.invalid("must be a valid CEL identifier"));
            }
            let expression = variable.expression();
            let source = expression.text();
            if source.trim().is_empty() {
                errors.push(expression.required("expression is not specified"));
                continue;
            }
            let uses = Uses { age: self.age(source), ..self.uses() };
            let result = self.compiler.compile_variable(name.text(), source, uses, self.budget);
            report(&expression, source, result.err(), errors);
        }
    }

    /// Checks one expression that can use the policy's variables. `source` is its text as it is compiled.
    pub(super) fn check(
        &mut self,
        expression: &Text<'_, '_>,
        source: &str,
        returns: Returns,
        uses: Uses,
        errors: &mut ErrorList,
    ) {
        let uses = Uses { age: self.age(expression.text()), ..uses };
        let result = self.compiler.compile(source, returns, uses, self.budget);
        let shown = if matches!(returns, Returns::StringOrNull) { expression.text() } else { source };
        report(expression, shown, result.err(), errors);
    }

    /// Returns what new expressions of the policy may use.
    pub(super) fn uses(&self) -> Uses {
        Uses { age: Age::New, params: self.has_params, authorizer: true, patches: false }
    }

    fn age(&self, expression: &str) -> Age {
        if self.stored.contains(expression) { Age::Stored } else { Age::New }
    }
}

fn report(expression: &Text<'_, '_>, shown: &str, failure: Option<ExpressionError>, errors: &mut ErrorList) {
    let error = match failure {
        None => return,
        Some(why) if why.is_internal() => FieldError::internal(expression.path(), why.to_string()),
        Some(why) => FieldError::invalid(expression.path(), shown, why.to_string()),
    };
    errors.push(error);
}

/// Collects all expressions below a value.
fn collect<'o>(value: &'o Value, found: &mut HashSet<&'o str>) {
    const NAMES: [&str; 3] = ["expression", "messageExpression", "valueExpression"];
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, found)),
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if NAMES.contains(&name.as_str()) => {
                        found.insert(text);
                    }
                    other => collect(other, found),
                }
            }
        }
        _ => {}
    }
}

fn is_identifier(name: &str) -> bool {
    let is_start = |first: char| first.is_ascii_alphabetic() || first == '_';
    name.starts_with(is_start)
        && name.chars().all(|other| other.is_ascii_alphanumeric() || other == '_')
        && !KEYWORDS.contains(&name)
}
