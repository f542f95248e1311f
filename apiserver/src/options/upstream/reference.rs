//! `docs/reference/flags.md`: every flag, of this server and of kube-apiserver.

use std::fmt::Write as _;

use clap::{Arg, Command};

use super::table::FLAGS;
use super::{Effect, Flag, KUBERNETES_FLAGS, Values};

const HEAD: &str = "<!-- Written by `cargo xtask codegen --flags`, and checked by a test. Do not edit. -->

# Flags

The flags of the server, and what becomes of every flag of kube-apiserver v1.36: it is implemented, or accepted because its
effect is the default here or has no meaning here, or refused with a reason and a way out.
";

/// Returns the reference of a command line.
pub(in crate::options) fn write(command: &Command) -> String {
    let mut text = HEAD.to_owned();
    let is_in_table = |argument: &&Arg| FLAGS.iter().any(|flag| Some(flag.name) == argument.get_long());
    let mut own: Vec<&Arg> = command.get_arguments().filter(|argument| !is_in_table(argument)).collect();
    own.sort_by_key(|argument| argument.get_long().map(str::to_owned));
    // Writing to a string cannot fail.
    text.push_str("\n## Implemented\n\n| flag | default | what it does |\n|---|---|---|\n");
    for argument in own {
        let Some(name) = argument.get_long() else { continue };
        let marker =
            if KUBERNETES_FLAGS.lines().any(|flag| flag == name) { "" } else { " (not in Kubernetes)" };
        let defaults = argument.get_default_values().iter().map(|value| value.to_string_lossy());
        let default = defaults.collect::<Vec<_>>().join(",");
        let default = if default.is_empty() { String::new() } else { format!("`{default}`") };
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        let _ = writeln!(text, "| `--{name}`{marker} | {default} | {} |", cell(&help));
    }
    text.push_str("\n## Accepted\n\n| flag | values | why it needs nothing |\n|---|---|---|\n");
    for Flag { name, effect } in FLAGS {
        if let Effect::Accepted { value, why } = effect {
            let _ = writeln!(text, "| `--{name}` | {} | {} |", shown(*value), cell(why));
        }
    }
    text.push_str("\n## Refused\n\n| flag | why | instead |\n|---|---|---|\n");
    for Flag { name, effect } in FLAGS {
        if let Effect::Refused { why, instead } = effect {
            let _ = writeln!(text, "| `--{name}` | {} | {} |", cell(why), cell(instead));
        }
    }
    text
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn shown(values: Values) -> String {
    match values {
        Values::Only(values) => {
            values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>().join(", ")
        }
        Values::Bool => "`true`, `false`".to_owned(),
        Values::Duration => "durations".to_owned(),
        Values::Count => "whole numbers".to_owned(),
        Values::Quantity => "quantities of bytes".to_owned(),
        Values::Text => "any".to_owned(),
    }
}
