//! The results of tests, from the events of `go tool test2json`.

use std::collections::BTreeMap;

use serde::Deserialize;

/// The mark of a server that did not start with the flags of a test.
const REFUSED: &str = "orlop: refused: ";
/// The mark of a test that depends on a server inside its process.
const CANNOT_JUDGE: &str = "orlop: cannot judge: ";

/// The outcome of a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    Failed,
    /// The server refused to start with the test's flags; the flag.
    Refused(String),
    /// The test depends on a server inside its process; the part of it.
    CannotJudge(String),
    /// The test skipped itself.
    Skipped,
}

/// The outcomes of tests and subtests by name.
pub(super) type Results = BTreeMap<String, Outcome>;

/// An event, as in <https://pkg.go.dev/cmd/test2json>.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Event {
    action: String,
    test: Option<String>,
    output: Option<String>,
}

/// The state of a test while events are read.
#[derive(Default)]
struct Test {
    outcome: Option<Outcome>,
    /// The text after the mark that its output has.
    refused: Option<String>,
    cannot_judge: Option<String>,
}

/// Returns the results and the output. A test that has begun and not ended has failed.
pub(super) fn read(events: &str) -> (Results, String) {
    let mut tests: BTreeMap<String, Test> = BTreeMap::new();
    let mut output = String::new();
    for line in events.lines() {
        let Ok(event) = serde_json::from_str::<Event>(line) else {
            output.push_str(line);
            output.push('\n');
            continue;
        };
        output.push_str(event.output.as_deref().unwrap_or_default());
        let Some(name) = event.test else { continue };
        let test = tests.entry(name).or_default();
        if let Some(text) = &event.output {
            let marked = |mark| text.split_once(mark).map(|(_, rest)| rest.trim().to_owned());
            test.refused = test.refused.take().or_else(|| marked(REFUSED));
            test.cannot_judge = test.cannot_judge.take().or_else(|| marked(CANNOT_JUDGE));
        }
        match event.action.as_str() {
            "pass" => test.outcome = Some(Outcome::Passed),
            "fail" => test.outcome = Some(Outcome::Failed),
            "skip" => test.outcome = Some(Outcome::Skipped),
            _ => {}
        }
    }
    let mut results: Results = tests.into_iter().map(|(name, test)| (name, test.outcome())).collect();
    explain_parents(&mut results);
    (results, output)
}

/// Makes a test refused if all its failed subtests are.
fn explain_parents(results: &mut Results) {
    let parents: Vec<String> = results.keys().rev().cloned().collect();
    for parent in parents {
        if results.get(&parent) != Some(&Outcome::Failed) {
            continue;
        }
        let failed: Vec<&Outcome> = failed_below(results, &parent).map(|(_, outcome)| outcome).collect();
        let refused = failed.iter().all(|outcome| matches!(outcome, Outcome::Refused(_)));
        if let Some(first) = failed.first().filter(|_| refused) {
            let outcome = (*first).clone();
            results.insert(parent, outcome);
        }
    }
}

/// Returns the subtests below a test that have failed or were refused.
fn failed_below<'a>(results: &'a Results, parent: &str) -> impl Iterator<Item = (&'a String, &'a Outcome)> {
    let prefix = format!("{parent}/");
    let below = results.range(prefix.clone()..).take_while(move |(name, _)| name.starts_with(&prefix));
    below.filter(|(_, outcome)| matches!(outcome, Outcome::Failed | Outcome::Refused(_)))
}

/// Returns what a whole run says: its tests, but in the place of failed ones their innermost failed subtests.
pub(super) fn significant(results: &Results) -> Results {
    let is_failure = |outcome: &Outcome| matches!(outcome, Outcome::Failed | Outcome::Refused(_));
    let selected = results.iter().filter(|(name, outcome)| {
        let innermost = is_failure(outcome) && failed_below(results, name).next().is_none();
        innermost || (!is_failure(outcome) && is_top(name))
    });
    selected.map(|(name, outcome)| (name.clone(), outcome.clone())).collect()
}

/// Whether a name is that of a test, not of a subtest.
pub(super) fn is_top(name: &str) -> bool {
    !name.contains('/')
}

/// Returns the flag that a server's error is about, with its value if the value is refused.
fn flag(error: &str) -> String {
    let invalid = error.strip_prefix("invalid value '").and_then(|rest| {
        let (value, rest) = rest.split_once("' for '")?;
        let flag = rest.split([' ', '\'', '[']).next()?;
        Some(format!("{flag}={value}"))
    });
    let named = || error.split([' ', ':', ',', '\'']).find(|word| word.starts_with("--")).map(str::to_owned);
    let unsupported = || {
        let subject = error.split_once(" is not supported")?.0;
        subject.rsplit(' ').next().map(str::to_owned)
    };
    invalid.or_else(named).or_else(unsupported).unwrap_or_else(|| error.to_owned())
}

// === impl Outcome ===

impl Outcome {
    /// Returns its word in the progress and the tables.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Refused(_) => "refused",
            Self::CannotJudge(_) => "cannot judge",
            Self::Skipped => "skipped",
        }
    }
}

// === impl Test ===

impl Test {
    fn outcome(self) -> Outcome {
        match (self.outcome.unwrap_or(Outcome::Failed), self.refused, self.cannot_judge) {
            (Outcome::Failed, Some(error), _) => Outcome::Refused(flag(&error)),
            (Outcome::Skipped, _, Some(reason)) => Outcome::CannotJudge(reason),
            (outcome, _, _) => outcome,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: &str = r#"{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"pass","Package":"p","Test":"TestA/one","Elapsed":0.1}
{"Action":"fail","Package":"p","Test":"TestA/two","Elapsed":0.1}
{"Action":"fail","Package":"p","Test":"TestA","Elapsed":0.2}
{"Action":"output","Package":"p","Test":"TestB/x","Output":"    a.go:1: failed: orlop: refused: --egress-selector-config-file is not supported: the server\n"}
{"Action":"fail","Package":"p","Test":"TestB/x","Elapsed":0}
{"Action":"fail","Package":"p","Test":"TestB","Elapsed":0}
{"Action":"output","Package":"p","Test":"TestC","Output":"    a.go:2: orlop: cannot judge: ModifyServerConfig\n"}
{"Action":"skip","Package":"p","Test":"TestC","Elapsed":0}
{"Action":"skip","Package":"p","Test":"TestD","Elapsed":0}
panic: test timed out
{"Action":"run","Package":"p","Test":"TestE"}
"#;

    #[test]
    fn events_are_read() {
        let (results, output) = read(EVENTS);
        let refused = || Outcome::Refused("--egress-selector-config-file".to_owned());
        let expected = [
            ("TestA", Outcome::Failed),
            ("TestA/one", Outcome::Passed),
            ("TestA/two", Outcome::Failed),
            ("TestB", refused()),
            ("TestB/x", refused()),
            ("TestC", Outcome::CannotJudge("ModifyServerConfig".to_owned())),
            ("TestD", Outcome::Skipped),
            ("TestE", Outcome::Failed),
        ];
        assert_eq!(results, expected.map(|(name, outcome)| (name.to_owned(), outcome)).into());
        assert!(output.contains("panic: test timed out\n"), "{output}");
        let names: Vec<String> = significant(&results).into_keys().collect();
        assert_eq!(names, ["TestA/two", "TestB/x", "TestC", "TestD", "TestE"]);
    }

    #[test]
    fn the_refused_flag_is_named() {
        let gate = "invalid value 'Sharded=true' for '--feature-gates <FEATURE=BOOL,…>': Sharded=true is not supported";
        assert_eq!(flag(gate), "--feature-gates=Sharded=true");
        let gate = "apiserver: Sharded=true is not supported: the feature is not implemented";
        assert_eq!(flag(gate), "Sharded=true");
        assert_eq!(flag("unexpected argument '--apiserver-count' found"), "--apiserver-count");
        assert_eq!(flag("cannot read the file"), "cannot read the file");
    }
}
