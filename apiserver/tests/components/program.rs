//! A program in a process of its own.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// A running program, which is killed when dropped.
pub(crate) struct Program {
    child: Child,
    log: PathBuf,
}

// === impl Program ===

impl Program {
    /// Starts a program that writes its output to `NAME.log` in a directory.
    pub(crate) fn start<A: AsRef<OsStr>>(
        path: &OsStr,
        directory: &Path,
        name: &str,
        arguments: impl IntoIterator<Item = A>,
    ) -> Self {
        let log = directory.join(format!("{name}.log"));
        let output = File::options().create(true).append(true).open(&log).unwrap();
        let child = Command::new(path)
            .args(arguments)
            .current_dir(directory)
            .stdout(output.try_clone().unwrap())
            .stderr(output)
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self { child, log }
    }

    /// Panics with the end of its log if it has ended.
    pub(crate) fn check(&mut self) {
        if let Some(status) = self.child.try_wait().unwrap() {
            let log = std::fs::read_to_string(&self.log).unwrap_or_default();
            let lines: Vec<_> = log.lines().rev().take(20).collect();
            panic!("{} ended with {status}: {lines:#?}", self.log.display());
        }
    }

    /// Kills it at once.
    pub(crate) fn kill(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}
