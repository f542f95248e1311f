//! Match conditions: expressions that decide, after the rules, whether a webhook is called.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions`.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use registry_core::api::Object;
use registry_core::cel::{
    AuthorizerValue, Check, CostBudget, Environment, ObjectType, PER_CALL_LIMIT, Program,
    RUNTIME_COST_BUDGET, Type, Value,
};
use registry_core::rest::access::AccessReviewer;
use serde_json::Value as Json;

use crate::admission::authorizer::UserAccess;
use crate::admission::matching::namespace_of;

use super::review::Subject;

const OBJECT: &str = "object";
const OLD_OBJECT: &str = "oldObject";
const REQUEST: &str = "request";
const NAMESPACE: &str = "namespaceObject";
const AUTHORIZER: &str = "authorizer";
const REQUEST_RESOURCE: &str = "authorizer.requestResource";

/// Maximum cost of all conditions of one webhook, as Kubernetes limits it.
const COST_BUDGET: u64 = RUNTIME_COST_BUDGET / 4;

/// The match conditions of a webhook.
#[derive(Debug, Default)]
pub(super) struct Conditions(Vec<Condition>);

#[derive(Debug)]
struct Condition {
    expression: String,
    program: Result<Program, String>,
}

/// What conditions decide.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// All hold: the webhook is called.
    Matches,
    /// One does not hold: the webhook is not called.
    Excluded,
    /// None is false, but one cannot be evaluated: the failure policy decides.
    Failed(String),
}

static ENVIRONMENT: LazyLock<Environment> = LazyLock::new(|| {
    let object = |name: &str| Type::Object(Arc::new(ObjectType::without_fields(name)));
    Environment::kubernetes()
        .with_variable(OBJECT, Type::Dyn)
        .with_variable(OLD_OBJECT, Type::Dyn)
        .with_variable(REQUEST, Type::Dyn)
        .with_variable(NAMESPACE, Type::Dyn)
        .with_variable(AUTHORIZER, object("kubernetes.authorization.Authorizer"))
        .with_variable(REQUEST_RESOURCE, object("kubernetes.authorization.ResourceCheck"))
});

// === impl Conditions ===

impl Conditions {
    /// Compiles a list of conditions.
    pub(super) fn compile(conditions: Option<&Json>) -> Self {
        let conditions = conditions.and_then(Json::as_array).into_iter().flatten();
        Self(conditions.map(Condition::compile).collect())
    }

    /// Whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Evaluates the conditions with the objects in the version that matched.
    pub(super) fn evaluate(
        &self,
        subject: &Subject<'_>,
        object: Option<&Object>,
        old: Option<&Object>,
        access: &Arc<dyn AccessReviewer>,
    ) -> Outcome {
        let [object, old] =
            [object, old].map(|object| object.map_or(Json::Null, |object| Json::Object(object.0.clone())));
        let request = subject.variable();
        let authorizer = Arc::new(UserAccess::new(access.clone(), subject.context.user.clone()));
        let mut activation = ENVIRONMENT.activation();
        activation.bind_dynamic(OBJECT, &object);
        activation.bind_dynamic(OLD_OBJECT, &old);
        activation.bind_dynamic(REQUEST, &request);
        activation.bind_value(NAMESPACE, Value::Null);
        let resource = AuthorizerValue::request_resource(authorizer.clone(), requested(subject));
        activation.bind_value(REQUEST_RESOURCE, resource);
        activation.bind_value(AUTHORIZER, AuthorizerValue::of(authorizer));

        let mut remaining = COST_BUDGET;
        let mut failures = Vec::new();
        let mut is_false = false;
        for condition in &self.0 {
            let program = match &condition.program {
                Ok(program) => program,
                Err(error) => {
                    failures.push(format!("compilation error: {error}"));
                    continue;
                }
            };
            let mut budget = CostBudget::new(PER_CALL_LIMIT);
            let result = program.evaluate(&activation, &mut budget);
            if budget.spent() > remaining {
                return Outcome::Failed(
                    "validation failed due to running out of cost budget, no further validation rules will be run"
                        .to_owned(),
                );
            }
            remaining -= budget.spent();
            match result {
                Ok(value) => is_false |= value.as_bool() == Some(false),
                Err(error) => {
                    let expression = &condition.expression;
                    failures.push(format!("expression '{expression}' resulted in error: {error}"));
                }
            }
        }
        match (is_false, failures.is_empty()) {
            (true, _) => Outcome::Excluded,
            (false, true) => Outcome::Matches,
            (false, false) => Outcome::Failed(together(failures)),
        }
    }
}

/// Returns different failures as one text.
fn together(mut failures: Vec<String>) -> String {
    let mut known = HashSet::new();
    failures.retain(|failure| known.insert(failure.clone()));
    match failures.as_slice() {
        [one] => one.clone(),
        more => format!("[{}]", more.join(", ")),
    }
}

/// Returns the check of the request's own resource.
fn requested(subject: &Subject<'_>) -> Check {
    let attributes = subject.attributes;
    Check {
        group: attributes.resource.group.to_owned(),
        resource: attributes.resource.resource.to_owned(),
        subresource: attributes.subresource.to_owned(),
        namespace: namespace_of(subject.context, attributes).to_owned(),
        name: attributes.name.to_owned(),
        ..Check::default()
    }
}

// === impl Condition ===

impl Condition {
    fn compile(condition: &Json) -> Self {
        let expression = condition.get("expression").and_then(Json::as_str).unwrap_or_default();
        let program = ENVIRONMENT.compile(expression).map_err(|failure| failure.to_string());
        Self { expression: expression.to_owned(), program }
    }
}

#[cfg(test)]
mod tests {
    use registry_core::RequestContext;
    use registry_core::api::{GroupVersionKind, GroupVersionResource};
    use registry_core::rest::access::NoAccess;
    use serde_json::json;

    use crate::admission::matching::Matched;
    use crate::admission::{Attributes, Operation};

    use super::*;

    fn outcome(expressions: &[&str]) -> Outcome {
        let conditions: Vec<Json> =
            expressions.iter().map(|text| json!({"name": "x", "expression": text})).collect();
        let conditions = Conditions::compile(Some(&Json::Array(conditions)));
        let context = RequestContext::system("team");
        let resource = GroupVersionResource { group: "", version: "v1", resource: "configmaps" };
        let kind = GroupVersionKind { group: "", version: "v1", kind: "ConfigMap" };
        let attributes = Attributes::new(Operation::Create, resource, kind, "web");
        let matched = Matched { path: None };
        let subject = Subject { context: &context, attributes: &attributes, matched: &matched };
        let object = Object::from_value(json!({"metadata": {"name": "web"}, "data": {"a": "1"}})).unwrap();
        let access: Arc<dyn AccessReviewer> = Arc::new(NoAccess);
        conditions.evaluate(&subject, Some(&object), None, &access)
    }

    #[test]
    fn conditions_see_the_objects_the_request_and_the_authorizer() {
        for expression in [
            "object.metadata.name == 'web' && oldObject == null",
            "request.operation == 'CREATE' && request.namespace == 'team' && request.kind.kind == 'ConfigMap'",
            "'system:masters' in request.userInfo.groups && !request.dryRun",
            "!authorizer.group('').resource('pods').check('get').allowed()",
            "!authorizer.requestResource.check('create').allowed()",
            "!authorizer.serviceAccount('a', 'b').path('/healthz').check('get').allowed()",
        ] {
            assert_eq!(outcome(&[expression]), Outcome::Matches, "{expression}");
        }
        assert_eq!(outcome(&["true", "object.data.a == '2'"]), Outcome::Excluded);
    }

    #[test]
    fn a_false_condition_decides_over_failing_ones() {
        let failing = "object.nothing == 1";
        let failure = "expression 'object.nothing == 1' resulted in error: no such key: nothing";
        assert_eq!(outcome(&[failing]), Outcome::Failed(failure.to_owned()));
        assert_eq!(outcome(&["true", failing, failing]), Outcome::Failed(failure.to_owned()));
        assert_eq!(outcome(&[failing, "false"]), Outcome::Excluded);
        let Outcome::Failed(text) = outcome(&["object.", failing]) else { panic!("it compiles") };
        assert!(text.starts_with("[compilation error: compilation failed: ERROR"), "{text}");
    }

    #[test]
    fn conditions_have_a_budget() {
        let digits = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]";
        let nested = |depth: usize| {
            let inner = "object.data.a == '1'".to_owned();
            (0..depth).fold(inner, |inner, at| format!("{digits}.all(v{at}, {inner})"))
        };
        let Outcome::Failed(text) = outcome(&[&nested(6)]) else { panic!("it is evaluated") };
        assert!(text.ends_with("actual cost limit exceeded"), "{text}");
        let expensive = nested(5);
        let Outcome::Failed(text) = outcome(&[expensive.as_str(); 8]) else { panic!("they are evaluated") };
        assert!(text.contains("running out of cost budget"), "{text}");
    }
}
