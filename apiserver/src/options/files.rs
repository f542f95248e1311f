//! Flags that name a file to read: an unreadable one is reported with the flag's name, before anything is
//! started.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use clap::error::ErrorKind;
use clap::{ArgMatches, Command};

/// The value name of flags whose file is read.
const FILE: &str = "FILE";

/// Opens every file that the flags name.
///
/// # Errors
/// Fails if one cannot be read.
pub(super) fn check(command: &mut Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let mut problem = None;
    for flag in command.get_arguments() {
        let is_file = flag.get_value_names().is_some_and(|names| names.iter().any(|name| *name == FILE));
        let (true, Some(name)) = (is_file, flag.get_long()) else { continue };
        for value in matches.get_raw(flag.get_id().as_str()).into_iter().flatten() {
            if let Err(error) = readable(Path::new(value)) {
                problem = Some(format!("--{name}: cannot read {}: {error}", Path::new(value).display()));
            }
        }
    }
    match problem {
        None => Ok(()),
        Some(problem) => Err(command.error(ErrorKind::ValueValidation, problem)),
    }
}

/// Reads the first byte, because a directory can be opened, but not read.
fn readable(path: &Path) -> std::io::Result<()> {
    File::open(path)?.read(&mut [0]).map(|_| ())
}
