//! A server of books, which are files: `cargo run -p library -- --books=shelves`.

use std::path::PathBuf;
use std::process::ExitCode;

use library::book::Book;
use library::directory::Directory;

/// The flags of this server, beside those of every server.
#[derive(clap::Args)]
struct LibraryFlags {
    /// The directory of the books: a file NAMESPACE/NAME.json for each
    #[arg(long, default_value = "books")]
    books: PathBuf,
}

// ANCHOR: main
fn main() -> ExitCode {
    let program = apiserver::program!();
    apiserver::run_extension_customized(program, &[&library::STORAGE_MAP], |server, flags: LibraryFlags| {
        server.backend::<Book>(Directory::new(flags.books))
    })
}
// ANCHOR_END: main
