//! The costs of functions, by two tables: estimates for literals, and costs of evaluations over variables.

use std::sync::Arc;

use registry_meta::budget::Budget;
use serde_json::json;

use super::CostEstimate;
use crate::{CostBudget, Environment, Type};

/// Compares the lines of a table with the cost that is found for their expressions.
fn compare(table: &str, cost: impl Fn(&str) -> String) {
    let mut wrong = Vec::new();
    for line in table.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let (source, expected) = line.split_once(" => ").expect("a line has an expression and a cost");
        let found = cost(source);
        if found != expected {
            wrong.push(format!("{source} => {found}"));
        }
    }
    assert!(wrong.is_empty(), "the table has other costs than these:\n{}", wrong.join("\n"));
}

#[test]
fn functions_have_the_estimated_costs_of_the_table() {
    let environment = Environment::kubernetes();
    compare(include_str!("tests/estimated.txt"), |source| {
        let program = environment.compile(source, &Budget::default()).expect(source);
        let CostEstimate { min, max } = program.cost_estimate();
        format!("{min}..{max}")
    });
}

#[test]
fn evaluated_functions_have_the_costs_of_the_table() {
    let (text, numbers, texts) =
        (json!("ABCDEFGHIJ abcdefghij"), json!([1, 2, 3, 4, 5]), json!(["ab", "cd"]));
    let environment = Environment::kubernetes()
        .with_variable("text", Type::String)
        .with_variable("numbers", Type::List(Arc::new(Type::Int)))
        .with_variable("texts", Type::List(Arc::new(Type::String)));
    compare(include_str!("tests/evaluated.txt"), |source| {
        let program = environment.compile(source, &Budget::default()).expect(source);
        let mut activation = environment.activation();
        activation.bind_dynamic("text", &text);
        activation.bind_dynamic("numbers", &numbers);
        activation.bind_dynamic("texts", &texts);
        let budget = CostBudget::default();
        program.evaluate(&activation, &budget).expect(source);
        budget.spent().to_string()
    });
}
