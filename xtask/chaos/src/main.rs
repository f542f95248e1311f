//! `cargo xtask chaos`: servers and their store under faults, and checks of everything that clients saw.
//!
//! Servers and members of etcd are processes on loopback ports; clients and proxies are tasks of this one. `docs/reliability.md`
//! says which promises are checked.

mod check;
mod client;
mod cluster;
mod etcd;
mod faults;
mod history;
mod kinds;
mod material;
mod preload;
mod process;
mod proxy;
mod recorder;
mod reflector;
mod report;
mod rights;
mod rolling;
mod round;
mod upkeep;
mod worker;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Parser;
use tokio::signal::unix::{SignalKind, signal};

use cluster::{Cluster, Store};
use faults::{Fault, Injector};
use history::History;
use preload::Library;
use report::Report;

/// Run servers under faults and check everything that clients saw.
#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask chaos",
    bin_name = "cargo xtask chaos",
    after_help = "EXAMPLES:\n  \
    cargo xtask chaos                                       a short run over both stores\n  \
    cargo xtask chaos --store etcd3 --servers 3 --rounds 50 --server target/release/apiserver\n  \
    cargo xtask chaos --faults kill-server,cut-clients      these faults only\n  \
    cargo xtask chaos --replay target/chaos/etcd-seed-1-round-2.jsonl\n\n\
    The seed decides what clients do and which faults there are, but not the order in which processes run: a failure is \
    repeated from its history, not from its seed."
)]
struct Options {
    /// Number of rounds over each store. Each begins with new objects and ends with the checks.
    #[arg(long, default_value_t = 2)]
    rounds: u64,
    /// The seed of all choices.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The stores, one after the other.
    #[arg(long, value_delimiter = ',', default_value = "embedded,etcd")]
    store: Vec<Store>,
    /// Number of servers over the same etcd. Over the embedded store there is one.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=3))]
    servers: u8,
    /// Duration of the faults in each round, in seconds.
    #[arg(long, default_value_t = 15)]
    seconds: u64,
    /// Number of clients that read and write.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=100))]
    clients: u16,
    /// The program of the server [default: the debug build of the workspace]
    #[arg(long, value_name = "PROGRAM", default_value = "target/debug/apiserver", hide_default_value = true)]
    server: PathBuf,
    /// The faults [default: all that the store can have]
    #[arg(long, value_delimiter = ',')]
    faults: Vec<Fault>,
    /// Restart the servers in turn this number of times, as an upgrade does, and inject no faults: each request has to succeed, or
    /// to be refused such that client libraries repeat it.
    #[arg(long, value_name = "RESTARTS", conflicts_with = "rounds")]
    rolling: Option<u64>,
    /// The program of another version. Servers start with it; their restarts upgrade all of them to --server, then downgrade all of
    /// them, and so on.
    #[arg(long, value_name = "PROGRAM", requires = "rolling")]
    previous: Option<PathBuf>,
    /// The directory in which histories and logs of failed rounds are kept.
    #[arg(long, default_value = "target/chaos")]
    output: PathBuf,
    /// Keep the histories of all rounds.
    #[arg(long)]
    keep: bool,
    /// Check the history in a file again, and run nothing.
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
}

/// The error of a failed run; shown to the user.
type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Failure> {
    if let Some(path) = &options.replay {
        return replay(path);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let mut terminated = signal(SignalKind::terminate())?;
        tokio::select! {
            outcome = run_stores(options) => outcome,
            _ = terminated.recv() => Err("terminated".into()),
            interrupted = tokio::signal::ctrl_c() => {
                interrupted?;
                Err("interrupted".into())
            }
        }
    })
}

/// Checks a stored history.
fn replay(path: &std::path::Path) -> Result<(), Failure> {
    let history = History::read(path)?;
    let check::Verdict { violations, in_part } = check::check(&history);
    for violation in &violations {
        println!("violation: {violation}");
    }
    for reason in in_part {
        println!("checked in part: {reason}");
    }
    println!("{} operations, {} violations", history.operations(), violations.len());
    if violations.is_empty() { Ok(()) } else { Err("the history breaks promises".into()) }
}

async fn run_stores(options: &Options) -> Result<(), Failure> {
    let mut reports = String::new();
    let mut problems = Vec::new();
    for store in &options.store {
        let servers = if *store == Store::Embedded { 1 } else { usize::from(options.servers) };
        let possible = Fault::all_for(*store);
        if let Some(fault) = options.faults.iter().find(|fault| !possible.contains(fault)) {
            return Err(format!(
                "--faults={}: there is no such fault with --store={}",
                fault.name(),
                store.name()
            )
            .into());
        }
        let of_store = |failure: Failure| format!("{}: {failure}", store.name());
        if let Some(restarts) = options.rolling {
            reports.push_str(&roll(options, *store, servers, restarts).await.map_err(of_store)?);
            continue;
        }
        let faults = if options.faults.is_empty() { possible } else { options.faults.clone() };
        let mut injector = Injector::new(faults, options.seed);
        let begun = Instant::now();
        let report = run_store(options, *store, servers, &mut injector).await.map_err(of_store)?;
        reports.push_str(&report.text(*store, servers, &injector, begun.elapsed()));
        if report.violations() > 0 {
            problems.push(format!("{}: {} violations", store.name(), report.violations()));
        }
        for change in report.missing(*store) {
            problems.push(format!("{}: {change} was not made while there were faults", store.name()));
        }
        for fault in injector.missing() {
            problems.push(format!(
                "{}: no {} was injected; more rounds have more faults",
                store.name(),
                fault.name()
            ));
        }
    }
    print!("{reports}");
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n").into()) }
}

/// Restarts servers in turn, and returns the report.
async fn roll(options: &Options, store: Store, servers: usize, restarts: u64) -> Result<String, Failure> {
    if servers < 2 {
        return Err("--rolling needs two servers at least, which the embedded store does not have".into());
    }
    std::fs::create_dir_all(&options.output)?;
    let directory = tempfile::Builder::new().prefix("orlop-chaos-").tempdir()?;
    let (program, directory_path) = (&options.server, directory.path());
    let flags = &rolling::FLAGS;
    let plan = cluster::Plan { store, servers, program, directory: directory_path, flags, library: None };
    let (clients, previous) = (options.clients.into(), options.previous.as_deref());
    let plan = rolling::Plan { cluster: &plan, clients, seed: options.seed, restarts, previous };
    let report = rolling::run(&plan).await;
    if report.is_err() {
        keep_logs(directory.path(), options, store)?;
    }
    report
}

async fn run_store(
    options: &Options,
    store: Store,
    servers: usize,
    injector: &mut Injector,
) -> Result<Report, Failure> {
    std::fs::create_dir_all(&options.output)?;
    let directory = tempfile::Builder::new().prefix("orlop-chaos-").tempdir()?;
    let library = Library::compile(directory.path());
    let plan = cluster::Plan {
        store,
        servers,
        program: &options.server,
        directory: directory.path(),
        flags: &[],
        library: library.as_ref().ok(),
    };
    let outcome = async {
        let mut cluster = Cluster::start(&plan).await?;
        if let Some(reason) = unusable(&library, &cluster)? {
            injector.leave_out_library(&reason)?;
        }
        let mut report = Report::default();
        for number in 1..=options.rounds {
            let plan = round::Plan {
                seed: options.seed,
                number,
                rounds: options.rounds,
                keeps: options.keep,
                clients: usize::from(options.clients),
                seconds: options.seconds,
                output: &options.output,
            };
            let begun = Instant::now();
            let outcome = round::run(plan, &mut cluster, injector).await?;
            report.add(store, options.rounds, outcome, begun.elapsed());
        }
        Ok::<Report, Failure>(report)
    };
    let outcome = outcome.await;
    if outcome.as_ref().map_or(true, |report| report.violations() > 0) {
        keep_logs(directory.path(), options, store)?;
    }
    outcome
}

/// Returns the reason for which servers have not loaded the library, if so.
fn unusable(library: &Result<Library, Failure>, cluster: &Cluster) -> Result<Option<String>, Failure> {
    match library {
        Err(reason) => Ok(Some(reason.to_string())),
        Ok(_) if cluster.has_library()? => Ok(None),
        Ok(_) => Ok(Some("the server does not load their library: it is linked statically".to_owned())),
    }
}

/// Keeps the logs of a failed run.
fn keep_logs(directory: &std::path::Path, options: &Options, store: Store) -> Result<(), Failure> {
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "log")
            && let Some(name) = path.file_name()
        {
            let name = format!("{}-seed-{}-{}", store.name(), options.seed, name.display());
            std::fs::copy(&path, options.output.join(name))?;
        }
    }
    println!("logs are kept in {}", options.output.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }
}
