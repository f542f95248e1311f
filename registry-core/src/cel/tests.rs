//! Expressions and what they evaluate to.

use serde_json::json;

use super::*;

/// The value of an expression over `self`, or its error.
fn evaluate(source: &str) -> String {
    let object = json!({"n": 3, "s": "text", "l": [1, 2, 3], "m": {"a": 1, "b": {"c": null}}, "d": 1.5});
    let environment =
        Environment::new(Libraries::of_kubernetes(36).with(Library::JsonPatch).with(Library::Bindings))
            .with_variable("self", Type::Dyn)
            .with_open_object_types("Object");
    let program = match environment.compile(source) {
        Ok(program) => program,
        Err(failure) => return failure.to_string(),
    };
    let mut activation = environment.activation();
    activation.bind_dynamic("self", &object);
    match program.evaluate(&activation, &mut CostBudget::default()) {
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
