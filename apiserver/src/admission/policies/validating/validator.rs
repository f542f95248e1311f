//! The compiled expressions of a validating policy.
//!
//! Kubernetes concept: `validator` in `k8s.io/apiserver/pkg/admission/plugin/policy/validating`.

use std::time::{Duration, Instant};

use registry_core::api::Reason;
use registry_core::cel::admission::{Age, ExpressionCompiler, ExpressionError, Returns, Uses, VARIABLES};
use registry_core::cel::{
    Activation, CompositedVariables, EvaluationError, OutOfBudget, Program, RUNTIME_COST_BUDGET,
    Value as Evaluated,
};
use registry_core::context::Budget;
use serde_json::Value;

use crate::admission::conditions::{MatchConditions, Verdict};
use crate::admission::expressions::{Needs, Subject, Write};
use crate::admission::policies::definitions::{Policy, elements, text};
use crate::metrics::{AdmissionMetrics, WebhookKind};

/// Maximum length of a message that an expression makes, in bytes.
const MAX_MESSAGE_BYTES: usize = 5 * 1024;

/// Time that policies may take before other tasks run.
const MAX_UNINTERRUPTED: Duration = Duration::from_millis(5);

/// The compiled expressions of one policy.
#[derive(Debug)]
pub(in crate::admission::policies) struct Validator {
    conditions: MatchConditions,
    variables: CompositedVariables,
    validations: Vec<Validation>,
    annotations: Vec<Annotation>,
    pub(super) needs: Needs,
}

/// A program, or why there is none.
type Compiled = Result<Program, ExpressionError>;

#[derive(Debug)]
struct Validation {
    expression: String,
    program: Compiled,
    message: String,
    message_program: Option<Compiled>,
    reason: Reason,
}

#[derive(Debug)]
struct Annotation {
    key: String,
    expression: String,
    program: Compiled,
}

/// The key and the value of an audit annotation, or why there is none.
type Annotated = Result<(String, String), Unevaluated>;

/// Error of an expression that has no value. The texts are Kubernetes'.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unevaluated {
    #[error("compilation error: {0}")]
    NotCompiled(#[source] ExpressionError),
    #[error("expression '{expression}' resulted in error: {source}")]
    Failed { expression: String, source: EvaluationError },
    #[error("failed messageExpression: {0}")]
    Message(#[source] OutOfBudget),
}

/// The result of a policy for a write.
#[derive(Debug, Default)]
pub(in crate::admission::policies) struct Outcome {
    /// Why the write is to be refused, with the index of each validation.
    pub(in crate::admission::policies) denials: Vec<(usize, Denial)>,
    /// Keys and values of audit annotations, or why there is none.
    pub(super) annotations: Vec<Annotated>,
    /// Failures that the policy ignores.
    pub(super) ignored: Vec<String>,
    /// The time that the validations took.
    pub(super) time: Duration,
}

/// Why a validation refuses a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::admission::policies) struct Denial {
    pub(in crate::admission::policies) message: String,
    pub(super) reason: Reason,
    /// Whether the validation could not be evaluated.
    pub(super) is_error: bool,
}

// === impl Denial ===

impl Denial {
    /// The denial of what could not be evaluated.
    pub(super) fn failed(message: String) -> Self {
        Self { message, reason: Reason::Invalid, is_error: true }
    }
}

// === impl Validator ===

impl Validator {
    /// Compiles the expressions of a policy's specification.
    pub(in crate::admission::policies) fn compile(spec: &Value, has_params: bool) -> Self {
        let uses = Uses { age: Age::Stored, params: has_params, authorizer: true, patches: false };
        let mut compiler = ExpressionCompiler::with_variables();
        for variable in elements(spec, "variables") {
            // One with errors fails when it is selected.
            let _ = compiler.compile_variable(
                text(variable, "name"),
                text(variable, "expression"),
                uses,
                &Budget::unlimited(),
            );
        }
        let conditions = MatchConditions::compile(spec.get("matchConditions"), &mut compiler, has_params);
        let mut compile = |source: &str, returns: Returns, uses: Uses| {
            compiler.compile(source, returns, uses, &Budget::unlimited())
        };
        let validations = elements(spec, "validations").map(|validation| {
            let expression = text(validation, "expression");
            let message = text(validation, "messageExpression");
            let of_message = Uses { authorizer: false, ..uses };
            Validation {
                expression: expression.to_owned(),
                program: compile(expression, Returns::Bool, uses),
                message: text(validation, "message").to_owned(),
                message_program: (!message.is_empty()).then(|| compile(message, Returns::String, of_message)),
                reason: reason(text(validation, "reason")),
            }
        });
        let validations: Vec<Validation> = validations.collect();
        let annotations = elements(spec, "auditAnnotations").map(|annotation| {
            let expression = text(annotation, "valueExpression");
            Annotation {
                key: text(annotation, "key").to_owned(),
                expression: expression.to_owned(),
                program: compile(expression, Returns::StringOrNull, uses),
            }
        });
        let annotations = annotations.collect();
        let variables = compiler.into_variables();
        let mut validator = Self { conditions, variables, validations, annotations, needs: Needs::default() };
        validator.needs = validator.all_needs();
        validator
    }

    fn all_needs(&self) -> Needs {
        let of_validations = self.validations.iter().flat_map(|validation| {
            let message = validation.message_program.iter().filter_map(|program| program.as_ref().ok());
            validation.program.as_ref().ok().into_iter().chain(message)
        });
        let of_annotations =
            self.annotations.iter().filter_map(|annotation| annotation.program.as_ref().ok());
        let programs: Vec<&Program> =
            of_validations.chain(of_annotations).chain(self.conditions.programs()).collect();
        let of_variables = self.variables.selected_by(&programs);
        Needs::from_programs(programs.into_iter().chain(of_variables))
    }

    /// Evaluates the policy for a write. What fails denies it, unless failures are ignored.
    pub(in crate::admission::policies) async fn validate(
        &self,
        policy: &Policy<Self>,
        write: &Write<'_>,
        subject: &Subject<'_>,
        metrics: &AdmissionMetrics,
    ) -> Outcome {
        let ignores_failures = policy.ignores_failures;
        if !self.conditions.is_empty() {
            let variables = Some((&self.variables, self.needs));
            let begun = Instant::now();
            let verdict = self.conditions.check(write, subject, variables).await;
            let labels = (policy.name.as_str(), WebhookKind::Validating, write.attributes.operation.as_str());
            verdict.count(metrics, "policy", labels, begun.elapsed(), ignores_failures);
            match verdict {
                Verdict::Match => {}
                Verdict::NoMatch { .. } => return Outcome::default(),
                Verdict::Failed(message) => return Outcome::failed(message, ignores_failures),
            }
        }
        loop {
            let begun = Instant::now();
            let mut outcome = self.validate_once(write, subject, ignores_failures);
            outcome.time = begun.elapsed();
            // Other tasks run between expensive policies.
            if outcome.time > MAX_UNINTERRUPTED {
                tokio::task::yield_now().await;
            }
            if !write.has_to_repeat().await {
                return outcome;
            }
        }
    }

    fn validate_once(&self, write: &Write<'_>, subject: &Subject<'_>, ignores_failures: bool) -> Outcome {
        let made = write.make(self.needs, subject);
        let activation = |needs: Needs| {
            let mut activation = write.activation(needs, subject, &made);
            if !self.variables.is_empty() {
                activation.bind_composited(VARIABLES, &self.variables);
            }
            activation
        };
        let mut remaining = RUNTIME_COST_BUDGET;
        let Ok(failures) = self.failures(write, &activation(self.needs), &mut remaining) else {
            return Outcome::failed(OutOfBudget.to_string(), ignores_failures);
        };
        let mut outcome = Outcome::default();
        // Messages and annotations cannot ask the authorizer.
        let needs = Needs { authorizer: false, ..self.needs };
        if !failures.is_empty() {
            let activation = activation(needs);
            for (index, failure) in failures {
                let Some(validation) = self.validations.get(index) else { continue };
                let denial = match failure {
                    Failure::Error(error) => Err(error),
                    Failure::False => {
                        validation.denial(write, &activation, &mut remaining).map_err(Unevaluated::Message)
                    }
                };
                match denial {
                    Ok(denial) => outcome.denials.push((index, denial)),
                    Err(error) if ignores_failures => outcome.ignored.push(error.to_string()),
                    Err(error) => outcome.denials.push((index, Denial::failed(error.to_string()))),
                }
            }
        }
        if !self.annotations.is_empty() {
            match self.annotate(write, &activation(needs), ignores_failures) {
                Ok(annotations) => outcome.annotations = annotations,
                Err(OutOfBudget) => return Outcome::failed(OutOfBudget.to_string(), ignores_failures),
            }
        }
        outcome
    }

    /// Returns the validations that are not true.
    fn failures<'v>(
        &'v self,
        write: &Write<'_>,
        activation: &Activation<'v>,
        remaining: &mut u64,
    ) -> Result<Vec<(usize, Failure)>, OutOfBudget> {
        let mut failures = Vec::new();
        for (index, validation) in self.validations.iter().enumerate() {
            let program = match &validation.program {
                Ok(program) => program,
                Err(error) => {
                    failures.push((index, Failure::Error(Unevaluated::NotCompiled(error.clone()))));
                    continue;
                }
            };
            match program.evaluate_within(activation, remaining, &write.context.budget)? {
                Ok(value) if value.as_bool() == Some(true) => {}
                Ok(_) => failures.push((index, Failure::False)),
                Err(source) => {
                    let expression = validation.expression.clone();
                    failures.push((index, Failure::Error(Unevaluated::Failed { expression, source })));
                }
            }
        }
        Ok(failures)
    }

    fn annotate<'v>(
        &'v self,
        write: &Write<'_>,
        activation: &Activation<'v>,
        ignores_failures: bool,
    ) -> Result<Vec<Annotated>, OutOfBudget> {
        let mut remaining = RUNTIME_COST_BUDGET;
        let mut annotations = Vec::new();
        for annotation in &self.annotations {
            let result = match &annotation.program {
                Ok(program) => {
                    let value = program.evaluate_within(activation, &mut remaining, &write.context.budget)?;
                    let expression = || annotation.expression.clone();
                    value.map_err(|source| Unevaluated::Failed { expression: expression(), source })
                }
                Err(error) => Err(Unevaluated::NotCompiled(error.clone())),
            };
            match result {
                Ok(Evaluated::String(value)) if !value.as_str().trim().is_empty() => {
                    annotations.push(Ok((annotation.key.clone(), value.as_str().trim().to_owned())));
                }
                // Neither null nor an empty text is published.
                Ok(_) => {}
                Err(_) if ignores_failures => {}
                Err(failure) => annotations.push(Err(failure)),
            }
        }
        Ok(annotations)
    }
}

/// Why a validation is not true.
enum Failure {
    /// It could not be evaluated.
    Error(Unevaluated),
    /// It is false.
    False,
}

// === impl Outcome ===

impl Outcome {
    fn failed(message: String, ignores_failures: bool) -> Self {
        if ignores_failures {
            return Self { ignored: vec![message], ..Self::default() };
        }
        Self { denials: vec![(0, Denial::failed(message))], ..Self::default() }
    }
}

// === impl Validation ===

impl Validation {
    /// Returns the denial with its message.
    ///
    /// # Errors
    /// Fails if the expression of the message spends the budget.
    fn denial<'v>(
        &'v self,
        write: &Write<'_>,
        activation: &Activation<'v>,
        remaining: &mut u64,
    ) -> Result<Denial, OutOfBudget> {
        let made = match &self.message_program {
            Some(Ok(program)) => program
                .evaluate_within(activation, remaining, &write.context.budget)?
                .ok()
                .and_then(|value| made_message(&value)),
            _ => None,
        };
        let written = || Some(self.message.trim().to_owned()).filter(|message| !message.is_empty());
        let message =
            made.or_else(written).unwrap_or_else(|| format!("failed expression: {}", self.expression.trim()));
        Ok(Denial { message, reason: self.reason, is_error: false })
    }
}

/// The message that an expression has made, unless it cannot be shown.
fn made_message(value: &Evaluated<'_>) -> Option<String> {
    let text = value.as_str()?.trim();
    let is_shown = !text.is_empty() && text.len() <= MAX_MESSAGE_BYTES && !text.contains('\n');
    is_shown.then(|| text.to_owned())
}

fn reason(text: &str) -> Reason {
    match text {
        "Forbidden" => Reason::Forbidden,
        "RequestEntityTooLarge" => Reason::RequestEntityTooLarge,
        "Unauthorized" => Reason::Unauthorized,
        _ => Reason::Invalid,
    }
}

#[cfg(test)]
mod tests;
