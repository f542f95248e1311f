//! `cargo xtask test`: runs all tests, with the programs they need.

use std::process::{Command, Stdio};

use clap::Args;

use crate::Failure;
use crate::provision::Programs;

/// Options of `cargo xtask test`.
#[derive(Debug, Args)]
#[command(after_help = "EXAMPLES:\n  \
    cargo xtask test                         all tests\n  \
    cargo xtask test configmap               tests whose name contains `configmap`, of all packages\n  \
    cargo xtask test configmap --test rules  the same, but only `tests/rules` is built")]
pub(crate) struct Options {
    /// Only tests whose name contains one of these; it is an error if there are none.
    filters: Vec<String>,
    /// Build and run only the integration tests of this name.
    #[arg(long = "test", value_name = "NAME")]
    targets: Vec<String>,
    /// Build and run only the unit tests of libraries, beside those of `--test`.
    #[arg(long)]
    lib: bool,
}

/// Finds or installs the programs that tests need, then runs unit and integration tests, then the documentation's
/// examples.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let programs = Programs::provide()?;
    if !programs.nextest && !options.is_everything() {
        list(options)?;
    }
    let mut tests = Command::new("cargo");
    tests.args(if programs.nextest {
        options.arguments_of_nextest()
    } else {
        options.arguments_of_cargo(&[])
    });
    tests.env("ORLOP_ETCD", &programs.etcd);
    tests.env("ORLOP_KUBECTL", &programs.kubectl);
    tests.env("ORLOP_STRACE", &programs.strace);
    tests.env("ORLOP_CHROMIUM", programs.chromium.unwrap_or_default());
    succeed("the tests", &mut tests)?;
    if options.is_everything() {
        succeed(
            "the documentation's examples",
            Command::new("cargo").args(["test", "--workspace", "--doc", "--quiet"]),
        )?;
    }
    Ok(())
}

/// Lists the tests that match: `cargo test` alone succeeds if there are none.
fn list(options: &Options) -> Result<(), Failure> {
    let mut command = Command::new("cargo");
    command.args(options.arguments_of_cargo(&["--list"])).stderr(Stdio::inherit());
    let listed = command.output().map_err(|error| format!("cannot list the tests: {error}"))?;
    if !listed.status.success() {
        return Err("the tests cannot be listed".into());
    }
    let text = String::from_utf8_lossy(&listed.stdout);
    let names = listed_tests(&text);
    if names.is_empty() {
        return Err(format!("no test matches {}", options.filters.join(" or ")).into());
    }
    println!("{} tests match:\n  {}", names.len(), names.join("\n  "));
    Ok(())
}

/// Returns the names in the output of `--list`.
fn listed_tests(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_suffix(": test")).collect()
}

fn succeed(what: &str, command: &mut Command) -> Result<(), Failure> {
    let status = command.status().map_err(|error| format!("cannot run {what}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{what} failed").into()) }
}

// === impl Options ===

impl Options {
    fn is_everything(&self) -> bool {
        self.filters.is_empty() && self.targets.is_empty() && !self.lib
    }

    /// Returns the arguments that select what is built. Always `--workspace`: with another selection of packages, their
    /// dependencies have other features, and are compiled again.
    fn selection(&self) -> Vec<String> {
        let mut arguments = vec!["--workspace".to_owned()];
        arguments.extend(self.targets.iter().map(|name| format!("--test={name}")));
        if self.lib {
            arguments.push("--lib".to_owned());
        }
        arguments
    }

    /// Returns the arguments of cargo with nextest, which names the tests that it selected if they are not all.
    fn arguments_of_nextest(&self) -> Vec<String> {
        let mut arguments: Vec<String> =
            ["nextest", "run", "--no-fail-fast", "--no-tests=fail"].map(str::to_owned).into();
        arguments.extend(self.selection());
        if !self.is_everything() {
            arguments.push("--status-level=pass".to_owned());
        }
        arguments.extend(self.filters.iter().cloned());
        arguments
    }

    /// Returns the arguments of cargo without nextest.
    fn arguments_of_cargo(&self, for_tests: &[&str]) -> Vec<String> {
        let mut arguments: Vec<String> = ["test", "--no-fail-fast"].map(str::to_owned).into();
        arguments.extend(self.selection());
        if self.targets.is_empty() && !self.lib {
            arguments.extend(["--lib", "--bins", "--tests"].map(str::to_owned));
        }
        arguments.push("--".to_owned());
        arguments.extend(for_tests.iter().map(|argument| (*argument).to_owned()));
        arguments.extend(self.filters.iter().cloned());
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(filters: &[&str], targets: &[&str]) -> Options {
        let owned = |texts: &[&str]| texts.iter().map(ToString::to_string).collect();
        Options { filters: owned(filters), targets: owned(targets), lib: false }
    }

    #[test]
    fn a_filter_that_selects_nothing_fails() {
        let nextest = options(&["configmap", "secret"], &["rules"]).arguments_of_nextest().join(" ");
        assert_eq!(
            nextest,
            "nextest run --no-fail-fast --no-tests=fail --workspace --test=rules --status-level=pass configmap secret"
        );
        let listed = "rules::core::configmap: test\n\n1 test, 0 benchmarks\nbench: benchmark\n";
        assert_eq!(listed_tests(listed), ["rules::core::configmap"]);
        assert_eq!(listed_tests("0 tests, 0 benchmarks\n"), [] as [&str; 0]);
    }

    #[test]
    fn cargo_test_gets_every_filter() {
        let cargo = options(&["configmap", "secret"], &[]).arguments_of_cargo(&["--list"]).join(" ");
        assert_eq!(cargo, "test --no-fail-fast --workspace --lib --bins --tests -- --list configmap secret");
        let all = options(&[], &[]).arguments_of_nextest().join(" ");
        assert_eq!(all, "nextest run --no-fail-fast --no-tests=fail --workspace");
    }
}
