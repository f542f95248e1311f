//! The expected results, and their comparison with those of a run.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::str::FromStr;

use super::results::{Outcome, Results, is_top};
use crate::Failure;

/// The lines at the top of the file.
const HEADER: &str = "\
# The expected results of Kubernetes' integration tests: `cargo xtask integration` compares, `--write` corrects.
# STATUS TEST REASON, by package. A subtest stands here if it does not pass and the rest of its test is judged.
#   pass           passes
#   differs        fails: the server behaves differently
#   refused        fails: the server does not start with a flag of the test, and names it
#   cannot-judge   depends on a server inside the test's process, on the environment, or on the version of the tree
#   skipped        skips itself
#   varies         both were seen, or the test was not run, for the reason that is given
";

/// More failed subtests of a test than this are written as one line about the test.
const MANY: usize = 12;

/// The reason of a difference that was only observed.
const NOT_EXAMINED: &str = "not examined";

/// The expected status of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    Pass,
    Differs,
    Refused,
    CannotJudge,
    Skipped,
    Varies,
}

/// Every status with its word in the file.
const STATUSES: [(Status, &str); 6] = [
    (Status::Pass, "pass"),
    (Status::Differs, "differs"),
    (Status::Refused, "refused"),
    (Status::CannotJudge, "cannot-judge"),
    (Status::Skipped, "skipped"),
    (Status::Varies, "varies"),
];

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Expectation {
    status: Status,
    reason: String,
}

/// The expectations of a package by test.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Package {
    tests: BTreeMap<String, Expectation>,
}

/// The whole file: packages by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Expectations {
    pub(super) packages: BTreeMap<String, Package>,
}

/// The difference between what was expected and what was seen.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Comparison {
    pub(super) better: Vec<String>,
    pub(super) worse: Vec<String>,
    /// Tests that pass and of which nothing was expected.
    pub(super) new: Vec<String>,
}

/// The relation of an outcome to an expectation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    AsExpected,
    Better,
    Worse,
}

// === impl Status ===

impl Status {
    /// Judges an outcome.
    fn judge(self, outcome: &Outcome) -> Verdict {
        match (self, outcome) {
            (Self::Varies | Self::CannotJudge, _)
            | (Self::Pass, Outcome::Passed)
            | (Self::Differs, Outcome::Failed)
            | (Self::Refused, Outcome::Refused(_))
            | (Self::Skipped, Outcome::Skipped) => Verdict::AsExpected,
            (_, Outcome::Passed) => Verdict::Better,
            _ => Verdict::Worse,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = STATUSES.iter().find(|(status, _)| status == self).map_or("", |(_, word)| *word);
        f.pad(word)
    }
}

// === impl Expectation ===

impl Expectation {
    /// The expectation that an outcome fulfils.
    fn observed(outcome: &Outcome) -> Self {
        let (status, reason) = match outcome {
            Outcome::Passed => (Status::Pass, ""),
            Outcome::Failed => (Status::Differs, NOT_EXAMINED),
            Outcome::Refused(flag) => (Status::Refused, flag.as_str()),
            Outcome::CannotJudge(reason) => (Status::CannotJudge, reason.as_str()),
            Outcome::Skipped => (Status::Skipped, ""),
        };
        Self { status, reason: reason.to_owned() }
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status)?;
        if self.reason.is_empty() { Ok(()) } else { write!(f, " ({})", self.reason) }
    }
}

// === impl Package ===

impl Package {
    /// Returns the line of a test, or else that of the nearest test that contains it.
    fn nearest(&self, name: &str) -> Option<(&str, &Expectation)> {
        let mut name = name;
        loop {
            if let Some((name, expectation)) = self.tests.get_key_value(name) {
                return Some((name.as_str(), expectation));
            }
            name = name.rsplit_once('/')?.0;
        }
    }

    /// Compares the outcomes of tests that ran, and their subtests. `significant` is those of them that count.
    pub(super) fn compare(&self, results: &Results, significant: &Results) -> Comparison {
        let mut comparison = Comparison::default();
        for (name, outcome) in significant {
            let seen = Expectation::observed(outcome);
            match self.nearest(name) {
                None if self.is_divided(name) && *outcome == Outcome::Passed => {}
                None if *outcome == Outcome::Passed => comparison.new.push(name.clone()),
                None => comparison.worse.push(format!("{name}: {seen}, and nothing was expected")),
                Some((_, expected)) => {
                    let line = format!("{name}: {seen}, expected {expected}");
                    match expected.status.judge(outcome) {
                        Verdict::AsExpected => {}
                        Verdict::Better => comparison.better.push(line),
                        Verdict::Worse => comparison.worse.push(line),
                    }
                }
            }
        }
        let subtests = self.tests.iter().filter(|(name, _)| !is_top(name));
        for (name, expected) in subtests {
            if let Some(outcome) = results.get(name)
                && expected.status.judge(outcome) == Verdict::Better
            {
                comparison.better.push(format!("{name}: passes, expected {expected}"));
            }
        }
        comparison
    }

    /// Whether subtests of the test have lines of their own.
    fn is_divided(&self, test: &str) -> bool {
        let prefix = format!("{test}/");
        self.tests.range(prefix.clone()..).next().is_some_and(|(name, _)| name.starts_with(&prefix))
    }

    /// Makes the expectations those that the outcomes fulfil; lines that they fulfil already are kept.
    pub(super) fn correct(&mut self, significant: &Results) {
        let mut kept: BTreeMap<String, Expectation> = BTreeMap::new();
        let mut observed: BTreeMap<&str, Vec<(&String, &Outcome)>> = BTreeMap::new();
        for (name, outcome) in significant {
            match self.nearest(name) {
                Some((line, expected)) if expected.status.judge(outcome) == Verdict::AsExpected => {
                    kept.insert(line.to_owned(), expected.clone());
                }
                _ => observed.entry(top(name)).or_default().push((name, outcome)),
            }
        }
        let ran: Vec<&str> = significant.keys().map(|name| top(name)).collect();
        self.tests.retain(|name, _| !ran.contains(&top(name)));
        for (test, outcomes) in observed {
            match outcomes.first() {
                Some((_, outcome)) if outcomes.len() > MANY => {
                    let mut line = Expectation::observed(outcome);
                    let _ = write!(
                        line.reason,
                        "{}{} subtests",
                        if line.reason.is_empty() { "" } else { ": " },
                        outcomes.len()
                    );
                    kept.insert(test.to_owned(), line);
                }
                _ => kept.extend(
                    outcomes.iter().map(|(name, outcome)| ((*name).clone(), Expectation::observed(outcome))),
                ),
            }
        }
        self.tests.append(&mut kept);
    }
}

/// Returns the test of a subtest.
fn top(name: &str) -> &str {
    name.split_once('/').map_or(name, |(test, _)| test)
}

// === impl Expectations ===

impl FromStr for Expectations {
    type Err = Failure;

    fn from_str(text: &str) -> Result<Self, Failure> {
        let mut expectations = Self::default();
        let mut package: Option<&mut Package> = None;
        for (number, line) in text.lines().enumerate() {
            let line = line.trim();
            let wrong = |problem: &str| Failure::from(format!("line {}: {problem}: {line}", number + 1));
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                package = Some(expectations.packages.entry(name.to_owned()).or_default());
                continue;
            }
            let (word, rest) = line.split_once(' ').ok_or_else(|| wrong("no test"))?;
            let rest = rest.trim_start();
            let (name, reason) = rest.split_once(' ').unwrap_or((rest, ""));
            let status =
                STATUSES.iter().find(|(_, known)| *known == word).ok_or_else(|| wrong("no status"))?.0;
            let expectation = Expectation { status, reason: reason.trim().to_owned() };
            let package = package.as_deref_mut().ok_or_else(|| wrong("no [package] before"))?;
            if package.tests.insert(name.to_owned(), expectation).is_some() {
                return Err(wrong("twice"));
            }
        }
        Ok(expectations)
    }
}

impl fmt::Display for Expectations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(HEADER)?;
        for (name, package) in &self.packages {
            write!(f, "\n[{name}]\n")?;
            for (test, Expectation { status, reason }) in &package.tests {
                writeln!(f, "{}", format!("{status:12} {test} {reason}").trim_end())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "
[apiserver/oidc]
pass    TestA
differs TestB/x  expires later
refused TestC --a-flag
cannot-judge TestD ModifyServerConfig
differs TestE  all of it
";

    fn results(lines: &[(&str, Outcome)]) -> Results {
        lines.iter().map(|(name, outcome)| ((*name).to_owned(), outcome.clone())).collect()
    }

    #[test]
    fn outcomes_are_compared_and_corrected() {
        let mut expectations: Expectations = FILE.parse().expect("a file");
        let package = expectations.packages.get_mut("apiserver/oidc").expect("a package");
        let seen = results(&[
            ("TestA", Outcome::Failed),
            ("TestA/new", Outcome::Failed),
            ("TestB", Outcome::Failed),
            ("TestB/x", Outcome::Passed),
            ("TestB/y", Outcome::Failed),
            ("TestC", Outcome::Passed),
            ("TestD", Outcome::Failed),
            ("TestE", Outcome::Failed),
            ("TestE/z", Outcome::Failed),
            ("TestF", Outcome::Passed),
        ]);
        let significant = super::super::results::significant(&seen);
        let comparison = package.compare(&seen, &significant);
        assert_eq!(
            comparison.worse,
            [
                "TestA/new: differs (not examined), expected pass",
                "TestB/y: differs (not examined), and nothing was expected",
            ]
        );
        assert_eq!(
            comparison.better,
            ["TestC: pass, expected refused (--a-flag)", "TestB/x: passes, expected differs (expires later)"]
        );
        assert_eq!(comparison.new, ["TestF"]);
        package.correct(&significant);
        assert_eq!(package.compare(&seen, &significant), Comparison::default());
        let written = expectations.to_string();
        let lines: Vec<&str> = written.lines().skip_while(|line| !line.starts_with('[')).collect();
        assert_eq!(
            lines,
            [
                "[apiserver/oidc]",
                "differs      TestA/new not examined",
                "differs      TestB/y not examined",
                "pass         TestC",
                "cannot-judge TestD ModifyServerConfig",
                "differs      TestE all of it",
                "pass         TestF",
            ]
        );
        assert_eq!(written.parse::<Expectations>().expect("a file"), expectations);
    }

    #[test]
    fn a_wrong_line_is_refused_with_its_number() {
        let refusal = |text: &str| text.parse::<Expectations>().expect_err("a wrong line").to_string();
        assert_eq!(refusal("\npass TestA\n"), "line 2: no [package] before: pass TestA");
        assert_eq!(refusal("[a]\npassed TestA\n"), "line 2: no status: passed TestA");
        assert_eq!(refusal("[a]\npass TestA\nskipped TestA x"), "line 3: twice: skipped TestA x");
    }

    #[test]
    fn the_file_of_the_tree_is_as_it_would_be_written() {
        let file: Expectations = include_str!("expectations.txt").parse().expect("a file");
        assert_eq!(file.to_string(), include_str!("expectations.txt"));
    }
}
