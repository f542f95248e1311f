//! Recorded cases of custom resources, through the store, compared with the answers of a real kube-apiserver.
//!
//! Skipped if the recordings are not there: `ORLOP_CELCORPUS` names their directory.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::PathBuf;

use registry_core::api::StatusError;
use registry_core::context::Budget;
use serde_json::Value;

use super::Fixture;

/// The answer of a server to an object.
#[derive(Debug, PartialEq)]
struct Answer {
    is_accepted: bool,
    causes: BTreeSet<(String, String, String)>,
    warnings: BTreeSet<String>,
    /// The object without its metadata.
    object: Option<Value>,
}

/// Returns the recorded cases; `None`, with a message, if there are none.
fn cases() -> Option<Vec<Value>> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/celcorpus");
    let directory = std::env::var_os("ORLOP_CELCORPUS").map_or_else(|| PathBuf::from(default), PathBuf::from);
    let path = directory.join("cases-open.jsonl");
    let Ok(text) = std::fs::read_to_string(&path) else {
        // Not `println!`: the harness hides the output of tests that pass.
        let text = format!("no recordings at {} (set ORLOP_CELCORPUS to where they are)", path.display());
        io::stderr()
            .write_all(format!("SKIPPED custom_resources_are_answered_as_recorded: {text}\n").as_bytes())
            .unwrap();
        return None;
    };
    let cases = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    Some(
        cases
            .filter(|case| case["section"].as_str().is_some_and(|section| section.starts_with("cr-")))
            .collect(),
    )
}

fn without_metadata(mut object: Value) -> Value {
    object.as_object_mut().unwrap().remove("metadata");
    object
}

fn recorded(expected: &Value) -> Answer {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let list = |key: &str| expected[key].as_array().cloned().unwrap_or_default();
    Answer {
        is_accepted: expected["code"].as_u64().unwrap() < 300,
        causes: list("causes")
            .iter()
            .map(|cause| (text(&cause[0]), text(&cause[1]), text(&cause[2])))
            .collect(),
        // Those about unknown fields are the decoder's.
        warnings: list("warnings")
            .iter()
            .map(text)
            .filter(|text| !text.starts_with("unknown field"))
            .collect(),
        object: expected.get("object").cloned().map(without_metadata),
    }
}

fn answer(result: Result<Value, StatusError>, warnings: Vec<String>) -> Answer {
    let warnings = warnings.into_iter().collect();
    match result {
        Ok(object) => {
            let object = Some(without_metadata(object));
            Answer { is_accepted: true, causes: BTreeSet::new(), warnings, object }
        }
        Err(error) => {
            let causes = error.details.map(|details| details.causes).unwrap_or_default();
            let causes = causes.into_iter().map(|cause| (cause.reason, cause.field, cause.message)).collect();
            Answer { is_accepted: false, causes, warnings, object: None }
        }
    }
}

/// Compares the answers of a case; returns the number of compared requests.
async fn check(case: &Value) -> Result<usize, String> {
    let steps = case["steps"].as_array().unwrap().iter().filter(|step| step.get("m").is_some());
    let mut steps = steps.zip(case["expect"].as_array().unwrap());
    let (created, _) = steps.next().unwrap();
    let mut definition = created["b"].clone();
    definition["status"]["acceptedNames"] = definition["spec"]["names"].clone();
    let things = Fixture::new(&definition);
    let mut compared = 0;
    for (step, expected) in steps {
        let version = step["p"].as_str().unwrap().split('/').nth(3).unwrap();
        // A refusal by the decoder is not the store's.
        if step.get("b").is_none() || expected["code"] == 400 {
            continue;
        }
        let context = things.context(version);
        let mut body = step["b"].clone();
        let schema = things.path(version, None).resource.schema();
        schema.conform(&mut body, &mut Vec::new()).map_err(|error| error.to_string())?;
        schema.apply_defaults(&mut body, &Budget::unlimited()).unwrap();
        let result = if step["m"] == "PUT" {
            let name = body["metadata"]["name"].as_str().unwrap().to_owned();
            let replace = |object: &mut Value| {
                let mut new = body.clone();
                for field in ["resourceVersion", "namespace"] {
                    new["metadata"][field] = object["metadata"][field].clone();
                }
                *object = new;
            };
            things.change_in(&context, (version, None), &name, replace).await
        } else {
            things.create_in(&context, version, &body).await
        };
        let found = answer(result, context.take_warnings());
        let mut expected = recorded(expected);
        if expected.object.is_none() && expected.is_accepted {
            expected.object.clone_from(&found.object);
        }
        if found != expected {
            return Err(format!("found    {found:?}\n  recorded {expected:?}"));
        }
        compared += 1;
    }
    Ok(compared)
}

#[tokio::test]
async fn custom_resources_are_answered_as_recorded() {
    let Some(cases) = cases() else { return };
    let mut compared = 0;
    let mut differences = Vec::new();
    for case in &cases {
        match check(case).await {
            Ok(requests) => compared += requests,
            Err(difference) => differences.push(format!("{} {}\n  {difference}", case["id"], case["title"])),
        }
    }
    println!(
        "{} of {} cases agree, {compared} requests\n{}",
        cases.len() - differences.len(),
        cases.len(),
        differences.join("\n")
    );
    assert!(differences.is_empty(), "{} of {} cases differ", differences.len(), cases.len());
}
