//! Compares answers with those recorded of a real kube-apiserver.
//!
//! Skipped if the recordings are not there: `ORLOP_CELCORPUS`, `ORLOP_CORPUS` and `ORLOP_GOLDEN` name their directories.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::PathBuf;

use registry_core::api::{DryRun, StatusError};
use serde_json::{Value, json};

use super::bench::{Bench, Reply};

/// Reads a file of cases, one a line; `None`, with a message, if it is not there.
fn read(variable: &str, default: &str, file: &str) -> Option<Vec<Value>> {
    let default = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared").join(default);
    let path = std::env::var_os(variable).map_or(default, PathBuf::from).join(file);
    let Ok(text) = std::fs::read_to_string(&path) else {
        // Not `println!`: the harness hides the output of tests that pass.
        let text = format!("SKIPPED {file}: nothing at {} (set {variable})\n", path.display());
        io::stderr().write_all(text.as_bytes()).unwrap();
        return None;
    };
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

/// The count of agreeing cases, and the differences.
#[derive(Default)]
struct Tally {
    counts: BTreeMap<String, (usize, usize)>,
    differences: Vec<String>,
}

impl Tally {
    fn add(&mut self, group: &str, id: &str, outcome: Result<(), String>) {
        let count = self.counts.entry(group.to_owned()).or_default();
        count.1 += 1;
        match outcome {
            Ok(()) => count.0 += 1,
            Err(difference) => self.differences.push(format!("{group} {id}\n  {difference}")),
        }
    }

    fn check(&self, floor_percent: usize) {
        let agree: usize = self.counts.values().map(|(agree, _)| agree).sum();
        let all: usize = self.counts.values().map(|(_, all)| all).sum();
        println!("{}\n{:?}: {agree} of {all} agree", self.differences.join("\n"), self.counts);
        assert!(agree * 100 >= all * floor_percent, "only {agree} of {all} cases agree");
    }
}

// === the answers ===

fn causes(error: &StatusError) -> Vec<[String; 3]> {
    let details = error.details.as_ref().map(|details| details.causes.clone()).unwrap_or_default();
    let mut causes: Vec<_> =
        details.into_iter().map(|cause| [cause.reason, cause.field, cause.message]).collect();
    causes.sort();
    causes
}

/// Drops nulls, and what differs from server to server.
fn comparable(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let dropped = ["uid", "creationTimestamp", "resourceVersion", "managedFields"];
            let kept =
                map.iter().filter(|(name, value)| !value.is_null() && !dropped.contains(&name.as_str()));
            kept.map(|(name, value)| (name.clone(), comparable(value))).collect()
        }
        Value::Array(list) => list.iter().map(comparable).collect(),
        other => other.clone(),
    }
}

fn compare(expect: &Value, reply: Reply, pick: &[Value]) -> Result<(), String> {
    let code = expect["code"].as_u64().unwrap();
    let wanted = expect.get("causes").cloned().unwrap_or_else(|| json!([]));
    let mut wanted: Vec<[String; 3]> = serde_json::from_value(wanted).unwrap();
    wanted.sort();
    match reply.result {
        Err(error) => {
            let given = causes(&error);
            if u64::from(error.code) != code || given != wanted {
                return Err(format!("wanted {code} {wanted:#?}\n  given {} {given:#?}", error.code));
            }
        }
        Ok(object) if code < 300 => {
            let given = object.into_value();
            let given = if pick.is_empty() {
                given
            } else {
                let parts = pick.iter().map(|path| {
                    let steps = path.as_array().unwrap().iter();
                    steps.fold(&given, |value, step| &value[step.as_str().unwrap()]).clone()
                });
                parts.collect()
            };
            let wanted = expect.get("object").map(comparable);
            if wanted.as_ref().is_some_and(|wanted| *wanted != comparable(&given)) {
                return Err(format!("wanted {}\n  given {}", wanted.unwrap(), comparable(&given)));
            }
            let mut warnings = reply.warnings;
            warnings.sort();
            let wanted = expect.get("warnings").cloned().unwrap_or_else(|| json!([]));
            if expect.get("object").is_some() && wanted != json!(warnings) {
                return Err(format!("wanted warnings {wanted}, given {warnings:?}"));
            }
        }
        Ok(_) => return Err(format!("accepted, wanted {expect:#}")),
    }
    Ok(())
}

// === the cases ===

#[tokio::test]
async fn definitions_are_validated_as_recorded() {
    let Some(cases) = read("ORLOP_CELCORPUS", "celcorpus", "cases-open.jsonl") else { return };
    let mut tally = Tally::default();
    for case in &cases {
        let section = case["section"].as_str().unwrap();
        if ["crd-schema", "crd-object", "crd-update", "crd-compile", "crd-cost"].contains(&section) {
            tally.add(section, case["id"].as_str().unwrap(), run_steps(case).await);
        }
    }
    tally.check(100);
}

async fn run_steps(case: &Value) -> Result<(), String> {
    let mut bench = Bench::new();
    let mut expected = case["expect"].as_array().unwrap().iter();
    for step in case["steps"].as_array().unwrap() {
        if step.get("wait").is_some() {
            let name = step["p"].as_str().unwrap().rsplit('/').next().unwrap();
            bench.settle(name).await;
            continue;
        }
        let path = step["p"].as_str().unwrap();
        let dry_run = if path.contains("dryRun=All") { DryRun::All } else { DryRun::Off };
        if !path.starts_with("/apis/apiextensions.k8s.io/") {
            return Ok(());
        }
        let reply = match step["m"].as_str().unwrap() {
            "POST" => bench.post(&step["b"], dry_run).await,
            "PUT" => bench.put(&step["b"], dry_run).await,
            other => return Err(format!("unknown method {other}")),
        };
        let expect = expected.next().unwrap();
        compare(expect, reply, step["pick"].as_array().map(Vec::as_slice).unwrap_or_default())?;
        if step["must"] == true && expect["code"].as_u64() >= Some(300) {
            return Ok(());
        }
    }
    Ok(())
}

#[tokio::test]
async fn single_requests_are_answered_as_recorded() {
    let Some(cases) = read("ORLOP_CORPUS", "corpus", "cases-open.jsonl") else { return };
    let mut tally = Tally::default();
    for case in cases.iter().filter(|case| case["kind"] == "CustomResourceDefinition") {
        tally.add(case["verb"].as_str().unwrap(), case["id"].as_str().unwrap(), run_request(case).await);
    }
    tally.check(100);
}

async fn run_request(case: &Value) -> Result<(), String> {
    // The warnings were not recorded.
    let quiet = |reply: Reply| Reply { warnings: Vec::new(), ..reply };
    let mut bench = Bench::new();
    if case["verb"] == "create" {
        return compare(&case["expect"], quiet(bench.post(&case["body"], DryRun::All).await), &[]);
    }
    let name = case["old"]["metadata"]["name"].as_str().unwrap();
    bench.post(&case["old"], DryRun::Off).await.result.map_err(|error| error.message)?;
    bench.settle(name).await;
    for prepared in case["prepare"].as_array().into_iter().flatten() {
        bench.put_status(&prepared[1]).await;
    }
    let mut expect = case["expect"].clone();
    if let Some(object) = expect.get_mut("object") {
        *object = json!([object["spec"]]);
    }
    compare(&expect, quiet(bench.put(&case["body"], DryRun::All).await), &[json!(["spec"])])
}

#[tokio::test]
async fn invalid_definitions_are_refused_as_recorded() {
    let Some(cases) = read("ORLOP_GOLDEN", "golden", "open.jsonl") else { return };
    let mut tally = Tally::default();
    for case in cases.iter().filter(|case| case["area"] == "crd-invalid") {
        tally.add("crd-invalid", case["id"].as_str().unwrap(), run_golden(case).await);
    }
    tally.check(100);
}

async fn run_golden(case: &Value) -> Result<(), String> {
    let mut bench = Bench::new();
    let text = case["steps"].to_string().replace("${RND}", "abcdefgh");
    let steps: Vec<Value> = serde_json::from_str(&text).unwrap();
    for step in &steps {
        if step["method"] != "POST" {
            continue;
        }
        let reply = bench.post(&step["body"], DryRun::Off).await;
        let expect = &step["expect"];
        match reply.result {
            Ok(object) if step["setup"] == true || expect["status"] == 201 => {
                bench.settle(object.name()).await;
            }
            Err(error) if expect["status"] == error.code => {
                let wanted = expect["body"]["message"].as_str().unwrap_or_default();
                if wanted != error.message {
                    return Err(format!("wanted {wanted}\n  given {}", error.message));
                }
            }
            Ok(_) => return Err(format!("accepted, wanted {expect:#}")),
            Err(error) => return Err(format!("wanted {expect:#}\n  given {}", error.message)),
        }
    }
    Ok(())
}
