//! `cargo xtask bench --instructions`: the number of instructions per operation, as valgrind's callgrind counts them.
//!
//! The numbers hardly depend on the load of the machine, so that differences of a percent can be seen. They say nothing about
//! caches, waiting and the kernel.

mod callgrind;
mod operations;
mod profile;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::Args;

use super::measurement::count;
use super::process::{self, BINARY, Directory};
use crate::Failure;
use callgrind::Callgrind;
use operations::{OPERATIONS, Operation};
use profile::{Profile, Scope};

/// Options of `cargo xtask bench --instructions`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "With --instructions")]
pub(crate) struct InstructionsOptions {
    /// Count the instructions of the server per operation, with everything allowed and objects in memory. Needs valgrind.
    #[arg(long, conflicts_with_all = ["server", "etcd_servers", "only", "suite"])]
    pub(crate) instructions: bool,
    /// The server's program [default: this project's, which is built first].
    #[arg(long, requires = "instructions", value_name = "PROGRAM")]
    binary: Option<PathBuf>,
    /// Count the instructions of this program too, and print the difference to the first one.
    #[arg(long, requires = "instructions", value_name = "PROGRAM")]
    compare: Option<PathBuf>,
    /// Number of counted requests per operation.
    #[arg(long, default_value_t = 200)]
    requests: u32,
    /// Print the functions with the most instructions of their own per operation, or, with --compare, with the largest
    /// differences. Programs need their symbols: CARGO_PROFILE_RELEASE_STRIP=none.
    #[arg(long, default_value_t = 0, value_name = "NUMBER")]
    functions: usize,
}

/// The instructions per operation of one program, in the order of [`OPERATIONS`].
type Counts = Vec<Profile>;

/// Measures one or two programs, and prints the numbers.
pub(crate) async fn run(options: &InstructionsOptions) -> Result<(), Failure> {
    callgrind::find()?;
    let binary = if let Some(binary) = &options.binary {
        binary.clone()
    } else {
        process::build()?;
        BINARY.into()
    };
    let counts = measure(&binary, options.requests).await?;
    let compared = match &options.compare {
        Some(other) => Some(measure(other, options.requests).await?),
        None => None,
    };
    print!("{}", table(&counts, compared.as_ref()));
    if options.functions > 0 {
        print!("{}", functions(&counts, compared.as_ref(), Scope::Own, options.functions));
        print!("{}", functions(&counts, compared.as_ref(), Scope::Inclusive, options.functions));
    }
    Ok(())
}

/// Counts the instructions of all operations of a program.
async fn measure(binary: &Path, requests: u32) -> Result<Counts, Failure> {
    println!("== {} ==", binary.display());
    let directory = Directory::temporary()?;
    let server = Callgrind::start(binary, &directory).await?;
    let mut counts = Counts::new();
    for operation in OPERATIONS {
        let profile = operations::measure(operation, &server, requests).await?;
        println!("{}: {:.0} instructions", operation.name(), profile.total());
        counts.push(profile);
    }
    // An event is what a creation costs more while somebody watches.
    let position = |searched| OPERATIONS.iter().position(|operation| *operation == searched);
    if let (Some(create), Some(watched)) = (position(Operation::Create), position(Operation::WatchedCreate)) {
        let create = counts.get(create).cloned().unwrap_or_default();
        if let Some(watched) = counts.get_mut(watched) {
            *watched = watched.without(&create);
        }
    }
    server.stop().await;
    Ok(counts)
}

/// Returns the table of the totals.
fn table(counts: &Counts, compared: Option<&Counts>) -> String {
    let mut text = match compared {
        Some(_) => "\n| operation | instructions | compared program | difference |\n|---|---|---|---|\n",
        None => "\n| operation | instructions |\n|---|---|\n",
    }
    .to_owned();
    for (at, (operation, profile)) in OPERATIONS.iter().zip(counts).enumerate() {
        let total = profile.total();
        let _ = write!(text, "| {} | {total:.0} |", operation.row());
        if let Some(other) = compared.and_then(|compared| compared.get(at)) {
            let percent = (other.total() / total - 1.0) * 100.0;
            let _ = write!(text, " {:.0} | {percent:+.1} % |", other.total());
        }
        text.push('\n');
    }
    text
}

/// Returns the functions with the most instructions, or with the largest differences, of each operation.
fn functions(counts: &Counts, compared: Option<&Counts>, scope: Scope, number: usize) -> String {
    let mut text = String::new();
    let title = match scope {
        Scope::Own => "of functions alone",
        Scope::Inclusive => "of functions with those that they call",
    };
    for (at, (operation, profile)) in OPERATIONS.iter().zip(counts).enumerate() {
        let _ = writeln!(text, "\n{}, instructions {title}:", operation.row());
        let other = compared.and_then(|compared| compared.get(at));
        let mut rows: HashMap<&str, [f64; 2]> = HashMap::new();
        for (name, own) in profile.functions(scope) {
            rows.entry(name).or_default()[0] = own;
        }
        for (name, own) in other.into_iter().flat_map(|profile| profile.functions(scope)) {
            rows.entry(name).or_default()[1] = own;
        }
        let mut rows: Vec<_> = rows.into_iter().collect();
        let weight = |[own, compared]: [f64; 2]| if other.is_some() { (compared - own).abs() } else { own };
        rows.sort_by(|(_, left), (_, right)| weight(*right).total_cmp(&weight(*left)));
        for (name, [own, compared]) in rows.into_iter().take(number) {
            let _ = match other {
                Some(_) => writeln!(text, "{own:>9.0} {compared:>9.0} {:>+9.0}  {name}", compared - own),
                None => writeln!(text, "{own:>9.0}  {name}"),
            };
        }
    }
    text
}

/// Returns a share of a number of instructions.
fn per_operation(instructions: u64, operations: u32) -> f64 {
    count(instructions) / f64::from(operations.max(1))
}
