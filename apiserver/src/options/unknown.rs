//! Flags the command line does not have: kube-apiserver's own are named as such, others are typing errors.

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Every flag of kube-apiserver v1.36, one a line. Written by `cargo xtask codegen --upstream`.
const KUBERNETES_FLAGS: &str = include_str!("kubernetes_flags.txt");

/// What to say of a command line that cannot be read: of an unknown flag, whether kube-apiserver has it.
pub(super) fn explained(error: clap::Error, arguments: &[OsString], mut command: Command) -> clap::Error {
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let Some(ContextValue::String(first)) = error.get(ContextKind::InvalidArg) else { return error };
    let first = flag_name(first);
    if !is_of_kubernetes(first) {
        return error;
    }
    let mut missing: Vec<&str> = arguments
        .iter()
        .filter_map(|argument| argument.to_str())
        .take_while(|argument| *argument != "--")
        .filter(|argument| argument.starts_with("--"))
        .map(flag_name)
        .filter(|name| is_of_kubernetes(name) && !is_implemented(&command, name))
        .collect();
    if missing.is_empty() {
        missing.push(first);
    }
    missing.sort_unstable();
    missing.dedup();
    let flags = missing.iter().map(|name| format!("--{name}")).collect::<Vec<_>>().join(", ");
    command
        .error(ErrorKind::UnknownArgument, format!("known to kube-apiserver, not implemented here: {flags}"))
}

/// `--flag=value` is `flag`.
fn flag_name(argument: &str) -> &str {
    let name = argument.trim_start_matches('-');
    name.split_once('=').map_or(name, |(name, _)| name)
}

fn is_of_kubernetes(name: &str) -> bool {
    KUBERNETES_FLAGS.lines().any(|flag| flag == name)
}

fn is_implemented(command: &Command, name: &str) -> bool {
    command.get_arguments().any(|argument| argument.get_long() == Some(name))
}
