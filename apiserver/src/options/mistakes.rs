//! Errors of command lines for which the parser guesses what is meant, or says only what it does not know: they are told
//! with what to write instead.

use std::error::Error as _;
use std::ffi::{OsStr, OsString};
use std::net::AddrParseError;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

use super::arguments::truth;
use super::upstream::removal_text;

/// A part of the parser's text about a missing subject of `token`.
const SUBJECT: &str = "NAMESPACE/NAME";
const NO_SUBJECT: &str = "name a service account, as NAMESPACE/NAME, or give --user with --file";

/// Returns the error of a command line with a better text, if there is one. `arguments` are those that were given, with the
/// program's name first.
pub(super) fn explained(error: Error, command: &mut Command, arguments: &[OsString]) -> Error {
    let kind = error.kind();
    let end = arguments.iter().position(|argument| argument == "--").unwrap_or(arguments.len());
    let (own, _) = arguments.split_at(end);
    let text = match kind {
        ErrorKind::UnknownArgument => {
            named(&error, ContextKind::InvalidArg).and_then(|given| unknown_argument(given, command, own))
        }
        ErrorKind::InvalidSubcommand => {
            named(&error, ContextKind::InvalidSubcommand).map(|word| unknown_command(word, command, own))
        }
        ErrorKind::ValueValidation => wrong_value(&error),
        ErrorKind::MissingRequiredArgument if is_about_subject(&error) => Some(NO_SUBJECT.to_owned()),
        _ => None,
    };
    match text {
        Some(text) => command.error(kind, text),
        None => error,
    }
}

/// Returns the argument that an error is about.
fn named(error: &Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}

fn is_about_subject(error: &Error) -> bool {
    match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(missing)) => missing.iter().any(|text| text.contains(SUBJECT)),
        _ => false,
    }
}

/// Returns the text about a value that is not a number or an address, for which Rust's library has words of its own.
fn wrong_value(error: &Error) -> Option<String> {
    let source = error.source()?;
    let reason = match source.downcast_ref::<ParseIntError>().map(ParseIntError::kind) {
        Some(IntErrorKind::PosOverflow) => "it is too large",
        Some(IntErrorKind::NegOverflow) => "it is too small",
        Some(_) => "it is not a valid number: use a whole number such as 10",
        None if source.is::<AddrParseError>() => "it is not an IP address: use one such as 127.0.0.1 or ::1",
        None if source.is::<ParseFloatError>() => "it is not a valid number: use one such as 0.02",
        None => return None,
    };
    let flag = named(error, ContextKind::InvalidArg)?;
    let value = named(error, ContextKind::InvalidValue)?;
    Some(format!("invalid value '{value}' for '{flag}': {reason}"))
}

fn unknown_argument(given: &str, command: &Command, arguments: &[OsString]) -> Option<String> {
    if let Some(name) = given.strip_prefix("--") {
        removal_text(name)?;
        let names = arguments.iter().filter_map(|argument| flag_name(argument));
        let mut texts: Vec<String> = names.filter_map(|name| removal_text(&name)).collect();
        texts.dedup();
        return Some(texts.join("\n  "));
    }
    if given.starts_with('-') {
        return None;
    }
    value_apart(given, command, arguments).or_else(|| command_of_test(given, command, arguments))
}

fn unknown_command(word: &str, command: &Command, arguments: &[OsString]) -> String {
    if word == "version" {
        return "'version' is not a command: use --version".to_owned();
    }
    if let Some(text) = value_apart(word, command, arguments) {
        return text;
    }
    let position = arguments.iter().position(|argument| argument == word).unwrap_or(arguments.len());
    let (before, _) = arguments.split_at(position);
    let parent = before
        .iter()
        .skip(1)
        .fold(command, |parent, argument| parent.find_subcommand(argument).unwrap_or(parent));
    let visible = parent.get_subcommands().filter(|command| !command.is_hide_set());
    let mut names: Vec<&str> = visible.map(Command::get_name).filter(|name| *name != "help").collect();
    names.sort_unstable();
    let commands = names.join(", ");
    if std::ptr::eq(parent, command) {
        format!("'{word}' is not a command: use one of {commands}, or leave it out to start a server")
    } else {
        format!("'{word}' is not a command of '{}': use one of {commands}", parent.get_name())
    }
}

/// Returns the text about the truth value of a flag that does not stand behind `=`.
fn value_apart(word: &str, command: &Command, arguments: &[OsString]) -> Option<String> {
    truth(word)?;
    arguments.windows(2).find_map(|pair| {
        let [flag, value] = pair else { return None };
        let name = flag_name(flag).filter(|_| value == word)?;
        let mut flags = command.get_arguments();
        let is_known = flags.any(|flag| flag.get_long() == Some(&name) && flag.is_require_equals_set());
        is_known.then(|| format!("the value of --{name} stands behind '=': write '--{name}={word}'"))
    })
}

/// Returns the text about a command to run that does not stand behind `--`.
fn command_of_test(word: &str, command: &Command, arguments: &[OsString]) -> Option<String> {
    arguments.iter().position(|argument| argument == "test")?;
    let position = arguments.iter().position(|argument| argument == word)?;
    let rest: Vec<_> = arguments.iter().skip(position).map(|argument| argument.to_string_lossy()).collect();
    let name = command.get_name();
    Some(format!("put the command to run behind '--': '{name} test -- {}'", rest.join(" ")))
}

/// Returns the name of the flag that an argument gives, with hyphens.
fn flag_name(argument: &OsStr) -> Option<String> {
    let text = argument.to_str()?.strip_prefix("--")?;
    Some(text.split('=').next()?.replace('_', "-"))
}
