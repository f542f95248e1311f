use std::sync::Arc;

use registry_core::RequestContext;
use registry_core::admission::Operation;
use registry_core::api::Object;
use registry_core::rest::access::AccessReviewer;
use serde_json::json;

use super::*;
use crate::admission::Attributes;
use crate::admission::expressions::tests::{AllowLater, config_maps, subject};
use crate::metrics::ServerMetrics;

/// Evaluates a specification for a config map.
async fn outcome(spec: Value, ignores_failures: bool) -> Outcome {
    let mut policy = json!({"metadata": {"name": "p"}, "spec": spec});
    policy["spec"]["failurePolicy"] = json!(if ignores_failures { "Ignore" } else { "Fail" });
    let policy = Policy::new(&Object::from_value(policy).unwrap(), Validator::compile);
    let metrics = ServerMetrics::new().unwrap();
    let context = RequestContext::system("default");
    let (resource, kind) = config_maps();
    let attributes = Attributes::new(Operation::Create, resource, kind, "c");
    let access: Arc<dyn AccessReviewer> = Arc::new(AllowLater);
    let write = Write::new(&context, &attributes, &access);
    let object = Object::from_value(json!({"metadata": {"name": "c"}, "data": {"a": "1"}})).unwrap();
    policy.evaluator.validate(&policy, &write, &subject(&object), metrics.admission()).await
}

fn messages(outcome: &Outcome) -> Vec<(usize, &str)> {
    outcome.denials.iter().map(|(index, denial)| (*index, denial.message.as_str())).collect()
}

#[tokio::test]
async fn messages_fall_back_to_the_written_one_and_to_the_expression() {
    let spec = json!({"validations": [
        {"expression": "true", "message": "never"},
        {"expression": " false ", "messageExpression": "'made ' + object.data.a", "message": "written"},
        {"expression": "false", "messageExpression": "'two\\nlines'", "message": " written "},
        {"expression": "false", "messageExpression": "string(object.data.nope)"},
        {"expression": "false", "messageExpression": "'   '", "reason": "Forbidden"},
    ]});
    let outcome = outcome(spec, false).await;
    let expected =
        [(1, "made 1"), (2, "written"), (3, "failed expression: false"), (4, "failed expression: false")];
    assert_eq!(messages(&outcome), expected);
    assert_eq!(outcome.denials[3].1.reason, Reason::Forbidden);
}

#[tokio::test]
async fn failures_deny_unless_they_are_ignored() {
    let spec = json!({
        "variables": [{"name": "broken", "expression": "object.nope"}],
        "validations": [{"expression": "variables.broken == 1"}, {"expression": "false", "message": "m"}],
        "auditAnnotations": [
            {"key": "k", "valueExpression": "'v ' + object.data.a"},
            {"key": "none", "valueExpression": "null"},
            {"key": "broken", "valueExpression": "string(variables.broken)"},
        ],
    });
    let denied = outcome(spec.clone(), false).await;
    let found = messages(&denied);
    assert!(found[0].1.contains("composited variable \"broken\" fails to evaluate: no such key: nope"));
    assert_eq!(found[1], (1, "m"));
    assert_eq!(denied.annotations[0], Ok(("k".to_owned(), "v 1".to_owned())));
    assert!(denied.annotations[1].is_err() && denied.annotations.len() == 2);
    let ignored = outcome(spec, true).await;
    assert_eq!(messages(&ignored), [(1, "m")]);
    assert_eq!(ignored.annotations.len(), 1);
}

#[tokio::test]
async fn conditions_decide_whether_anything_is_evaluated() {
    let with = |condition: &str| {
        json!({
            "matchConditions": [{"name": "c", "expression": condition}],
            "validations": [{"expression": "false", "message": "m"}],
        })
    };
    assert_eq!(messages(&outcome(with("object.data.a == '1'"), false).await), [(0, "m")]);
    assert!(messages(&outcome(with("object.data.a == '2'"), false).await).is_empty());
    let failed = outcome(with("object.data.b == '2'"), false).await;
    assert!(messages(&failed)[0].1.contains("no such key: b"));
    assert!(messages(&outcome(with("object.data.b == '2'"), true).await).is_empty());
}

#[tokio::test]
async fn the_authorizer_is_awaited() {
    let spec = json!({"validations": [{
        "expression": "authorizer.group('').resource('pods').check('get').allowed()",
        "messageExpression": "'no'",
    }]});
    assert_eq!(messages(&outcome(spec, false).await), [(0, "no")]);
}
