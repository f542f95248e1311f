//! Completion scripts, and the manual page.

use std::io;

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

    /// Returns the manual page of a server (roff).
    ///
    /// # Errors
    /// Never fails: writing to memory succeeds.
    pub(crate) fn man_page(program: Program) -> io::Result<Vec<u8>> {
        let mut page = Vec::new();
        let command = program.described(Self::server_command(program).name(program.name));
        // The page's title is the name of the command, not that of the project.
        let command = command.display_name(program.name);
        clap_mangen::Man::new(command).render(&mut page)?;
        Ok(page)
    }
}
