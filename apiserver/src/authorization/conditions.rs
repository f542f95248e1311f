//! Match conditions: expressions that select the requests about which a webhook is asked.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/authorization/cel`.

use std::collections::BTreeMap;
use std::sync::Arc;

use registry_core::api::go_text::aggregate;
use registry_core::cel::{
    CompileFailure, CostBudget, DeclType, Environment, EvaluationError, Field, ListKind, ObjectType, Program,
    Shape, Type,
};

use registry_core::context::Budget;

use super::Attributes;
use super::review_spec::full_spec;

/// The variable of the request.
const REQUEST: &str = "request";

/// Conditions that must all hold. Without any, every request matches.
#[derive(Default)]
pub(super) struct MatchConditions {
    conditions: Vec<Condition>,
    environment: Option<(Environment, DeclType)>,
}

struct Condition {
    expression: String,
    program: Program,
}

/// Error of an expression that is no condition. Not retryable.
#[derive(Debug, thiserror::Error)]
pub enum ConditionError {
    #[error("an expression is required")]
    Missing,
    #[error("the expression is there twice")]
    Twice,
    #[error(transparent)]
    Expression(#[from] CompileFailure),
    #[error("must evaluate to bool but got {0}")]
    NoBool(Type),
}

/// Error of conditions that cannot be evaluated for a request. Not retryable.
#[derive(Debug, thiserror::Error)]
#[error("{}", aggregate(.0))]
pub(super) struct ConditionsFailure(Vec<ConditionFailure>);

/// Error of a condition that cannot be evaluated for a request.
#[derive(Debug, thiserror::Error)]
enum ConditionFailure {
    #[error("cel evaluation error: expression '{0}' resulted in error: the result is not a bool")]
    NoBool(String),
    #[error("cel evaluation error: expression '{expression}' resulted in error: {source}")]
    Evaluation { expression: String, source: EvaluationError },
}

// === impl MatchConditions ===

impl MatchConditions {
    /// Compiles conditions.
    ///
    /// # Errors
    /// Fails if an expression has errors or is no condition; the error has its position in the list.
    pub(super) fn new(expressions: &[String]) -> Result<Self, (usize, ConditionError)> {
        if expressions.is_empty() {
            return Ok(Self::default());
        }
        let request = request_type();
        let environment = Environment::kubernetes().with_variable(REQUEST, request.cel_type().clone());
        let mut conditions: Vec<Condition> = Vec::new();
        for (at, expression) in expressions.iter().enumerate() {
            if expression.trim().is_empty() {
                return Err((at, ConditionError::Missing));
            }
            if conditions.iter().any(|condition| condition.expression == *expression) {
                return Err((at, ConditionError::Twice));
            }
            let compiled = environment.compile(expression, &Budget::unlimited());
            let program = compiled.map_err(|error| (at, error.into()))?;
            if *program.output_type() != Type::Bool {
                return Err((at, ConditionError::NoBool(program.output_type().clone())));
            }
            conditions.push(Condition { expression: expression.clone(), program });
        }
        Ok(Self { conditions, environment: Some((environment, request)) })
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Returns whether all conditions hold for a request. One that does not hold counts before those that fail.
    ///
    /// # Errors
    /// Fails if a condition cannot be evaluated, and no other one excludes the request.
    pub(super) fn hold(&self, attributes: &Attributes<'_>) -> Result<bool, ConditionsFailure> {
        let Some((environment, request)) = &self.environment else { return Ok(true) };
        let spec = full_spec(attributes);
        let mut activation = environment.activation();
        activation.bind_json(REQUEST, &spec, request);
        let budget = Budget::default();
        let mut failures = Vec::new();
        for condition in &self.conditions {
            let evaluated = condition.program.evaluate(&activation, &CostBudget::default().within(&budget));
            match evaluated.map(|value| value.as_bool()) {
                Ok(Some(true)) => {}
                Ok(Some(false)) => return Ok(false),
                Ok(None) => failures.push(ConditionFailure::NoBool(condition.expression.clone())),
                Err(source) => {
                    let expression = condition.expression.clone();
                    failures.push(ConditionFailure::Evaluation { expression, source });
                }
            }
        }
        if failures.is_empty() { Ok(true) } else { Err(ConditionsFailure(failures)) }
    }
}

fn text() -> DeclType {
    DeclType::new(Shape::String)
}

fn texts() -> DeclType {
    list(text())
}

fn list(element: DeclType) -> DeclType {
    DeclType::new(Shape::List(Arc::new(element), ListKind::Atomic))
}

fn object(name: &str, fields: impl IntoIterator<Item = (&'static str, DeclType)>) -> DeclType {
    let fields: BTreeMap<_, _> = fields
        .into_iter()
        .map(|(name, declared)| (Arc::from(name), Field { json_name: Arc::from(name), declared }))
        .collect();
    DeclType::new(Shape::Object(Arc::new(ObjectType::new(name, fields))))
}

/// Returns the type of the variable `request`: the specification of a SubjectAccessReview.
fn request_type() -> DeclType {
    let requirement = || {
        object("kubernetes.SelectorRequirement", [("key", text()), ("operator", text()), ("values", texts())])
    };
    let selector =
        |name: &str| object(name, [("rawSelector", text()), ("requirements", list(requirement()))]);
    let strings = ["namespace", "verb", "group", "version", "resource", "subresource", "name"];
    let resource = strings.into_iter().map(|name| (name, text())).chain([
        ("fieldSelector", selector("kubernetes.FieldSelectorAttributes")),
        ("labelSelector", selector("kubernetes.LabelSelectorAttributes")),
    ]);
    let path = object("kubernetes.NonResourceAttributes", [("path", text()), ("verb", text())]);
    object(
        "kubernetes.SubjectAccessReviewSpec",
        [
            ("resourceAttributes", object("kubernetes.ResourceAttributes", resource)),
            ("nonResourceAttributes", path),
            ("user", text()),
            ("groups", texts()),
            ("extra", DeclType::new(Shape::Map(Arc::new(texts())))),
            ("uid", text()),
        ],
    )
}

#[cfg(test)]
mod tests {
    use registry_core::context::UserInfo;

    use super::*;
    use request_info::RequestInfo;

    fn hold(expressions: &[&str], method: &str, uri: &str) -> Result<bool, String> {
        let expressions: Vec<String> = expressions.iter().map(|&text| text.to_owned()).collect();
        let conditions =
            MatchConditions::new(&expressions).map_err(|(at, reason)| format!("{at}: {reason}"))?;
        let extra = vec![("k".to_owned(), vec!["v".to_owned()])];
        let groups = vec!["devs".to_owned()];
        let user = UserInfo { name: "alice".to_owned(), groups, extra, ..UserInfo::default() };
        let info = RequestInfo::parse(&method.parse().unwrap(), &uri.parse().unwrap());
        conditions.hold(&Attributes::from_request(&user, &info)).map_err(|failure| failure.to_string())
    }

    #[test]
    fn conditions_see_the_request() {
        let pods = "/api/v1/namespaces/a/pods?fieldSelector=spec.nodeName%3Dn";
        for (expression, uri, expected) in [
            ("request.user == 'alice' && 'devs' in request.groups", "/x", true),
            ("has(request.resourceAttributes)", "/x", false),
            ("request.nonResourceAttributes.path.startsWith('/x')", "/x/y", true),
            ("request.resourceAttributes.namespace == 'a'", pods, true),
            ("request.resourceAttributes.subresource == ''", pods, true),
            ("request.resourceAttributes.verb == 'list'", pods, true),
            (
                "request.resourceAttributes.fieldSelector.requirements.exists(r, r.values == ['n'])",
                pods,
                true,
            ),
            ("has(request.resourceAttributes.labelSelector)", pods, false),
            ("request.extra['k'] == ['v'] && request.uid == ''", pods, true),
        ] {
            assert_eq!(hold(&[expression], "GET", uri), Ok(expected), "{expression}");
        }
        assert_eq!(hold(&[], "GET", "/x"), Ok(true));
    }

    #[test]
    fn a_condition_that_does_not_hold_counts_before_one_that_fails() {
        let fails = "request.resourceAttributes.verb == 'x'";
        assert!(hold(&[fails], "GET", "/x").unwrap_err().contains(fails));
        assert_eq!(hold(&[fails, "request.user == 'bob'"], "GET", "/x"), Ok(false));
        assert!(hold(&["request.user"], "GET", "/x").unwrap_err().starts_with("0: must evaluate to bool"));
        assert!(hold(&["true", "request.zork == ''"], "GET", "/x").unwrap_err().starts_with("1: "));
        assert!(hold(&[""], "GET", "/x").is_err());
        assert!(hold(&["true", "true"], "GET", "/x").is_err());
    }
}
