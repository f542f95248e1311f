//! The project's own commands: `cargo xtask codegen`, `new`, `tidy`.

mod codegen;
mod new;
mod tidy;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What a command that failed has to say; shown as it is.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The project's own commands.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

/// One variant for each command; its module has its options and a `run`.
#[derive(Debug, Subcommand)]
enum Command {
    Codegen(codegen::Options),
    New(new::Options),
    Tidy(tidy::Options),
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Codegen(options) => codegen::run(&options),
        Command::New(options) => new::run(&options),
        Command::Tidy(options) => tidy::run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}
