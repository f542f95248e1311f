//! The compiled expressions of a mutating policy.
//!
//! Kubernetes concept: `PolicyEvaluator` in `k8s.io/apiserver/pkg/admission/plugin/policy/mutating`.

use std::time::Instant;

use registry_core::api::{Object, Reason, StatusError};
use registry_core::cel::admission::{Age, ExpressionCompiler, ExpressionError, Returns, Uses, VARIABLES};
use registry_core::cel::{CompositedVariables, Program, RUNTIME_COST_BUDGET};
use registry_core::context::Budget;
use registry_core::registry::InstalledPath;
use serde_json::Value;

use crate::admission::conditions::MatchConditions;
pub(super) use crate::admission::conditions::Verdict;
use crate::admission::expressions::{Needs, Subject, Write};
use crate::admission::policies::definitions::{Policy, elements, text};
use crate::metrics::{AdmissionMetrics, WebhookKind};

use super::patches::{self, Failure, Patch, PatchFailure};

/// The compiled expressions of one policy.
#[derive(Debug)]
pub(super) struct Mutator {
    conditions: MatchConditions,
    variables: CompositedVariables,
    mutations: Vec<Mutation>,
    pub(super) needs: Needs,
    /// Whether the policy may run again after later changes.
    pub(super) is_reinvoked: bool,
}

#[derive(Debug)]
struct Mutation {
    kind: PatchKind,
    expression: String,
    /// The program, or why there is none.
    program: Result<Program, ExpressionError>,
}

/// The kind of change that an expression returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatchKind {
    /// A configuration that is merged into the object.
    ApplyConfiguration,
    /// The operations of a JSON patch.
    JsonPatch,
}

// === impl Mutator ===

impl Mutator {
    /// Compiles the expressions of a policy's specification.
    pub(super) fn compile(spec: &Value, has_params: bool) -> Self {
        let uses = Uses { age: Age::Stored, params: has_params, authorizer: true, patches: false };
        let mut compiler = ExpressionCompiler::with_variables();
        for variable in elements(spec, "variables") {
            let (name, expression) = (text(variable, "name"), text(variable, "expression"));
            // One with errors fails when it is selected.
            let _ = compiler.compile_variable(name, expression, uses, &Budget::unlimited());
        }
        let conditions = MatchConditions::compile(spec.get("matchConditions"), &mut compiler, has_params);
        let of_patches = Uses { patches: true, ..uses };
        let mutations = elements(spec, "mutations").map(|mutation| {
            let (kind, patch, returns) = match text(mutation, "patchType") {
                "JSONPatch" => (PatchKind::JsonPatch, "jsonPatch", Returns::JsonPatches),
                _ => (PatchKind::ApplyConfiguration, "applyConfiguration", Returns::Object),
            };
            let expression = mutation.get(patch).map_or("", |patch| text(patch, "expression")).to_owned();
            let program = compiler.compile(&expression, returns, of_patches, &Budget::unlimited());
            Mutation { kind, expression, program }
        });
        let mutations: Vec<Mutation> = mutations.collect();
        let variables = compiler.into_variables();
        let of_mutations = mutations.iter().filter_map(|mutation| mutation.program.as_ref().ok());
        let programs: Vec<&Program> = of_mutations.chain(conditions.programs()).collect();
        let of_variables = variables.selected_by(&programs);
        let needs = Needs::from_programs(programs.into_iter().chain(of_variables));
        let is_reinvoked = text(spec, "reinvocationPolicy") == "IfNeeded";
        Self { conditions, variables, mutations, needs, is_reinvoked }
    }

    /// Returns the number of mutations.
    pub(super) fn len(&self) -> usize {
        self.mutations.len()
    }

    /// Evaluates the policy's match conditions.
    pub(super) async fn matches(
        &self,
        policy: &Policy<Self>,
        write: &Write<'_>,
        subject: &Subject<'_>,
        metrics: &AdmissionMetrics,
    ) -> Verdict {
        if self.conditions.is_empty() {
            return Verdict::Match;
        }
        let begun = Instant::now();
        let verdict = self.conditions.check(write, subject, Some((&self.variables, self.needs))).await;
        let labels = (policy.name.as_str(), WebhookKind::Mutating, write.attributes.operation.as_str());
        verdict.count(metrics, "policy", labels, begun.elapsed(), policy.ignores_failures);
        verdict
    }

    /// Applies one of the mutations to the object of the subject. Returns the patched object, conformed and with defaults;
    /// `None` if it stays as it is.
    pub(super) async fn mutate(
        &self,
        place: usize,
        write: &Write<'_>,
        subject: &Subject<'_>,
        path: Option<&InstalledPath>,
    ) -> Result<Option<Object>, Failure> {
        let (Some(mutation), Some(object)) = (self.mutations.get(place), subject.object) else {
            return Ok(None);
        };
        let Some(path) = path else {
            let kind = subject.kind;
            let message = format!(
                "Resource kind {}/{}, Kind={} not found. There can be a delay between when CustomResourceDefinitions are \
                 created and when they are available.",
                kind.group, kind.version, kind.kind
            );
            return Err(Failure::Status(StatusError::new(Reason::ServiceUnavailable, message)));
        };
        let patch = loop {
            let patch = self.evaluate(mutation, write, subject);
            // Other tasks run between policies.
            tokio::task::yield_now().await;
            if !write.has_to_repeat().await {
                break patch.map_err(|failure| Failure::Refused(failure.to_string()))?;
            }
        };
        patches::apply(&patch, object, path, &write.context.budget)
    }

    fn evaluate(
        &self,
        mutation: &Mutation,
        write: &Write<'_>,
        subject: &Subject<'_>,
    ) -> Result<Patch, PatchFailure> {
        let program = mutation.program.as_ref().map_err(|error| PatchFailure::NotCompiled(error.clone()))?;
        let made = write.make(self.needs, subject);
        let mut activation = write.activation(self.needs, subject, &made);
        if !self.variables.is_empty() {
            activation.bind_composited(VARIABLES, &self.variables);
        }
        let mut remaining = RUNTIME_COST_BUDGET;
        let value = program
            .evaluate_within(&activation, &mut remaining, &write.context.budget)?
            .map_err(|source| PatchFailure::Evaluation { expression: mutation.expression.clone(), source })?;
        match mutation.kind {
            PatchKind::ApplyConfiguration => Patch::configuration(&value, &write.context.budget),
            PatchKind::JsonPatch => Patch::operations(&value, &write.context.budget),
        }
    }
}
