//! Every flag of kube-apiserver that this server does not implement: accepted, because its effect is the default here or
//! has no meaning here, or refused with the reason and the way out.
//!
//! A flag that the command line knows must not be in the table: a test compares both with kube-apiserver's list.

use std::fmt::Write as _;
use std::path::Path;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use super::parse_duration;

#[cfg(test)]
mod reference;
mod table;
#[cfg(test)]
mod tests;

use table::FLAGS;

/// Flags of kube-apiserver that are accepted and need nothing. Those that were given are checked, and forgotten.
#[derive(Clone, Copy, Debug, Default)]
pub struct UpstreamFlags;

/// A flag of kube-apiserver that this server does not implement.
struct Flag {
    name: &'static str,
    effect: Effect,
}

/// What happens when a flag is given.
enum Effect {
    /// Nothing, if the value is possible.
    Accepted { value: Values, why: &'static str },
    /// The server does not start.
    Refused { why: &'static str, instead: &'static str },
}

/// The possible values of an accepted flag.
#[derive(Clone, Copy)]
enum Values {
    /// One of these.
    Only(&'static [&'static str]),
    /// `true` or `false`.
    Bool,
    /// A duration.
    Duration,
    /// A whole number.
    Count,
    /// A quantity of bytes.
    Quantity,
    /// Any text.
    Text,
    /// A file that can be read.
    File,
}

// === impl Flag ===

impl Flag {
    fn argument(&self) -> Arg {
        let argument =
            Arg::new(self.name).long(self.name).hide(true).action(ArgAction::Append).num_args(0..=1);
        match &self.effect {
            Effect::Accepted { value, .. } if value.is_bool() => {
                argument.value_name("BOOL").require_equals(true).default_missing_value("true")
            }
            Effect::Accepted { value: Values::File, .. } => argument.value_name("FILE").num_args(1),
            Effect::Accepted { .. } => argument.value_name("VALUE").num_args(1),
            Effect::Refused { .. } => {
                argument.value_name("VALUE").default_missing_value("").allow_hyphen_values(false)
            }
        }
    }

    /// Returns what is wrong with a value.
    fn complaint(&self, given: &str) -> Option<String> {
        match &self.effect {
            Effect::Refused { why, instead } => {
                Some(format!("--{} is not supported: {why}; {instead}", self.name))
            }
            Effect::Accepted { value: Values::Only(values), why } => {
                let is_one = values.contains(&given);
                let values = values.join(" or ");
                (!is_one).then(|| {
                    format!("--{}={given} is not supported: {why}; leave it out, or use {values}", self.name)
                })
            }
            Effect::Accepted { value, .. } => {
                let problem = value.problem(given)?;
                Some(format!("--{}={given}: {problem}", self.name))
            }
        }
    }
}

// === impl Values ===

impl Values {
    const fn is_bool(self) -> bool {
        match self {
            Self::Bool => true,
            Self::Only(values) => matches!(values, [value] if matches!(value.as_bytes(), b"true" | b"false")),
            _ => false,
        }
    }

    /// Returns why a value is not possible.
    fn problem(self, given: &str) -> Option<String> {
        match self {
            Self::Only(_) | Self::Text => None,
            Self::Bool => {
                (!matches!(given, "true" | "false")).then(|| "it is neither true nor false".to_owned())
            }
            Self::Duration => parse_duration(given).err(),
            Self::Count => given.parse::<u64>().is_err().then(|| "it is no whole number".to_owned()),
            Self::Quantity => {
                let digits = given.trim_end_matches(|letter: char| letter.is_ascii_alphabetic());
                digits.parse::<u64>().is_err().then(|| "it is no quantity of bytes".to_owned())
            }
            Self::File => std::fs::File::open(Path::new(given)).err().map(|error| error.to_string()),
        }
    }
}

// === impl UpstreamFlags ===

impl Args for UpstreamFlags {
    fn augment_args(command: Command) -> Command {
        FLAGS.iter().fold(command, |command, flag| {
            let is_known = command.get_arguments().any(|own| own.get_long() == Some(flag.name));
            if is_known { command } else { command.arg(flag.argument()) }
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for UpstreamFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut complaints = String::new();
        for flag in FLAGS {
            if matches.try_contains_id(flag.name).is_err()
                || matches.value_source(flag.name) != Some(ValueSource::CommandLine)
            {
                continue;
            }
            let Ok(Some(values)) = matches.try_get_many::<String>(flag.name) else { continue };
            if let Some(complaint) = values.filter_map(|value| flag.complaint(value)).next() {
                let separator = if complaints.is_empty() { "" } else { "\n  " };
                // Writing to a string cannot fail.
                let _ = write!(complaints, "{separator}{complaint}");
            }
        }
        if complaints.is_empty() {
            return Ok(Self);
        }
        Err(clap::Error::raw(ErrorKind::ValueValidation, format!("{complaints}\n")))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
