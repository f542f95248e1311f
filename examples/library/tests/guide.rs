//! The pages of the guide whose commands start `library`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]

#[macro_use]
#[path = "../../../apiserver/tests/documents/page.rs"]
mod page;
#[path = "../../../apiserver/tests/documents/session.rs"]
mod session;

use session::Program;

follow_pages! {
    "library", &[Program { name: "library", path: env!("CARGO_BIN_EXE_library").into() }];
    the_page_on_storage_shows_the_output_that_there_is => "author/storage.md",
}
