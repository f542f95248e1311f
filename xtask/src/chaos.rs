//! `cargo xtask chaos`: servers and their store under faults, and checks of everything that clients saw.
//!
//! The program is a package of its own, `xtask/chaos`.

use std::ffi::OsString;
use std::process::Command;

use clap::Args;

use crate::{Failure, provision};

/// The program, as it is built here.
const PROGRAM: &str = "target/debug/xtask-chaos";

/// Run servers and their store under faults, and check everything that clients saw.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Options {
    /// The arguments of the fault test; `--help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

/// Builds the fault test, and the server unless another one is given, and runs it.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let needs = Needs::new(&options.arguments);
    println!("building the fault test …");
    let mut build = Command::new("cargo");
    // With the whole workspace, dependencies have the features that `cargo xtask test` has built them with.
    build.args(["build", "--workspace", "--bin", "xtask-chaos"]);
    if needs.server {
        build.args(["--bin", "apiserver"]);
    }
    succeed(&mut build)?;
    let mut program = Command::new(PROGRAM);
    program.args(&options.arguments);
    if needs.etcd {
        program.env("ORLOP_ETCD", provision::etcd()?);
    }
    succeed(&mut program)
}

fn succeed(command: &mut Command) -> Result<(), Failure> {
    let name = command.get_program().display().to_string();
    match command.status().map_err(|error| format!("cannot run {name}: {error}"))? {
        status if status.success() => Ok(()),
        status => Err(format!("{name} ended with {status}").into()),
    }
}

/// The programs that a run needs.
#[derive(Debug, PartialEq, Eq)]
struct Needs {
    /// The debug build of the server.
    server: bool,
    etcd: bool,
}

// === impl Needs ===

impl Needs {
    fn new(arguments: &[OsString]) -> Self {
        let text: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
        let value = |name: &str| {
            text.iter().enumerate().find_map(|(index, argument)| match argument.strip_prefix(name)? {
                "" => text.get(index + 1).copied(),
                rest => rest.strip_prefix('='),
            })
        };
        let runs = value("--replay").is_none() && !text.iter().any(|text| ["--help", "-h"].contains(text));
        Self {
            server: runs && value("--server").is_none(),
            etcd: runs && value("--store").is_none_or(|stores| stores.contains("etcd")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(line: &str) -> (bool, bool) {
        let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let Needs { server, etcd } = Needs::new(&arguments);
        (server, etcd)
    }

    #[test]
    fn a_run_needs_a_server_and_the_store() {
        assert_eq!(needs(""), (true, true));
        assert_eq!(needs("--servers 3 --store=embedded"), (true, false));
        assert_eq!(needs("--server target/release/apiserver --store embedded,etcd3"), (false, true));
        assert_eq!(needs("--replay target/chaos/history.jsonl"), (false, false));
        assert_eq!(needs("--help"), (false, false));
    }
}
