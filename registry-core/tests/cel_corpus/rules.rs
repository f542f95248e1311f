//! Validation rules in the schema of a custom resource: their results for objects, and their costs.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use registry_core::cel::{
    CompileFailure, CostBudget, Environment, EvaluationError, PER_CALL_LIMIT, Program, Type, declare,
    max_cardinality,
};
use serde_json::Value as Json;

/// Maximum estimated cost of one rule.
const PER_RULE_LIMIT: u64 = 10_000_000;
/// Maximum estimated cost of all rules of a definition.
const TOTAL_LIMIT: u64 = 100_000_000;

/// Returns the value of a variable unchanged.
static SELF: LazyLock<Program> =
    LazyLock::new(|| Environment::kubernetes().with_variable("self", Type::Dyn).compile("self").unwrap());

/// A field and a message.
type Finding = (String, String);

fn schema_of(case: &Json) -> Json {
    let spec = &case["steps"][0]["b"]["spec"];
    spec["versions"][0]["schema"]["openAPIV3Schema"].clone()
}

/// Returns the causes of a response that come from rules.
fn recorded(answer: &Json) -> BTreeSet<Finding> {
    let causes = answer["causes"].as_array().into_iter().flatten();
    causes
        .map(|cause| (cause[1].as_str().unwrap().to_owned(), cause[2].as_str().unwrap().to_owned()))
        .collect()
}

/// Compares two sets of findings; recorded messages may have the value before the message.
fn compare(found: &BTreeSet<Finding>, recorded: &BTreeSet<Finding>) -> Result<(), String> {
    let same = |a: &Finding, b: &Finding| a.0 == b.0 && (b.1 == a.1 || b.1.ends_with(&format!(": {}", a.1)));
    let missing: Vec<_> = recorded.iter().filter(|b| !found.iter().any(|a| same(a, b))).collect();
    let surplus: Vec<_> = found.iter().filter(|a| !recorded.iter().any(|b| same(a, b))).collect();
    if missing.is_empty() && surplus.is_empty() {
        return Ok(());
    }
    Err(format!("missing {missing:?}\n  surplus {surplus:?}"))
}

/// Compares the results of the rules for an object with the recorded ones.
pub(crate) fn check_objects(case: &Json) -> Result<(), String> {
    let expected = case["expect"].as_array().unwrap();
    if expected[0]["code"] != 201 {
        return check_definition(case);
    }
    let schema = schema_of(case);
    let objects: Vec<_> =
        case["steps"].as_array().unwrap().iter().filter(|step| step.get("b").is_some()).collect();
    let new = &objects.last().unwrap()["b"];
    let old = (objects.len() > 2).then(|| &objects[1]["b"]);
    let mut found = BTreeSet::new();
    let mut budget = 10_000_000;
    validate(&schema, true, "", new, old, &mut budget, &mut found);
    compare(&found, &recorded(expected.last().unwrap()))
}

fn environment(schema: &Json, is_root: bool, optional_old_self: bool) -> Option<(Environment, u64)> {
    let is_root = is_root || schema["x-kubernetes-embedded-resource"] == true;
    let declared = declare(schema, "selfType<n>", is_root)?;
    let of = declared.cel_type().clone();
    let old = if optional_old_self { Type::optional(of.clone()) } else { of.clone() };
    let cardinality = max_cardinality(&declared);
    let environment = Environment::kubernetes()
        .with_variable("self", of)
        .with_variable("oldSelf", old)
        .with_sizes_of(declared);
    Some((environment, cardinality))
}

fn rules(schema: &Json) -> impl Iterator<Item = (usize, &Json)> {
    schema["x-kubernetes-validations"].as_array().into_iter().flatten().enumerate()
}

fn validate(
    schema: &Json,
    is_root: bool,
    path: &str,
    value: &Json,
    old: Option<&Json>,
    budget: &mut i64,
    found: &mut BTreeSet<Finding>,
) {
    if value.is_null() || *budget < 0 {
        return;
    }
    for (_, rule) in rules(schema) {
        if let Some((at, message)) = evaluate_rule(schema, is_root, rule, value, old, budget) {
            let path = format!("{path}{at}");
            found.insert((path.trim_start_matches('.').to_owned(), message));
        }
    }
    match value {
        Json::Object(fields) => {
            for (name, field) in fields {
                let old = old.and_then(|old| old.get(name));
                if let Some(property) = schema["properties"].get(name) {
                    validate(property, false, &format!("{path}.{name}"), field, old, budget, found);
                } else if schema["additionalProperties"].is_object() {
                    let values = &schema["additionalProperties"];
                    validate(values, false, &format!("{path}[{name}]"), field, old, budget, found);
                }
            }
        }
        Json::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let old = correlate(schema, item, old);
                validate(&schema["items"], false, &format!("{path}[{index}]"), item, old, budget, found);
            }
        }
        _ => {}
    }
}

/// Returns the old element with the same keys, in a list that has keys.
fn correlate<'j>(schema: &Json, item: &Json, old: Option<&'j Json>) -> Option<&'j Json> {
    if schema["x-kubernetes-list-type"] != "map" {
        return None;
    }
    let keys = schema["x-kubernetes-list-map-keys"].as_array()?;
    let same = |other: &&Json| {
        keys.iter().all(|key| other.get(key.as_str().unwrap()) == item.get(key.as_str().unwrap()))
    };
    old?.as_array()?.iter().find(same)
}

fn evaluate_rule(
    schema: &Json,
    is_root: bool,
    rule: &Json,
    value: &Json,
    old: Option<&Json>,
    budget: &mut i64,
) -> Option<(String, String)> {
    let optional = rule["optionalOldSelf"] == true;
    let (environment, _) = environment(schema, is_root, optional)?;
    let declared =
        declare(schema, "selfType<n>", is_root || schema["x-kubernetes-embedded-resource"] == true)?;
    let source = rule["rule"].as_str()?;
    let program = environment.compile(source).ok()?;
    if program.references("oldSelf") && old.is_none() && !optional {
        return None;
    }
    let message_program = rule["messageExpression"].as_str().and_then(|text| environment.compile(text).ok());
    let mut activation = environment.activation();
    activation.bind_json("self", value, &declared);
    let old_value = old.and_then(|old| {
        let mut inner = environment.activation();
        inner.bind_json("self", old, &declared);
        SELF.evaluate(&inner, &mut CostBudget::default()).ok()
    });
    match (optional, old, old_value) {
        (true, _, Some(old)) => activation.bind_value("oldSelf", registry_core::cel::Value::some(old)),
        (true, _, None) => activation.bind_value("oldSelf", registry_core::cel::Value::Optional(None)),
        (false, Some(old), _) => activation.bind_json("oldSelf", old, &declared),
        (false, None, _) => {}
    }
    let mut cost = CostBudget::new(PER_CALL_LIMIT);
    let outcome = program.evaluate(&activation, &mut cost);
    *budget -= cost.spent().cast_signed();
    let shown = match rule["message"].as_str() {
        Some(message) if !message.trim().is_empty() => message.trim().to_owned(),
        _ => format!("failed rule: {}", source.trim()),
    };
    let at = rule["fieldPath"].as_str().unwrap_or_default().to_owned();
    match outcome {
        Ok(result) if result.as_bool() == Some(true) => None,
        Ok(_) => {
            let text = message_program.and_then(|program| {
                let value = program.evaluate(&activation, &mut CostBudget::default()).ok()?;
                let text = value.as_str()?.trim().to_owned();
                (!text.is_empty() && !text.contains('\n') && text.len() <= 5 * 1024).then_some(text)
            });
            Some((at, text.unwrap_or(shown)))
        }
        Err(EvaluationError::CostLimitExceeded) => {
            *budget = -1;
            Some((
                String::new(),
                format!(
                    "'{}': no further validation rules will be run due to call cost exceeds limit for rule: {source}",
                    EvaluationError::CostLimitExceeded
                ),
            ))
        }
        Err(error) if error.to_string().starts_with("no such overload") => Some((
            String::new(),
            format!(
                "'{error}': call arguments did not match a supported operator, function or macro signature for rule: {source}"
            ),
        )),
        Err(error) => Some((String::new(), format!("{error} evaluating rule: {source}"))),
    }
}

/// Costs and errors of all rules of a schema.
#[derive(Default)]
struct Findings {
    errors: BTreeSet<Finding>,
    costs: Vec<(String, u64)>,
    total: u64,
}

/// Compares which rules of a definition compile, and their costs, with the recorded ones.
pub(crate) fn check_definition(case: &Json) -> Result<(), String> {
    let schema = schema_of(case);
    let mut findings = Findings::default();
    let root = "spec.validation.openAPIV3Schema";
    compile_rules(&schema, true, root, Some(1), &mut findings);
    if findings.total > TOTAL_LIMIT {
        findings.costs.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
        for (path, cost) in findings.costs.iter().take(4) {
            if *cost > TOTAL_LIMIT / 100 {
                let message = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
                findings.errors.insert((path.clone(), message.to_owned()));
            }
        }
        let message = cost_message(
            "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema",
            findings.total,
            TOTAL_LIMIT,
        );
        findings.errors.insert((root.to_owned(), message));
    }
    let answer = &case["expect"][0];
    let expected: BTreeSet<_> = recorded(answer);
    compare(&findings.errors, &expected)
}

#[allow(clippy::cast_precision_loss, reason = "messages show few digits")]
fn cost_message(name: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let advice = "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared";
    if factor > 100.0 {
        return format!("{name} exceeds budget by factor of more than 100x ({advice})");
    }
    if factor < 1.5 {
        return format!("{name} exceeds budget by factor of {factor:.6}x ({advice})");
    }
    format!("{name} exceeds budget by factor of {factor:.1}x ({advice})")
}

/// Returns how often a schema below a list or a map can occur.
fn times(cardinality: Option<u64>, max: Option<u64>) -> Option<u64> {
    match (cardinality, max) {
        (Some(cardinality), Some(max)) => Some(cardinality.saturating_mul(max)),
        _ => None,
    }
}

fn check_message(environment: &Environment, text: &str, path: &str, findings: &mut Findings) {
    let message = match environment.compile(text) {
        Ok(program) if *program.output_type() == Type::String => return,
        Ok(_) => "messageExpression must evaluate to a string".to_owned(),
        Err(failure) => format!("messageExpression {failure}"),
    };
    findings.errors.insert((path.to_owned(), message));
}

fn compile_rules(
    schema: &Json,
    is_root: bool,
    path: &str,
    cardinality: Option<u64>,
    findings: &mut Findings,
) {
    for (index, rule) in rules(schema) {
        let rule_path = format!("{path}.x-kubernetes-validations[{index}].rule");
        let Some((environment, fallback)) = environment(schema, is_root, rule["optionalOldSelf"] == true)
        else {
            continue;
        };
        match environment.compile(rule["rule"].as_str().unwrap_or_default()) {
            Ok(program) if *program.output_type() != Type::Bool => {
                findings.errors.insert((rule_path, "cel expression must evaluate to a bool".to_owned()));
            }
            Ok(program) => {
                if let Some(text) = rule["messageExpression"].as_str() {
                    check_message(
                        &environment,
                        text,
                        &rule_path.replace(".rule", ".messageExpression"),
                        findings,
                    );
                }
                let cost = program.cost_estimate().max.saturating_mul(cardinality.unwrap_or(fallback));
                if cost > PER_RULE_LIMIT {
                    let message = cost_message("estimated rule cost", cost, PER_RULE_LIMIT);
                    findings.errors.insert((rule_path.clone(), message));
                }
                findings.total = findings.total.saturating_add(cost);
                findings.costs.push((rule_path, cost));
            }
            Err(failure @ (CompileFailure::Errors(_) | CompileFailure::Instantiation(_))) => {
                findings.errors.insert((rule_path, failure.to_string()));
            }
        }
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        compile_rules(property, false, &format!("{path}.properties[{name}]"), cardinality, findings);
    }
    if schema["additionalProperties"].is_object() {
        let max = schema["maxProperties"].as_u64();
        let below = times(cardinality, max);
        compile_rules(
            &schema["additionalProperties"],
            false,
            &format!("{path}.additionalProperties"),
            below,
            findings,
        );
    }
    if schema["items"].is_object() {
        let below = times(cardinality, schema["maxItems"].as_u64());
        compile_rules(&schema["items"], false, &format!("{path}.items"), below, findings);
    }
}
