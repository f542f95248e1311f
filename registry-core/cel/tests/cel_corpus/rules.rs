//! Validation rules in the schema of a custom resource: their results for objects, and the checks of the rules themselves.

use std::collections::BTreeSet;

use registry_cel::{DefinitionCheck, RuleBudget, ValidationRules};
use registry_meta::validation::{ErrorList, FieldError, FieldPath};
use serde_json::Value as Json;

/// A reason, a field and a message.
type Finding = (String, String, String);

fn schema_of(case: &Json) -> &Json {
    &case["steps"][0]["b"]["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
}

/// Returns the causes of a response.
fn recorded(answer: &Json) -> BTreeSet<Finding> {
    let text = |value: &Json| value.as_str().unwrap().to_owned();
    let causes = answer["causes"].as_array().into_iter().flatten();
    causes.map(|cause| (text(&cause[0]), text(&cause[1]), text(&cause[2]))).collect()
}

/// Returns errors as causes, with the number in generated type names left out.
fn findings(errors: &ErrorList) -> BTreeSet<Finding> {
    let finding = |error: &FieldError| {
        let mut message = error.body();
        if let Some(start) = message.find("selfType") {
            let digits: String = message[start + 8..].chars().take_while(char::is_ascii_digit).collect();
            message = message.replace(&format!("selfType{digits}"), "selfType<n>");
        }
        (error.kind.reason().to_owned(), error.field.to_string(), message)
    };
    errors.0.iter().map(finding).collect()
}

fn compare<T: Ord + std::fmt::Debug>(found: &BTreeSet<T>, recorded: &BTreeSet<T>) -> Result<(), String> {
    if found == recorded {
        return Ok(());
    }
    let missing: Vec<_> = recorded.difference(found).collect();
    let surplus: Vec<_> = found.difference(recorded).collect();
    Err(format!("missing {missing:?}\n  surplus {surplus:?}"))
}

/// Whether the answer of a case depends on rules. Rules are not evaluated for objects that their schema does not allow.
pub(crate) fn depends_on_rules(case: &Json) -> bool {
    let answers = case["expect"].as_array().unwrap();
    let last = recorded(answers.last().unwrap());
    let is_created = answers[0]["code"] == 201;
    schema_of(case).to_string().contains("x-kubernetes-validations")
        && !last.iter().any(|(_, _, message)| is_created && message.contains("rules were not checked"))
}

/// Compares the results of the rules for an object with the recorded ones.
pub(crate) fn check_objects(case: &Json) -> Result<(), String> {
    let expected = case["expect"].as_array().unwrap();
    if expected[0]["code"] != 201 {
        return check_definition(case);
    }
    let steps = case["steps"].as_array().unwrap();
    let objects: Vec<_> = steps.iter().filter(|step| step.get("b").is_some()).collect();
    let last = objects.last().unwrap();
    let old = (last["m"] == "PUT").then(|| &objects[objects.len() - 2]["b"]);
    let mut errors = ErrorList::default();
    let mut ratcheted = ErrorList::default();
    if let Some(rules) = ValidationRules::compile(schema_of(case), true) {
        let mut budget = RuleBudget::default();
        ratcheted = rules.validate(&FieldPath::root(), &last["b"], old, &mut budget, &mut errors);
    }
    let answer = expected.last().unwrap();
    compare(&findings(&errors), &recorded(answer))?;
    let warnings = answer["warnings"].as_array().into_iter().flatten();
    let warnings = warnings.map(|warning| warning.as_str().unwrap().to_owned());
    let warnings = warnings.filter(|warning| !warning.starts_with("unknown field")).collect();
    compare(&ratcheted.0.iter().map(ToString::to_string).collect(), &warnings)
}

/// Compares the errors of the rules of a definition with the recorded ones. Recorded errors of the schema are given to the
/// check, as those who check the schema do.
pub(crate) fn check_definition(case: &Json) -> Result<(), String> {
    let expected = recorded(&case["expect"][0]);
    let (of_rules, others): (BTreeSet<_>, BTreeSet<_>) =
        expected.into_iter().partition(|(_, field, message)| {
            field.contains("x-kubernetes-validations[") || message.contains("estimated rule cost total")
        });
    let path = FieldPath::new("spec.validation.openAPIV3Schema");
    let schema_errors =
        others.iter().map(|(_, field, _)| FieldError::forbidden(FieldPath::new(field), "")).collect();
    let mut check = DefinitionCheck::default().with_schema_errors(&schema_errors);
    if others.iter().any(|(_, _, message)| message.contains("structural")) {
        check = check.without_expressions();
    }
    let errors = check.check(schema_of(case), &path, &registry_meta::budget::Budget::default());
    compare(&findings(&errors), &of_rules)
}
