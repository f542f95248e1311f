//! `cargo xtask tidy`: checks the project rules that no lint checks.

mod circles;
mod crates;
mod dependencies;
mod errors;
mod layers;
mod paths;
mod picture;
mod prose;
mod rules;

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::Failure;
use crate::workspace::{Package, Workspace};
use circles::Modules;
use layers::Layers;

/// Check the project rules that no lint checks.
///
/// Functions of at most 70 lines, modules of at most 500 (tests at their end not counted), `foo.rs` and `foo/…`
/// instead of `mod.rs`, no generic module names, and no unfinished code.
///
/// Documentation does not begin with What, Who, Whose, Whom or How, bindings are not called `one`, functions not `of`, tests
/// not `what_…` or `who_…`, dependencies between modules point down in the table of a crate's lib.rs, and the error of a
/// `Result` is no `String`, tests excepted. The children of a module do not depend on each other in a circle.
///
/// Paths of the tree in documents exist.
///
/// The picture of the crates in docs/architecture.md shows every crate above its dependencies. The numbers of crates in
/// docs/reference/features.md only decrease.
///
/// The licences and sources of dependencies are those that deny.toml allows.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Lower the numbers of crates where there are fewer now
    #[arg(long)]
    write: bool,
}

/// A violation of a rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The line, from 1.
    pub(crate) line: usize,
    /// The message.
    pub(crate) message: String,
}

/// The violations in a workspace.
#[derive(Default)]
struct Found {
    files: usize,
    findings: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(options: &Options) -> Result<(), Failure> {
    let workspace = Workspace::load()?;
    let mut found = Found::default();
    for package in &workspace.packages {
        found.add(&workspace, package)?;
    }
    let page = std::fs::read_to_string(workspace.root.join(picture::PAGE))?;
    found.findings.extend(picture::check(&workspace, &page));
    found.add_documents(&workspace)?;
    found.findings.extend(count_crates(&workspace, options.write)?);
    found.findings.extend(dependencies::check(&workspace.root)?);
    let Found { files, findings } = found;
    if findings.is_empty() {
        println!("{files} files are tidy");
        return Ok(());
    }
    Err(format!("the style rules are broken in {} places\n{}", findings.len(), findings.join("\n")).into())
}

/// Returns what is wrong with the numbers of crates in the page of the features. Lowers them if it `writes`.
fn count_crates(workspace: &Workspace, writes: bool) -> Result<Vec<String>, Failure> {
    let path = workspace.root.join(crates::PAGE);
    let counted = crates::check(workspace, &std::fs::read_to_string(&path)?)?;
    if writes {
        std::fs::write(&path, &counted.page)?;
    } else if !counted.lowered.is_empty() {
        let names = counted.lowered.join(", ");
        println!(
            "{}: {names}: fewer crates; lower the numbers with `cargo xtask tidy --write`",
            crates::PAGE
        );
    }
    Ok(counted.findings)
}

// === impl Found ===

impl Found {
    /// Adds the violations in a package.
    fn add(&mut self, workspace: &Workspace, package: &Package) -> Result<(), Failure> {
        let source = package.folder().join("src");
        let layers = match package.root_file() {
            Ok(root) => Layers::parse(&std::fs::read_to_string(root)?),
            Err(_) => Layers::default(),
        };
        let mut modules = Modules::default();
        for file in rust_files(&source)? {
            self.files += 1;
            let shown = workspace.shown(&file);
            let text = std::fs::read_to_string(&file)?;
            for finding in rules::check(&shown, &text)?.iter().chain(&errors::check(&shown, &text)?) {
                self.findings.push(located(&shown, finding));
            }
            self.add_prose(&shown, &text)?;
            let below = workspace.shown(file.strip_prefix(&source).unwrap_or(&file));
            if rules::is_test(&shown) {
                continue;
            }
            modules.add(&below, &shown, &text)?;
            if !layers.is_empty() {
                let upward = layers.upward(&below, &text)?;
                self.findings.extend(upward.iter().map(|finding| located(&shown, finding)));
            }
        }
        self.findings.extend(modules.circles());
        // The sources below `ui` do not compile, on purpose.
        let tests = package.folder().join("tests");
        if tests.exists() {
            for file in rust_files(&tests)?.iter().filter(|file| !file.starts_with(tests.join("ui"))) {
                self.add_prose(&workspace.shown(file), &std::fs::read_to_string(file)?)?;
            }
        }
        Ok(())
    }

    /// Adds the paths in documents that do not exist.
    fn add_documents(&mut self, workspace: &Workspace) -> Result<(), Failure> {
        let listed =
            Command::new("git").arg("-C").arg(&workspace.root).args(["ls-files", "-z", "*.md"]).output()?;
        for file in String::from_utf8_lossy(&listed.stdout).split('\0').filter(|file| !file.is_empty()) {
            // A file that is listed may have been removed since.
            let path = workspace.root.join(file);
            let Ok(text) = std::fs::read_to_string(&path) else { continue };
            self.files += 1;
            self.findings.extend(
                paths::check(&workspace.root, &path, &text).iter().map(|finding| located(file, finding)),
            );
        }
        Ok(())
    }

    fn add_prose(&mut self, shown: &str, text: &str) -> Result<(), Failure> {
        self.findings.extend(prose::check(shown, text)?.iter().map(|finding| located(shown, finding)));
        Ok(())
    }
}

/// Returns a finding with its file and line.
fn located(shown: &str, finding: &Finding) -> String {
    format!("{shown}:{}: {}", finding.line, finding.message)
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
