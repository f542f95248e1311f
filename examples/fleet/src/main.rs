//! A server of ships: `cargo run -p fleet`.

use std::process::ExitCode;

/// This server has no flags beside those of every server.
#[derive(clap::Args)]
struct NoFlags {}

fn main() -> ExitCode {
    let program = apiserver::program!();
    apiserver::run_extension_customized(program, &[&fleet::STORAGE_MAP], |server, NoFlags {}| {
        fleet::customize(server)
    })
}
