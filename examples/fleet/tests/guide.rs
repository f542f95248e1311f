//! The pages of the guide whose commands start `fleet`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]

#[macro_use]
#[path = "../../../apiserver/tests/documents/page.rs"]
mod page;
#[path = "../../../apiserver/tests/documents/session.rs"]
mod session;

use session::Program;

follow_pages! {
    "fleet", &[Program { name: "fleet", path: env!("CARGO_BIN_EXE_fleet").into() }];
    the_page_on_actions_shows_the_output_that_there_is => "author/actions.md",
}
