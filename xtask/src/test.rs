//! `cargo xtask test`: runs all tests, with the programs they need.

use std::process::Command;

use clap::Args;

use crate::provision::Programs;

/// Options of `cargo xtask test`.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Only tests whose name contains one of these.
    filters: Vec<String>,
}

/// Finds or installs the programs that tests need, then runs unit and integration tests, then the documentation's
/// examples.
pub(crate) fn run(arguments: &Options) -> Result<(), String> {
    let programs = Programs::provide()?;
    let mut tests = Command::new("cargo");
    if programs.nextest {
        tests.args(["nextest", "run", "--workspace", "--no-fail-fast"]);
    } else {
        tests.args(["test", "--workspace", "--lib", "--bins", "--tests", "--no-fail-fast"]);
    }
    tests.args(&arguments.filters);
    tests.env("ORLOP_ETCD", &programs.etcd);
    tests.env("ORLOP_KUBECTL", &programs.kubectl);
    tests.env("ORLOP_STRACE", &programs.strace);
    succeed("the tests", &mut tests)?;
    if arguments.filters.is_empty() {
        succeed(
            "the documentation's examples",
            Command::new("cargo").args(["test", "--workspace", "--doc", "--quiet"]),
        )?;
    }
    Ok(())
}

fn succeed(what: &str, command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|error| format!("cannot run {what}: {error}"))?;
    if status.success() { Ok(()) } else { Err(format!("{what} failed")) }
}
