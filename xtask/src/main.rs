//! The project's own commands.
mod bench;
mod provision;
mod replay;
mod test;
use clap::Parser;
#[derive(Parser)]
enum Cli {
    Bench(bench::Options),
    Test(test::Options),
    Replay(replay::Options),
}
fn main() -> std::process::ExitCode {
    let result = match Cli::parse() {
        Cli::Bench(a) => bench::run(&a),
        Cli::Test(a) => test::run(&a),
        Cli::Replay(a) => replay::run(&a),
    };
    match result {
        Ok(()) => std::process::ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            std::process::ExitCode::FAILURE
        }
    }
}
