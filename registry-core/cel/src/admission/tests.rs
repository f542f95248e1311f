use serde_json::json;

use super::*;
use crate::{EvaluationError, OutOfBudget};
use registry_meta::budget::Budget;

const ALL: Uses = Uses { age: Age::New, params: true, authorizer: true, patches: true };

fn failure(source: &str, returns: Returns, uses: Uses) -> String {
    match ExpressionCompiler::new().compile(source, returns, uses, &Budget::default()) {
        Ok(program) => format!("no failure: {}", program.output_type()),
        Err(failure) => failure.to_string(),
    }
}

#[test]
fn the_result_has_the_wanted_type() {
    let cases = [
        ("1", Returns::Bool, "must evaluate to bool but got int"),
        ("object", Returns::Bool, "must evaluate to bool but got dyn"),
        ("1", Returns::StringOrNull, "must evaluate to one of [string null_type] but got int"),
        ("'a'", Returns::Object, "must evaluate to Object but got string"),
        ("Object.spec{}", Returns::Object, "must evaluate to Object but got Object.spec"),
        ("[]", Returns::JsonPatches, "must evaluate to list(JSONPatch) but got list(dyn)"),
        (
            "timestamp('2020-01-01T00:00:00Z')",
            Returns::String,
            "must evaluate to string but got google.protobuf.Timestamp",
        ),
    ];
    for (source, returns, expected) in cases {
        assert_eq!(failure(source, returns, ALL), expected, "{source}");
    }
}

#[test]
fn expressions_use_what_is_declared_for_them() {
    assert!(failure("params.x", Returns::Any, Uses::default()).contains("undeclared reference to 'params'"));
    assert!(failure("authorizer.group('')", Returns::Any, Uses::default()).contains("'authorizer'"));
    assert!(failure("Object{}", Returns::Any, Uses::default()).contains("undeclared reference to 'Object'"));
    assert!(failure("variables.x", Returns::Any, ALL).contains("undeclared reference to 'variables'"));
    assert!(failure("request.nope", Returns::Any, ALL).contains("undefined field 'nope'"));
    assert!(
        failure("[JSONPatch{opp: 'add'}]", Returns::JsonPatches, ALL)
            .contains("expected type of field 'opp' is '' but provided type is 'string'")
    );
}

#[test]
fn variables_are_typed_and_computed_once() {
    let mut compiler = ExpressionCompiler::with_variables();
    compiler.compile_variable("list", "object.items.map(i, i + 1)", ALL, &Budget::default()).unwrap();
    compiler.compile_variable("two", "[1, 2]", ALL, &Budget::default()).unwrap();
    compiler.compile_variable("broken", "object.nope", ALL, &Budget::default()).unwrap();
    let failure = compiler.compile("variables.two['x']", Returns::Any, ALL, &Budget::default()).unwrap_err();
    assert!(failure.to_string().contains("no matching overload for '_[_]' applied to '(list(int), string)'"));
    let failure = compiler.compile("variables.three", Returns::Any, ALL, &Budget::default()).unwrap_err();
    assert!(failure.to_string().contains("undefined field 'three'"));

    let right = compiler.compile(
        "variables.list == variables.two && has(variables.two)",
        Returns::Bool,
        ALL,
        &Budget::default(),
    );
    let right = right.unwrap();
    let absorbed =
        compiler.compile("true || variables.broken", Returns::Bool, ALL, &Budget::default()).unwrap();
    let broken = compiler.compile("variables.broken == 1", Returns::Bool, ALL, &Budget::default()).unwrap();
    let variables = compiler.into_variables();
    let object = json!({"items": [0, 1]});
    let mut activation = activation();
    activation.bind_dynamic(OBJECT, &object);
    activation.bind_composited(VARIABLES, &variables);
    let mut remaining = 1_000;
    for program in [&right, &absorbed] {
        let value =
            program.evaluate_within(&activation, &mut remaining, &Budget::default()).unwrap().unwrap();
        assert_eq!(value.as_bool(), Some(true));
    }
    let error = broken.evaluate_within(&activation, &mut remaining, &Budget::default()).unwrap().unwrap_err();
    let expected = "composited variable \"broken\" fails to evaluate: no such key: nope";
    assert_eq!(error, EvaluationError::Failed(expected.to_owned()));
    let before = remaining;
    right.evaluate_within(&activation, &mut remaining, &Budget::default()).unwrap().unwrap();
    assert!(before - remaining < 10, "the variables are not computed again: {}", before - remaining);
}

#[test]
fn all_expressions_share_a_budget() {
    let mut compiler = ExpressionCompiler::with_variables();
    let digits = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]";
    let slow = format!("{digits}.all(a, {digits}.all(b, {digits}.all(c, object.a == 1)))");
    compiler.compile_variable("slow", &slow, ALL, &Budget::default()).unwrap();
    let program = compiler.compile("variables.slow", Returns::Any, ALL, &Budget::default()).unwrap();
    let variables = compiler.into_variables();
    let object = json!({"a": 1});
    let mut activation = activation();
    activation.bind_dynamic(OBJECT, &object);
    activation.bind_composited(VARIABLES, &variables);
    let mut remaining = 1_000;
    assert_eq!(
        program.evaluate_within(&activation, &mut remaining, &Budget::default()).err(),
        Some(OutOfBudget)
    );
    // With a larger budget, the limit of one evaluation holds for each variable.
    let mut remaining = 100_000;
    assert!(program.evaluate_within(&activation, &mut remaining, &Budget::default()).is_ok());
}

#[test]
fn variables_that_select_each_other_do_not_exhaust_the_stack() {
    let mut compiler = ExpressionCompiler::with_variables();
    compiler.compile_variable("v0", "1", ALL, &Budget::default()).unwrap();
    let mut failures = 0;
    for number in 1..5_000 {
        let source = format!("variables.v{} + 1", number - 1);
        failures += u32::from(
            compiler.compile_variable(&format!("v{number}"), &source, ALL, &Budget::default()).is_err(),
        );
    }
    assert!(failures > 0);
    let last = compiler.compile("variables.v4999", Returns::Any, ALL, &Budget::default());
    let Ok(program) = last else { return };
    let variables = compiler.into_variables();
    let mut activation = activation();
    activation.bind_composited(VARIABLES, &variables);
    let error = program.evaluate_within(&activation, &mut 100_000, &Budget::default()).unwrap().unwrap_err();
    assert!(error.to_string().contains("fails to compile"), "{error}");
}
