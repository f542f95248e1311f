//! `cargo xtask tidy`: checks the project rules that no lint checks.

mod rules;

use std::path::{Path, PathBuf};

use clap::Args;

use crate::Failure;
use crate::workspace::Workspace;

/// Check the project rules that no lint checks.
///
/// Functions of at most 70 lines, modules of at most 500 (tests at their end not counted), `foo.rs` and `foo/…`
/// instead of `mod.rs`, no generic module names, and no unfinished code.
#[derive(Debug, Args)]
pub(crate) struct Options {}

/// A violation of a rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The line, from 1.
    pub(crate) line: usize,
    /// The message.
    pub(crate) message: String,
}

/// Runs the command.
pub(crate) fn run(_options: &Options) -> Result<(), Failure> {
    let workspace = Workspace::load()?;
    let mut findings = Vec::new();
    let mut files = 0_usize;
    for package in &workspace.packages {
        for file in rust_files(&package.folder().join("src"))? {
            files += 1;
            let shown = workspace.shown(&file);
            let text = std::fs::read_to_string(&file)?;
            for finding in rules::check(&shown, &text)? {
                findings.push(format!("{shown}:{}: {}", finding.line, finding.message));
            }
        }
    }
    if findings.is_empty() {
        println!("{files} files are tidy");
        return Ok(());
    }
    Err(format!("the style rules are broken in {} places\n{}", findings.len(), findings.join("\n")).into())
}

/// Returns the Rust files below a folder, without generated ones, in order.
fn rust_files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() && !path.ends_with("generated") {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}
