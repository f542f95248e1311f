//! The project's own commands, `cargo xtask …`.

mod bench;
mod book;
mod chaos;
mod clients;
mod codegen;
mod components;
mod doctor;
mod explain;
mod facts;
mod integration;
mod new;
mod provision;
mod release;
mod replay;
mod test;
mod tidy;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The error of a failed command; shown to the user.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The project's own commands.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// One variant per command, whose module has its options and a `run`.
#[derive(Debug, Subcommand)]
enum Command {
    Codegen(codegen::Options),
    Explain(explain::Options),
    New(new::Options),
    Tidy(tidy::Options),
    /// Run all tests, with everything they need.
    Test(test::Options),
    Bench(bench::Options),
    Book(book::Options),
    Chaos(chaos::Options),
    /// Replay recorded requests and compare the answers with those of a real kube-apiserver.
    Replay(replay::Options),
    Components(components::Options),
    Integration(integration::Options),
    Clients(clients::Options),
    Doctor(doctor::Options),
    Release(release::Options),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Codegen(options) => codegen::run(&options),
        Command::Explain(options) => explain::run(&options),
        Command::New(options) => new::run(&options),
        Command::Tidy(options) => tidy::run(&options),
        Command::Test(options) => test::run(&options),
        Command::Bench(options) => bench::run(&options),
        Command::Book(options) => book::run(&options),
        Command::Chaos(options) => chaos::run(&options),
        Command::Replay(options) => replay::run(&options),
        Command::Components(options) => components::run(&options),
        Command::Integration(options) => integration::run(&options),
        Command::Clients(options) => clients::run(&options),
        Command::Doctor(options) => doctor::run(&options),
        Command::Release(options) => release::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
