//! Normalises and validates recorded custom resources without a server, and compares the results with those of a real
//! kube-apiserver.
//!
//! Skipped if the recordings are not there: `ORLOP_CELCORPUS` names their directory.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test ends at what is missing")]

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::PathBuf;

use registry_meta::budget::Budget;
use registry_meta::{ErrorList, FieldPath, GroupVersionKind};
use registry_schema::{FieldIssue, Schema};
use serde_json::{Value, json};

const SECTIONS: [&str; 6] =
    ["cr-validate", "cr-default", "cr-prune", "cr-listtype", "cr-objectmeta", "cr-ratchet"];

const KIND: GroupVersionKind = GroupVersionKind { group: "corpus.example.com", version: "v1", kind: "Thing" };

/// The reason, field and message of an error.
type Cause = (String, String, String);

/// The answer of a server to an object.
#[derive(Debug, Default, PartialEq)]
struct Answer {
    /// The message of an object that cannot be decoded.
    refusal: Option<String>,
    causes: BTreeSet<Cause>,
    warnings: BTreeSet<String>,
    /// The object without its metadata, if it is valid.
    object: Option<Value>,
}

/// Returns the recorded cases; `None`, with a message, if there are none.
fn cases() -> Option<Vec<Value>> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/celcorpus");
    let directory = std::env::var_os("ORLOP_CELCORPUS").map_or_else(|| PathBuf::from(default), PathBuf::from);
    let path = directory.join("cases-open.jsonl");
    let Ok(text) = std::fs::read_to_string(&path) else {
        // Not `println!`: the harness hides the output of tests that pass.
        let text = format!("no recordings at {} (set ORLOP_CELCORPUS to where they are)", path.display());
        io::stderr()
            .write_all(format!("SKIPPED custom_resources_are_handled_as_recorded: {text}\n").as_bytes())
            .unwrap();
        return None;
    };
    let cases = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    Some(cases.filter(|case| SECTIONS.contains(&case["section"].as_str().unwrap_or_default())).collect())
}

/// Returns the definition's schema of the version that a step uses.
fn schema_json<'c>(definition: &'c Value, step: &Value) -> &'c Value {
    let version = step["p"].as_str().unwrap().split('/').nth(3).unwrap();
    let versions = definition["spec"]["versions"].as_array().unwrap();
    let found = versions.iter().find(|candidate| candidate["name"] == version).unwrap();
    &found["schema"]["openAPIV3Schema"]
}

/// Handles an object as the server does.
fn answer(schema: &Schema, new: &Value, old: Option<&Value>) -> Answer {
    let mut answer = Answer::default();
    let mut value = new.clone();
    let mut issues = Vec::new();
    if let Err(error) = schema.conform(&mut value, &mut issues) {
        answer.refusal =
            Some(format!("Thing in version \"v1\" cannot be handled as a Thing: {}", error.text));
        return answer;
    }
    answer.warnings.extend(issues.iter().map(FieldIssue::to_string));
    schema.apply_defaults(&mut value, &Budget::unlimited()).unwrap();
    let old = old.map(|old| {
        let mut old = old.clone();
        schema.conform(&mut old, &mut Vec::new()).unwrap();
        schema.apply_defaults(&mut old, &Budget::unlimited()).unwrap();
        old
    });
    let structural = schema.structural().unwrap();
    let root = FieldPath::root();
    let mut errors = ErrorList::default();
    match &old {
        Some(old) => structural.validate_update(&root, &value, old, &Budget::default(), &mut errors),
        None => structural.validate(&root, &value, &Budget::default(), &mut errors),
    }
    structural.validate_embedded(&root, &value, &mut errors);
    structural.validate_lists(&root, &value, old.as_ref(), &mut errors);
    let causes = errors.0.iter();
    answer.causes =
        causes.map(|error| (error.kind.reason().to_owned(), error.field.to_string(), error.body())).collect();
    if answer.causes.is_empty() {
        value.as_object_mut().unwrap().remove("metadata");
        answer.object = Some(value);
    }
    answer
}

/// Returns the recorded answer in the same form.
fn recorded(expected: &Value) -> Answer {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let list = |key: &str| expected[key].as_array().cloned().unwrap_or_default();
    Answer {
        refusal: (expected["code"] == 400).then(|| text(&expected["message"])),
        causes: list("causes")
            .iter()
            .map(|cause| (text(&cause[0]), text(&cause[1]), text(&cause[2])))
            .collect(),
        warnings: list("warnings").iter().map(text).collect(),
        object: expected.get("object").cloned().map(|mut object| {
            object.as_object_mut().unwrap().remove("metadata");
            object
        }),
    }
}

/// Compares the answers to the last step of a case.
fn check(case: &Value) -> Result<(), String> {
    let steps = case["steps"].as_array().unwrap();
    // A refused definition is the whole case.
    if case["expect"][0]["code"] != 201 {
        return Ok(());
    }
    let objects: Vec<&Value> = steps.iter().skip(1).filter(|step| step.get("b").is_some()).collect();
    let Some(step) = objects.last() else { return Ok(()) };
    let json = schema_json(&steps[0]["b"], step);
    let schema = Schema::for_custom_resource(json, false, KIND);
    let old = (objects.len() > 1).then(|| &objects[0]["b"]);
    let mut expected = recorded(case["expect"].as_array().unwrap().last().unwrap());
    let mut found = answer(&schema, &step["b"], old);
    // Rules in CEL are not checked here.
    if json.to_string().contains("x-kubernetes-validations") {
        expected.warnings.retain(|warning| warning.starts_with("unknown field"));
        expected.causes.retain(|cause| cause.2.contains("in body") || cause.2.contains("must validate"));
        found.object = expected.object.as_ref().and(found.object);
    }
    if found == expected { Ok(()) } else { Err(format!("found    {found:?}\n  recorded {expected:?}")) }
}

#[test]
fn custom_resources_are_handled_as_recorded() {
    let Some(cases) = cases() else { return };
    let mut differences = Vec::new();
    for case in &cases {
        if let Err(difference) = check(case) {
            differences.push(format!("{} {}\n  {difference}", case["id"], case["title"]));
        }
    }
    println!("{} of {} agree\n{}", cases.len() - differences.len(), cases.len(), differences.join("\n"));
    assert!(differences.is_empty(), "{} of {} cases differ", differences.len(), cases.len());
}

#[test]
fn an_empty_schema_keeps_only_the_metadata() {
    let schema = Schema::for_custom_resource(&json!({"type": "object"}), false, KIND);
    let object = json!({"kind": "Thing", "metadata": {"name": "a"}, "spec": {"b": 1}});
    let found = answer(&schema, &object, None);
    assert_eq!(found.object, Some(json!({"kind": "Thing"})));
    assert_eq!(found.warnings, BTreeSet::from(["unknown field \"spec\"".to_owned()]));
}
