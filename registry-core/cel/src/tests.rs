//! Expressions and what they evaluate to.

use serde_json::json;

use super::*;
use registry_meta::budget::Budget;

/// The value of an expression over `self`, or its error.
fn evaluate(source: &str) -> String {
    let object = json!({"n": 3, "s": "text", "l": [1, 2, 3], "m": {"a": 1, "b": {"c": null}}, "d": 1.5});
    let environment = Environment::new(
        Libraries::for_stored_expressions().with(Library::JsonPatch).with(Library::Bindings),
    )
    .with_variable("self", Type::Dyn)
    .with_open_object_types("Object");
    let program = match environment.compile(source, &Budget::default()) {
        Ok(program) => program,
        Err(failure) => return failure.to_string(),
    };
    let mut activation = environment.activation();
    activation.bind_dynamic("self", &object);
    match program.evaluate(&activation, &CostBudget::default()) {
        Ok(value) => value.to_string(),
        Err(error) => format!("error: {error}"),
    }
}

#[test]
fn expressions_evaluate_to_what_the_table_says() {
    let table = include_str!("tests/expressions.txt");
    let mut wrong = Vec::new();
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (source, expected) = line.split_once(" => ").expect("a line has an expression and a value");
        let found = evaluate(source.trim());
        if found.replace('\n', "\\n") != expected.trim() {
            wrong.push(format!("{source}\n  expected {expected}\n  found    {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn costs_are_counted_and_limited() {
    let environment = Environment::kubernetes().with_variable("self", Type::Dyn);
    let object = json!({"a": "x", "l": [1, 2, 3]});
    let cost = |source: &str| {
        let program = environment.compile(source, &Budget::default()).unwrap();
        let mut activation = environment.activation();
        activation.bind_dynamic("self", &object);
        let budget = CostBudget::default();
        program.evaluate(&activation, &budget).unwrap();
        budget.spent()
    };
    assert_eq!(cost("self.a"), 2);
    assert_eq!(cost("has(self.a)"), 1);
    assert_eq!(cost("1 in [1, 2, 3]"), 0);
    assert_eq!(cost("self.a == 'x'"), 3);
    assert_eq!(cost("[self.a].size() == 1"), 2 + 10 + 1 + 1);
    let nested = "self.l.all(a, self.l.all(b, self.l.all(c, self.l.all(d, self.l.all(e, self.l.all(f, self.l.all(g, self.l.all(h, self.l.all(i, self.l.all(j, self.l.all(k, self.l.all(m, true))))))))))))";
    let program = environment.compile(nested, &Budget::default()).unwrap();
    let mut activation = environment.activation();
    activation.bind_dynamic("self", &object);
    let error = program.evaluate(&activation, &CostBudget::default()).unwrap_err();
    assert_eq!(error, EvaluationError::CostLimitExceeded);
    assert_eq!(error.to_string(), "operation cancelled: actual cost limit exceeded");
    let late = Budget::until(Some(std::time::Instant::now()));
    let budget = CostBudget::new(u64::MAX).within(&late);
    assert_eq!(program.evaluate(&activation, &budget).unwrap_err(), EvaluationError::Interrupted);
}

#[test]
fn hostile_expressions_end_within_their_limits() {
    let doubled_types = format!("[1].map(a, a){}", ".map(b, {b: b})".repeat(60));
    assert!(evaluate(&doubled_types).contains("too large"), "{}", evaluate(&doubled_types));
    let doubled_lists = (0..40).fold("[self.l]".to_owned(), |list, _| format!("{list}.map(x, x + x)"));
    assert_eq!(evaluate(&doubled_lists), "error: operation cancelled: actual cost limit exceeded");
    let doubled_texts = (0..40).fold("[self.s]".to_owned(), |list, _| format!("{list}.map(x, x + x)"));
    assert_eq!(evaluate(&doubled_texts), "error: operation cancelled: actual cost limit exceeded");
    assert_eq!(
        evaluate("lists.range(self.n * 1000000000)"),
        "error: operation cancelled: actual cost limit exceeded"
    );
    let optionals = evaluate(&format!("[{}]", vec!["?self"; 16_000].join(",")));
    assert!(optionals.contains("from non-optional value"), "{optionals}");
    let unreadable = "@".repeat(90_000);
    let refused = evaluate(&unreadable);
    assert!(refused.contains("token recognition error") && refused.len() < 100_000, "{}", refused.len());
    assert!(evaluate(&"(".repeat(90_000)).contains("expression recursion limit exceeded: 250"));
    let deep = format!("{}1{}", "[".repeat(240), "]".repeat(240));
    assert!(evaluate(&deep).starts_with("[[["), "{}", evaluate(&deep));
}

#[test]
fn referenced_variables_and_fields_are_known() {
    let environment =
        Environment::kubernetes().with_variable("self", Type::Dyn).with_variable("oldSelf", Type::Dyn);
    let program = environment
        .compile("self.spec.replicas > 1 && self.list.all(oldSelf, oldSelf.x > 0)", &Budget::default())
        .unwrap();
    assert_eq!(program.referenced_variables().collect::<Vec<_>>(), ["self"]);
    assert_eq!(program.referenced_paths(), ["self.list", "self.spec", "self.spec.replicas"]);
    assert!(environment.compile("self == oldSelf", &Budget::default()).unwrap().references("oldSelf"));
}
