//! The program that is run, for its version and its messages.

use crate::version::LONG_VERSION;

/// The name and version of a server program.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// Name of the program.
    pub name: &'static str,
    /// Version of the program.
    pub version: &'static str,
    /// Description of the program, which begins its help; empty for that of the server.
    pub description: &'static str,
}

/// The [`Program`] that the crate calling this macro builds: the name, version and description of its package.
#[macro_export]
macro_rules! program {
    () => {
        $crate::Program {
            name: ::core::env!("CARGO_PKG_NAME"),
            version: ::core::env!("CARGO_PKG_VERSION"),
            description: ::core::env!("CARGO_PKG_DESCRIPTION"),
        }
    };
}

// === impl Program ===

impl Program {
    /// Adds the version and the description to a command.
    pub(crate) fn described(self, command: clap::Command) -> clap::Command {
        let command = command.version(self.long_version());
        if self.is_of_this_project() {
            return command.display_name("orlop");
        }
        if self.description.is_empty() {
            return command;
        }
        command.about(self.description).long_about(self.description)
    }

    /// Returns the version as `--version` prints it behind the name: of the server of this project with its commit and the
    /// version of Kubernetes.
    pub(crate) fn long_version(self) -> &'static str {
        if self.is_of_this_project() { LONG_VERSION } else { self.version }
    }

    /// Whether the program is the server of this project. Others have names and versions of their own.
    fn is_of_this_project(self) -> bool {
        (self.name, self.version) == (env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
    }
}
