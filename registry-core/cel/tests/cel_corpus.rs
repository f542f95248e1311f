//! Evaluates recorded expressions without a server, and compares the results with those of a real kube-apiserver.
//!
//! Skipped if the recordings are not there: `ORLOP_CELCORPUS` names their directory.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test ends at what is missing")]

mod cel_corpus {
    pub(crate) mod policies;
    pub(crate) mod rules;
}

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::PathBuf;

use serde_json::Value;

/// Returns the cases of some sections; `None`, with a message, if there are no recordings.
fn cases(sections: &[&str]) -> Option<Vec<Value>> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/celcorpus");
    let directory = std::env::var_os("ORLOP_CELCORPUS").map_or_else(|| PathBuf::from(default), PathBuf::from);
    let path = directory.join("cases-open.jsonl");
    let Ok(text) = std::fs::read_to_string(&path) else {
        // Not `println!`: the harness hides the output of tests that pass.
        let text = format!("no recordings at {} (set ORLOP_CELCORPUS to where they are)", path.display());
        io::stderr().write_all(format!("SKIPPED cel_corpus: {text}\n").as_bytes()).unwrap();
        return None;
    };
    let cases = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    Some(cases.filter(|case| sections.contains(&case["section"].as_str().unwrap_or_default())).collect())
}

/// Runs the selected cases of some sections, and fails if fewer than `floor_percent` of them agree.
fn run(
    sections: &[&str],
    floor_percent: usize,
    select: impl Fn(&Value) -> bool,
    check: impl Fn(&Value) -> Result<(), String>,
) {
    let Some(mut cases) = cases(sections) else {
        return;
    };
    cases.retain(|case| select(case));
    let mut counts: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut differences = Vec::new();
    for case in &cases {
        let count = counts.entry(case["section"].as_str().unwrap().to_owned()).or_default();
        count.1 += 1;
        match check(case) {
            Ok(()) => count.0 += 1,
            Err(difference) => differences.push(format!("{} {}\n  {difference}", case["id"], case["title"])),
        }
    }
    let agree: usize = counts.values().map(|(agree, _)| agree).sum();
    println!("{counts:?}: {agree} of {} agree\n{}", cases.len(), differences.join("\n"));
    assert!(agree * 100 >= cases.len() * floor_percent, "only {agree} of {} cases agree", cases.len());
}

#[test]
fn policies_evaluate_as_recorded() {
    run(&["cel-lib"], 100, |_| true, cel_corpus::policies::check);
}

#[test]
fn policies_deny_as_recorded() {
    run(&["vap"], 100, cel_corpus::policies::depends_on_expressions, cel_corpus::policies::check);
}

#[test]
fn rules_of_custom_resources_evaluate_as_recorded() {
    let sections = ["cr-cel", "cr-cel2", "cr-message", "cr-ratchet"];
    run(&sections, 100, cel_corpus::rules::depends_on_rules, cel_corpus::rules::check_objects);
}

#[test]
fn rules_of_definitions_compile_and_cost_as_recorded() {
    let sections = ["crd-compile", "crd-cost", "crd-schema", "crd-object"];
    run(&sections, 100, cel_corpus::rules::depends_on_rules, cel_corpus::rules::check_definition);
}
