//! Completion scripts, and the manual pages.

use std::io;

use clap::Command;
use clap_complete::Generator as _;

use super::{Options, Program};

pub(super) use clap_complete::Shell;

impl Options {
    /// Returns a script that completes the commands and flags of a server in a shell.
    ///
    /// # Errors
    /// Never fails: writing to memory succeeds.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "a shell is text where scripts are not built")]
    pub(crate) fn completion(program: Program, shell: &Shell) -> io::Result<Vec<u8>> {
        let mut script = Vec::new();
        let mut command = Self::server_command(program).name(program.name);
        command.set_bin_name(program.name);
        command.build();
        shell.try_generate(&command, &mut script)?;
        Ok(script)
    }

    /// Returns the manual page of a server, or of one of its commands such as `storage backup` (roff). It has the flags that
    /// the long help has.
    ///
    /// # Errors
    /// Fails if there is no such command.
    pub(crate) fn man_page(program: Program, path: &[String]) -> io::Result<Vec<u8>> {
        let command = program.described(Self::server_command(program).name(program.name));
        // The page's title is the name of the command, not that of the project.
        let mut command = without_help(command.display_name(program.name));
        command.set_bin_name(program.name);
        command.build();
        let mut described = &command;
        for name in path {
            described = described.find_subcommand(name).ok_or_else(|| no_command(path))?;
        }
        let mut page = Vec::new();
        clap_mangen::Man::new(with_everything(described.clone())).render(&mut page)?;
        Ok(page)
    }
}

/// Returns a command without the commands `help`, which have no page: each page is the help.
fn without_help(command: Command) -> Command {
    command.disable_help_subcommand(true).mut_subcommands(without_help)
}

/// Returns a command whose flags are all described in its manual page, which ends with the examples: the library leaves out
/// descriptions that the short help has not, and texts before the flags.
fn with_everything(command: Command) -> Command {
    let command = command.mut_args(|flag| flag.hide_short_help(false));
    match (command.get_before_long_help(), command.get_after_long_help()) {
        (Some(before), Some(after)) => {
            let end = format!("{before}\n\n{after}");
            command.after_long_help(end)
        }
        _ => command,
    }
}

fn no_command(path: &[String]) -> io::Error {
    let text = format!("there is no command '{}': name one that the help lists", path.join(" "));
    io::Error::new(io::ErrorKind::InvalidInput, text)
}
