//! Match conditions: expressions that decide whether a policy or a webhook is about a write.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions`.

use std::time::Duration;

use registry_core::api::go_text::aggregate;
use registry_core::cel::admission::{
    Age, ExpressionCompiler, ExpressionError, MATCH_CONDITIONS_COST_BUDGET, Returns, Uses, VARIABLES,
};
use registry_core::cel::{CompositedVariables, OutOfBudget, Program};
use registry_core::context::Budget;
use serde_json::Value;

use crate::metrics::{AdmissionMetrics, WebhookLabels};

use super::expressions::{Needs, Subject, Write};

/// The compiled match conditions of one policy or webhook.
#[derive(Debug, Default)]
pub(crate) struct MatchConditions {
    conditions: Vec<Condition>,
    needs: Needs,
}

#[derive(Debug)]
struct Condition {
    name: String,
    expression: String,
    /// The program, or why there is none.
    program: Result<Program, ExpressionError>,
}

/// Whether match conditions hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// All hold.
    Match,
    /// One does not hold, whatever the others say.
    NoMatch {
        /// The name of the first condition that does not hold.
        condition: String,
    },
    /// None is known not to hold, but some could not be evaluated; the text says why.
    Failed(String),
}

// === impl Verdict ===

impl Verdict {
    /// Counts an evaluation of match conditions that ended so, of a webhook or a policy (`owner`).
    pub(crate) fn count(
        &self,
        metrics: &AdmissionMetrics,
        owner: &'static str,
        labels: WebhookLabels<'_>,
        time: Duration,
        ignores_failures: bool,
    ) {
        let has_failed = matches!(self, Self::Failed(_));
        let is_excluded = matches!(self, Self::NoMatch { .. }) || has_failed && ignores_failures;
        metrics.evaluated_conditions(owner, labels, time, is_excluded, has_failed);
    }
}

// === impl MatchConditions ===

impl MatchConditions {
    /// Compiles the conditions of a webhook.
    pub(crate) fn from_webhook(conditions: Option<&Value>) -> Self {
        Self::compile(conditions, &mut ExpressionCompiler::new(), false)
    }

    /// Compiles conditions. One that does not compile fails when it is evaluated.
    pub(crate) fn compile(
        conditions: Option<&Value>,
        compiler: &mut ExpressionCompiler,
        has_params: bool,
    ) -> Self {
        let uses = Uses { age: Age::Stored, params: has_params, authorizer: true, patches: false };
        let conditions = conditions.and_then(Value::as_array).into_iter().flatten();
        let compiled: Vec<Condition> = conditions
            .map(|condition| {
                let text = |name: &str| condition.get(name).and_then(Value::as_str).unwrap_or_default();
                let expression = text("expression").to_owned();
                let program = compiler.compile(&expression, Returns::Bool, uses, &Budget::unlimited());
                Condition { name: text("name").to_owned(), expression, program }
            })
            .collect();
        let needs =
            Needs::from_programs(compiled.iter().filter_map(|condition| condition.program.as_ref().ok()));
        Self { conditions: compiled, needs }
    }

    /// Whether there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Returns the programs of the conditions.
    pub(crate) fn programs(&self) -> impl Iterator<Item = &Program> {
        self.conditions.iter().filter_map(|condition| condition.program.as_ref().ok())
    }

    /// Evaluates the conditions for a write, with the variables of a policy if it has some.
    pub(crate) async fn check(
        &self,
        write: &Write<'_>,
        subject: &Subject<'_>,
        variables: Option<(&CompositedVariables, Needs)>,
    ) -> Verdict {
        if self.is_empty() {
            return Verdict::Match;
        }
        loop {
            let verdict = self.check_once(write, subject, variables);
            if !write.has_to_repeat().await {
                return verdict;
            }
        }
    }

    fn check_once(
        &self,
        write: &Write<'_>,
        subject: &Subject<'_>,
        variables: Option<(&CompositedVariables, Needs)>,
    ) -> Verdict {
        // Conditions do not see the namespace.
        let subject = Subject { namespace: None, resource: write.attributes.resource, ..*subject };
        let needs = variables.map_or(self.needs, |(_, needs)| needs);
        let made = write.make(needs, &subject);
        let mut activation = write.activation(needs, &subject, &made);
        if let Some((variables, _)) = variables {
            activation.bind_composited(VARIABLES, variables);
        }
        let mut remaining = MATCH_CONDITIONS_COST_BUDGET;
        let mut verdict = None;
        let mut failures: Vec<String> = Vec::new();
        for condition in &self.conditions {
            let result = match &condition.program {
                Ok(program) => program.evaluate_within(&activation, &mut remaining, &write.context.budget),
                Err(failure) => {
                    failures.push(format!("compilation error: {failure}"));
                    continue;
                }
            };
            match result {
                Err(OutOfBudget) => return Verdict::Failed(OutOfBudget.to_string()),
                Ok(Ok(value)) if value.as_bool() == Some(false) => {
                    let name = || Verdict::NoMatch { condition: condition.name.clone() };
                    verdict.get_or_insert_with(name);
                }
                Ok(Ok(_)) => {}
                Ok(Err(error)) => {
                    failures
                        .push(format!("expression '{}' resulted in error: {error}", condition.expression));
                }
            }
        }
        verdict.unwrap_or_else(|| match failures.as_slice() {
            [] => Verdict::Match,
            [_, ..] => Verdict::Failed(aggregate(failures)),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use registry_core::RequestContext;
    use registry_core::admission::Operation;
    use registry_core::api::Object;
    use registry_core::rest::access::AccessReviewer;
    use serde_json::json;

    use super::*;
    use crate::admission::Attributes;
    use crate::admission::expressions::tests::{AllowLater, config_maps, subject};

    async fn verdict(conditions: Value) -> Verdict {
        let conditions = MatchConditions::from_webhook(Some(&conditions));
        let context = RequestContext::system("default");
        let (resource, kind) = config_maps();
        let attributes = Attributes::new(Operation::Create, resource, kind, "c");
        let access: Arc<dyn AccessReviewer> = Arc::new(AllowLater);
        let write = Write::new(&context, &attributes, &access);
        let object = Object::from_value(json!({"data": {"a": "1"}})).unwrap();
        conditions.check(&write, &subject(&object), None).await
    }

    #[tokio::test]
    async fn a_condition_that_does_not_hold_decides_before_errors() {
        let failing = json!({"name": "failing", "expression": "object.data.b == '1'"});
        let holds = json!({"name": "holds", "expression": "object.data.a == '1'"});
        let other = json!({"name": "other", "expression": "object.data.a == '2'"});
        assert_eq!(verdict(json!([])).await, Verdict::Match);
        assert_eq!(verdict(json!([holds])).await, Verdict::Match);
        let no_match = Verdict::NoMatch { condition: "other".to_owned() };
        assert_eq!(verdict(json!([failing, holds, other])).await, no_match);
        let failed = "expression 'object.data.b == '1'' resulted in error: no such key: b";
        assert_eq!(verdict(json!([failing, holds, failing])).await, Verdict::Failed(failed.to_owned()));
    }

    #[tokio::test]
    async fn conditions_are_limited_together() {
        let digits = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]";
        let slow = format!(
            "{digits}.all(a, {digits}.all(b, {digits}.all(c, {digits}.all(d, {digits}.all(e, object.data.a == '1')))))"
        );
        let conditions: Vec<Value> =
            (0..10).map(|number| json!({"name": format!("c{number}"), "expression": slow})).collect();
        assert_eq!(verdict(Value::Array(conditions)).await, Verdict::Failed(OutOfBudget.to_string()));
    }
}
