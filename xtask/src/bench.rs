//! `cargo xtask bench`: the cost of single operations of any Kubernetes API server.
//!
//! The client that measures is a package of its own, `xtask/bench`.

use std::ffi::OsString;
use std::process::Command;

use clap::Args;

use crate::{Failure, provision};

/// Measure what one operation costs, in CPU time, latency and memory.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Options {
    /// The arguments of the measuring client; `--help` lists them.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

/// Builds the measuring client in release mode and runs it.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    println!("building the measuring client in release mode …");
    let mut client = Command::new("cargo");
    client.args(["run", "--release", "--package", "xtask-bench", "--"]).args(&options.arguments);
    if needs_etcd(&options.arguments) {
        client.env("ORLOP_ETCD", provision::etcd()?);
    }
    match client.status().map_err(|error| format!("cannot run cargo: {error}"))? {
        status if status.success() => Ok(()),
        status => Err(format!("the bench ended with {status}").into()),
    }
}

/// Whether the client starts an etcd: the suite does, unless it runs over other stores alone.
fn needs_etcd(arguments: &[OsString]) -> bool {
    let text: Vec<&str> = arguments.iter().filter_map(|argument| argument.to_str()).collect();
    let stores = text.iter().enumerate().find_map(|(index, argument)| match *argument {
        "--stores" => text.get(index + 1).copied(),
        argument => argument.strip_prefix("--stores="),
    });
    text.contains(&"--suite") && stores.is_none_or(|stores| stores.contains("etcd"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(line: &str) -> bool {
        needs_etcd(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn the_suite_over_etcd_needs_one() {
        assert!(needs("--suite"));
        assert!(needs("--seconds 1 --suite --stores embedded,etcd"));
        assert!(needs("--suite --stores=etcd"));
        assert!(!needs("--suite --stores embedded"));
        assert!(!needs("--suite --stores=embedded --stages get"));
        assert!(!needs("--only get,list"));
    }
}
