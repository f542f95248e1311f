//! What it costs to compile and to evaluate validation rules. Run with `cargo bench -p registry-core --bench cel`.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    missing_docs,
    reason = "a bench ends at what is missing, and divan's functions are its text"
)]

use divan::Bencher;
use registry_cel::{
    CostBudget, DeclType, Environment, RuleBudget, ValidationRules, check_definition, declare,
};
use registry_meta::budget::Budget;
use registry_meta::validation::{ErrorList, FieldPath};
use serde_json::{Value, json};

/// Rules as they are common in CustomResourceDefinitions.
const RULES: [&str; 4] = [
    "self.replicas <= self.max",
    "self.items.all(x, x.name.size() < 64 && x.name.matches('^[a-z]+$'))",
    "!has(self.a) || (has(self.b) && self.a.startsWith(self.b))",
    "self.items.exists_one(x, x.kind == 'A') || self.items.size() == 0",
];

fn main() {
    divan::main();
}

fn schema() -> Value {
    let item = json!({"type": "object", "properties": {
        "name": {"type": "string", "maxLength": 64}, "kind": {"type": "string"},
    }});
    json!({"type": "object", "properties": {
        "replicas": {"type": "integer"}, "max": {"type": "integer"},
        "a": {"type": "string"}, "b": {"type": "string"},
        "items": {"type": "array", "maxItems": 100, "items": item},
    }})
}

/// The schema with a number of rules.
fn schema_with_rules(count: usize) -> Value {
    let mut schema = schema();
    schema["x-kubernetes-validations"] =
        RULES.iter().cycle().take(count).map(|rule| json!({"rule": rule})).collect();
    schema
}

fn declared() -> DeclType {
    declare(&schema(), "self", false).unwrap()
}

fn environment(declared: &DeclType) -> Environment {
    Environment::kubernetes()
        .with_variable("self", declared.cel_type().clone())
        .with_sizes_of(declared.clone())
}

fn object() -> Value {
    let items: Vec<_> = (0..10).map(|_| json!({"name": "name", "kind": "B"})).collect();
    json!({"replicas": 1, "max": 3, "a": "abc", "b": "a", "items": items})
}

#[divan::bench]
fn compile_a_thousand_rules(bencher: Bencher<'_, '_>) {
    let declared = declared();
    let environment = environment(&declared);
    bencher.bench(|| {
        for rule in RULES.iter().cycle().take(1_000) {
            divan::black_box(environment.compile(rule, &Budget::unlimited()).unwrap());
        }
    });
}

#[divan::bench(args = RULES)]
fn evaluate(bencher: Bencher<'_, '_>, rule: &str) {
    let declared = declared();
    let environment = environment(&declared);
    let program = environment.compile(rule, &Budget::unlimited()).unwrap();
    let object = object();
    let mut activation = environment.activation();
    activation.bind_json("self", &object, &declared);
    bencher.bench_local(|| program.evaluate(&activation, &CostBudget::default()).unwrap().as_bool());
}

#[divan::bench]
fn check_a_definition_with_a_thousand_rules(bencher: Bencher<'_, '_>) {
    let schema = schema_with_rules(1_000);
    bencher.bench(|| check_definition(&schema, &FieldPath::new("schema"), None));
}

/// All rules together, as for a request.
#[divan::bench]
fn validate_an_object(bencher: Bencher<'_, '_>) {
    let rules = ValidationRules::compile(&schema_with_rules(RULES.len()), false).unwrap();
    let (path, object) = (FieldPath::new("spec"), object());
    bencher.bench(|| {
        let mut errors = ErrorList::default();
        rules.validate(&path, &object, Some(&object), &mut RuleBudget::default(), &mut errors);
        errors
    });
}
