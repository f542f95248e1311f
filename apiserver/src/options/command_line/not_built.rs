//! The place of completion scripts and the manual page in a program without the feature `command-line`: the commands are
//! refused.

use std::io;

use super::{Options, Program};

/// The name of a shell.
pub(super) type Shell = String;

const NOT_BUILT: &str =
    "this program was built without it: build `apiserver` with the feature `command-line`";

impl Options {
    /// Refuses to write a script.
    pub(crate) fn completion(_program: Program, _shell: &Shell) -> io::Result<Vec<u8>> {
        Err(io::Error::new(io::ErrorKind::Unsupported, format!("completion: {NOT_BUILT}")))
    }

    /// Refuses to write a page.
    pub(crate) fn man_page(_program: Program, _path: &[String]) -> io::Result<Vec<u8>> {
        Err(io::Error::new(io::ErrorKind::Unsupported, format!("the manual page: {NOT_BUILT}")))
    }
}
