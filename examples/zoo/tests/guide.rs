//! The pages of the guide whose commands start `zoo`.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]

#[macro_use]
#[path = "../../../apiserver/tests/documents/page.rs"]
mod page;
#[path = "../../../apiserver/tests/documents/session.rs"]
mod session;

use std::path::PathBuf;

use session::Program;

/// Returns the program of the example, and the main server, which is built beside it.
fn programs() -> [Program; 2] {
    let zoo = PathBuf::from(env!("CARGO_BIN_EXE_zoo"));
    let apiserver = zoo.with_file_name("apiserver");
    assert!(
        apiserver.exists(),
        "no main server: `cargo xtask test` builds it, or `cargo build -p apiserver`"
    );
    [Program { name: "zoo", path: zoo }, Program { name: "apiserver", path: apiserver }]
}

follow_pages! {
    "zoo", &programs();
    the_page_on_a_first_resource_shows_the_output_that_there_is => "author/first.md",
    the_page_on_kubebuilder_shows_the_output_that_there_is => "author/kubebuilder.md",
    the_page_on_validation_shows_the_output_that_there_is => "author/validation.md",
    the_page_on_defaults_shows_the_output_that_there_is => "author/defaults.md",
    the_page_on_immutability_shows_the_output_that_there_is => "author/immutability.md",
    the_page_on_status_shows_the_output_that_there_is => "author/status.md",
    the_page_on_subresources_shows_the_output_that_there_is => "author/subresources.md",
    the_page_on_columns_shows_the_output_that_there_is => "author/columns.md",
    the_page_on_selectors_shows_the_output_that_there_is => "author/selectors.md",
    the_page_on_versions_shows_the_output_that_there_is => "author/versions.md",
    the_page_on_admission_shows_the_output_that_there_is => "author/admission.md",
    the_page_on_controllers_shows_the_output_that_there_is => "author/controllers.md",
    the_page_on_extension_servers_shows_the_output_that_there_is => "author/extension.md",
    the_page_on_deploying_shows_the_output_that_there_is => "author/deploying.md",
    the_page_on_upgrading_shows_the_output_that_there_is => "author/upgrading.md",
}
