//! The values of all flags, for `/flagz`.

use std::collections::BTreeMap;
use std::path::Path;

use clap::{Arg, ArgMatches, Args, Command, CommandFactory as _, FromArgMatches};

use super::Options;

/// Replaces a value with a password.
const REDACTED: &str = "CLASSIFIED";

/// The values of flags, given or default, by the ids of their arguments.
#[derive(Clone, Debug, Default)]
pub struct GivenFlags(BTreeMap<String, String>);

// === impl GivenFlags ===

impl Args for GivenFlags {
    /// Adds no flag.
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

impl FromArgMatches for GivenFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut values = BTreeMap::new();
        for id in matches.ids() {
            let Ok(Some(raw)) = matches.try_get_raw(id.as_str()) else { continue };
            let raw: Vec<_> = raw.map(|value| value.to_string_lossy()).collect();
            values.insert(id.as_str().to_owned(), raw.join(","));
        }
        Ok(Self(values))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Options {
    /// Returns all flags and their values; those without a value are empty. Values with a password in a URL are replaced.
    pub fn flags(&self) -> BTreeMap<String, String> {
        self.given.all()
    }

    /// Returns the flags whose values are not the default ones, as [`flags`](Self::flags) shows them.
    pub fn changed_flags(&self) -> BTreeMap<String, String> {
        self.given.chosen(|argument, value| {
            let defaults = argument.get_default_values().iter().map(|default| default.to_string_lossy());
            value != defaults.collect::<Vec<_>>().join(",")
        })
    }

    /// Returns the flags that name a file.
    pub(crate) fn flags_of_file(&self, file: &Path) -> Vec<String> {
        let is_named = |value: &str| value.split([',', ';']).any(|part| Path::new(part) == file);
        let named = self.changed_flags().into_iter().filter(|(_, value)| is_named(value));
        named.map(|(name, _)| format!("--{name}")).collect()
    }
}

impl GivenFlags {
    /// Returns all flags and their values, as [`Options::flags`].
    pub(crate) fn all(&self) -> BTreeMap<String, String> {
        self.chosen(|_, _| true)
    }

    /// Returns the flags, by their arguments and values, that are chosen.
    fn chosen(&self, is_chosen: impl Fn(&Arg, &str) -> bool) -> BTreeMap<String, String> {
        let mut command = Options::command();
        command.build();
        let flags = command.get_arguments().filter_map(|argument| {
            let name = argument.get_long()?;
            let value = self.0.get(argument.get_id().as_str()).cloned().unwrap_or_default();
            is_chosen(argument, &value)
                .then(|| (name.to_owned(), if has_password(&value) { REDACTED.to_owned() } else { value }))
        });
        flags.filter(|(name, _)| !matches!(name.as_str(), "help" | "version")).collect()
    }
}

/// Returns whether a value contains a URL with user information.
fn has_password(value: &str) -> bool {
    value.split([',', ';']).any(|part| {
        let authority = part.split_once("://").map(|(_, rest)| rest.split(['/', '?', '#']).next());
        authority.flatten().is_some_and(|authority| authority.contains('@'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_have_their_values_and_no_passwords() {
        let given = [
            "apiserver",
            "--etcd-servers=http://127.0.0.1:2379,https://root:secret@10.0.0.1:2379",
            "--feature-gates=CBORServingAndStorage=true",
            "--secure-port=1",
            "--secure-port=7443",
            "--profiling=false",
            "-v3",
        ];
        let flags = Options::from_arguments(given).unwrap().flags();
        for (name, value) in [
            ("etcd-servers", "CLASSIFIED"),
            ("feature-gates", "CBORServingAndStorage=true"),
            ("secure-port", "7443"),
            ("profiling", "false"),
            ("v", "3"),
            ("request-timeout", "1m"),
            ("tls-cert-file", ""),
            ("contention-profiling", ""),
        ] {
            assert_eq!(flags[name], value, "{name}");
        }
        assert!(!flags.contains_key("help"));
        let changed = Options::from_arguments(given).unwrap().changed_flags();
        let names = ["etcd-servers", "feature-gates", "profiling", "secure-port", "v"];
        assert_eq!(changed.keys().collect::<Vec<_>>(), names);
        assert_eq!(changed["etcd-servers"], "CLASSIFIED");
        assert!(Options::from_arguments(["apiserver"]).unwrap().changed_flags().is_empty());
        assert!(!has_password("https://example.com/a@b,alice@example.com"));
        assert!(has_password("/events#http://10.0.0.1:2379;http://root:secret@10.0.0.2:2379"));
    }
}
