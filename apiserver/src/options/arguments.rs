//! Arguments as kube-apiserver's library for flags reads them, where this server's library reads them otherwise: empty
//! values (`--flag=`, as templates write them for variables that are not set), truth values, lists that end with a comma,
//! and names with underscores.

use std::any::TypeId;
use std::ffi::{OsStr, OsString};
use std::net::IpAddr;
use std::time::Duration;

use clap::{Arg, ArgAction, Command};

use super::upstream::is_checked_when_empty;

/// Flags of which Kubernetes refuses an empty value, or gives it a meaning.
const CHECKED: [&str; 17] = [
    "allow-metric-labels",
    "audit-log-format",
    "audit-log-mode",
    "audit-log-version",
    "audit-webhook-mode",
    "audit-webhook-version",
    "authentication-token-webhook-version",
    "authorization-webhook-version",
    "controllers",
    "etcd-prefix",
    "logging-format",
    "oidc-required-claim",
    "oidc-username-claim",
    "service-account-issuer",
    "service-account-key-file",
    "tls-curve-preferences",
    "tls-sni-cert-key",
];

/// Lists in which Kubernetes skips empty entries.
const SKIPS_EMPTY_ENTRIES: [&str; 2] = ["feature-gates", "runtime-config"];

/// The meaning of an empty value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EmptyValue {
    /// The flag is not given: former values are forgotten.
    NotGiven,
    /// Former values stay.
    NoChange,
    /// It is a value like any other.
    Checked,
}

/// An argument, with the flag that it gives a value to.
#[derive(Default)]
struct Given {
    /// The flag of the server; `None` for everything else.
    flag: Option<String>,
    /// Whether it names a command, such as `test`.
    is_command: bool,
    /// The argument, and the next one if that is the value.
    arguments: Vec<OsString>,
}

// === impl Given ===

impl Given {
    /// Returns an argument that is not a flag of the server.
    fn other(argument: OsString) -> Self {
        Self { arguments: vec![argument], ..Self::default() }
    }
}

// === impl EmptyValue ===

impl EmptyValue {
    fn for_flag(argument: &Arg) -> Self {
        let Some(name) = argument.get_long() else { return Self::Checked };
        if CHECKED.contains(&name) || is_checked_when_empty(argument) {
            return Self::Checked;
        }
        let is_number = [
            TypeId::of::<bool>(),
            TypeId::of::<u8>(),
            TypeId::of::<u16>(),
            TypeId::of::<u32>(),
            TypeId::of::<usize>(),
            TypeId::of::<i64>(),
            TypeId::of::<f32>(),
            TypeId::of::<f64>(),
            TypeId::of::<Duration>(),
        ];
        let value = argument.get_value_parser().type_id();
        let is_address = value == TypeId::of::<IpAddr>();
        match argument.get_action() {
            ArgAction::Set | ArgAction::Append if is_number.iter().any(|number| value == *number) => {
                Self::Checked
            }
            ArgAction::Set if is_address => Self::NoChange,
            ArgAction::Set => Self::NotGiven,
            // A flag that is not implemented has one value in Kubernetes; a list grows.
            ArgAction::Append if argument.get_id() == name => Self::NotGiven,
            ArgAction::Append => Self::NoChange,
            _ => Self::Checked,
        }
    }
}

/// Rewrites a command line, which starts with the program's name, for the parser of `program`. Flags of the `server` are
/// rewritten, those of the program's author and of commands are read as they are.
pub(super) fn rewritten(
    server: &Command,
    program: &Command,
    arguments: impl IntoIterator<Item = OsString>,
) -> Vec<OsString> {
    let mut arguments = arguments.into_iter().peekable();
    let mut kept: Vec<Given> = arguments.next().map(Given::other).into_iter().collect();
    let mut commands = vec![program];
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            let rest = std::iter::once(argument).chain(arguments);
            kept.push(Given { arguments: rest.collect(), ..Given::default() });
            break;
        }
        let is_known = |argument: &OsStr| {
            std::iter::once(server)
                .chain(commands.iter().copied())
                .any(|command| named_flag(command, argument).is_some())
        };
        let argument = if is_known(&argument) { argument } else { hyphenated(argument) };
        let Some((flag, value)) = named_flag(server, &argument) else {
            let other = commands.iter().rev().copied().find_map(|command| named_flag(command, &argument));
            let takes_next =
                other.is_some_and(|(flag, value)| value.is_none() && takes(flag, arguments.peek()));
            let command = commands.last().copied().and_then(|parent| parent.find_subcommand(&argument));
            let mut given = Given::other(argument);
            given.is_command = command.is_some();
            given.arguments.extend(arguments.next_if(|_| takes_next));
            commands.extend(command);
            kept.push(given);
            continue;
        };
        let name = flag.get_long().unwrap_or_default();
        let takes_next = value.is_none() && takes(flag, arguments.peek());
        let next = if takes_next { arguments.next() } else { None };
        let is_empty = match (&value, &next) {
            (Some(value), _) => is_empty(name, value),
            (None, next) => next.as_ref().is_some_and(|next| next.is_empty()),
        };
        match EmptyValue::for_flag(flag) {
            EmptyValue::NotGiven if is_empty => kept.retain(|given| given.flag.as_deref() != Some(name)),
            EmptyValue::NoChange if is_empty => {}
            _ => {
                let argument = value.and_then(|value| as_go_reads(flag, name, &value)).unwrap_or(argument);
                let arguments = std::iter::once(argument).chain(next).collect();
                kept.push(Given { flag: Some(name.to_owned()), arguments, is_command: false });
            }
        }
    }
    let ordered = before_commands(&commands, kept);
    ordered.into_iter().flat_map(|given| given.arguments).collect()
}

/// Moves flags of the server that stand after a command, such as `test`, to the place where the parser accepts them.
fn before_commands(commands: &[&Command], given: Vec<Given>) -> Vec<Given> {
    let place = given.iter().position(|given| given.is_command).unwrap_or(given.len());
    let has =
        |command: &&Command, name: &str| command.get_arguments().any(|flag| flag.get_long() == Some(name));
    let is_own = |name: &str| commands.iter().skip(1).any(|command| has(command, name));
    let mut ordered = Vec::with_capacity(given.len());
    let mut after = Vec::new();
    for (position, given) in given.into_iter().enumerate() {
        let is_of_server = given.flag.as_deref().is_some_and(|name| !is_own(name));
        if position < place || is_of_server { ordered.push(given) } else { after.push(given) }
    }
    ordered.append(&mut after);
    ordered
}

/// Returns an argument with hyphens for the underscores in the name of its flag, as Kubernetes reads it
/// (`WordSepNormalizeFunc`).
fn hyphenated(argument: OsString) -> OsString {
    let Some(text) = argument.to_str().and_then(|text| text.strip_prefix("--")) else { return argument };
    let (name, value) = text.split_at(text.find('=').unwrap_or(text.len()));
    format!("--{}{value}", name.replace('_', "-")).into()
}

/// Returns the flag that an argument names, and the value behind `=`.
fn named_flag<'a>(command: &'a Command, argument: &OsStr) -> Option<(&'a Arg, Option<String>)> {
    let text = argument.to_str()?.strip_prefix("--")?;
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_owned())),
        None => (text, None),
    };
    let is_named = |flag: &&Arg| {
        flag.get_long() == Some(name) || flag.get_all_aliases().is_some_and(|aliases| aliases.contains(&name))
    };
    Some((command.get_arguments().find(is_named)?, value))
}

/// Whether the argument after a flag without `=` is its value.
fn takes(flag: &Arg, next: Option<&OsString>) -> bool {
    let needs_value = flag.get_num_args().is_none_or(|count| count.min_values() > 0);
    let can_be_value = next.is_some_and(|next| needs_value || !next.as_encoded_bytes().starts_with(b"-"));
    can_be_value && flag.get_action().takes_values() && !flag.is_require_equals_set()
}

/// Whether a value has nothing that Kubernetes reads.
fn is_empty(name: &str, value: &str) -> bool {
    value.is_empty() || SKIPS_EMPTY_ENTRIES.contains(&name) && value.bytes().all(|byte| byte == b',')
}

/// Returns the argument with a value that the parser reads as Go reads this one; `None` if it does already.
fn as_go_reads(flag: &Arg, name: &str, value: &str) -> Option<OsString> {
    if flag.is_require_equals_set() {
        let read = truth(value)?;
        return Some(format!("--{name}={read}").into());
    }
    if SKIPS_EMPTY_ENTRIES.contains(&name) {
        let entries: Vec<&str> = value.split(',').filter(|entry| !entry.is_empty()).collect();
        return Some(format!("--{name}={}", entries.join(",")).into());
    }
    None
}

/// Reads a truth value as Go does (`strconv.ParseBool`).
pub(super) fn truth(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}
