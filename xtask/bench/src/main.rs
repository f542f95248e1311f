//! `cargo xtask bench`: the cost of single operations of any Kubernetes API server.
//!
//! Runs closed loops over TLS and HTTP/2 from this one process. The server's CPU time is read from `/proc`, so the figures
//! are valid on a busy machine, where wall times are not. `cargo xtask bench` builds this program in release mode and runs
//! it in the workspace's folder.

mod budget;
mod client;
mod closed_loop;
mod extension;
mod flood;
mod instructions;
mod machine;
mod measurement;
mod objects;
mod plot;
mod pods;
mod process;
mod report;
mod suite;
mod watching;
mod workload;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use client::Client;
use closed_loop::Load;
use objects::Kind;
use process::{Directory, Launch, ServerProcess};
use report::Report;
use watching::Watching;

/// Measure what one operation costs, in CPU time, latency and memory.
#[derive(Debug, Parser)]
#[command(
    name = "cargo xtask bench",
    bin_name = "cargo xtask bench",
    after_help = "EXAMPLES:\n  \
    cargo xtask bench                       builds this server in release mode, runs it on a temporary directory\n  \
    cargo xtask bench --suite               everything: both stores, all sizes, memory, start; some five minutes\n  \
    cargo xtask bench --instructions --compare OLD --functions 20   instructions per operation of two programs\n  \
    cargo xtask bench --server https://127.0.0.1:6443 --token T --pid 4711 --label kube-apiserver\n  \
    cargo xtask bench --only get,list --seconds 10"
)]
struct Options {
    /// The server to measure; by default this project's own is built and started.
    #[arg(long, requires = "token", requires = "pid")]
    server: Option<String>,
    /// A bearer token with all permissions.
    #[arg(long)]
    token: Option<String>,
    /// The server's process id, for reading its CPU time and memory.
    #[arg(long)]
    pid: Option<u32>,
    /// Start the project's own server over this etcd instead of the embedded store.
    #[arg(long, conflicts_with = "server")]
    etcd_servers: Option<String>,
    /// The server's name in the report.
    #[arg(long, default_value = "orlop")]
    label: String,
    /// Duration of each workload, in seconds.
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Number of concurrent clients, each with its own connection.
    #[arg(long, default_value_t = 16)]
    clients: usize,
    /// Number of watchers of one collection (several numbers make a plot).
    #[arg(long, value_delimiter = ',', default_value = "100,1000")]
    watchers: Vec<usize>,
    /// Number of objects in a list (several numbers make a plot).
    #[arg(long, value_delimiter = ',', default_value = "1000,5000")]
    list_sizes: Vec<usize>,
    /// Only these workloads: get, list, create, watch, pods.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// The directory of the table and the plot.
    #[arg(long, default_value = "docs/benchmarks")]
    output: PathBuf,
    #[command(flatten)]
    suite: suite::SuiteOptions,
    #[command(flatten)]
    instructions: instructions::InstructionsOptions,
    #[command(flatten)]
    flood: flood::FloodOptions,
}

/// The error of a failed measurement; shown to the user.
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

/// Measures, and writes the report.
fn run(arguments: &Options) -> Result<(), Failure> {
    if cfg!(debug_assertions) && !arguments.instructions.instructions {
        return Err(
            "a client with debug assertions would be the bottleneck of every loop: run `cargo xtask bench`, \
                    which builds it in release mode"
                .into(),
        );
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start the runtime: {error}"))?;
    if let (Some(path), Some(url), Some(token)) =
        (&arguments.flood.flood, &arguments.server, &arguments.token)
    {
        return runtime.block_on(flood::run(url, token, path, &arguments.flood));
    }
    if arguments.instructions.instructions {
        return runtime.block_on(instructions::run(&arguments.instructions));
    }
    if arguments.suite.suite {
        return runtime.block_on(suite::run(&arguments.suite, &arguments.output));
    }
    runtime.block_on(measure(arguments))
}

async fn measure(arguments: &Options) -> Result<(), Failure> {
    let directory = Directory::temporary()?;
    let server = if let (Some(url), Some(token), Some(pid)) =
        (&arguments.server, &arguments.token, arguments.pid)
    {
        ServerProcess::attach(url, token, pid)
    } else {
        process::build()?;
        let prefix = format!("/bench-{}", std::process::id());
        let etcd = arguments.etcd_servers.as_deref().map(|servers| (servers, &*prefix));
        ServerProcess::start(Launch { data: &directory.join("data"), etcd, main: None, flags: &[] }).await?
    };
    let client = server.client()?;
    let mut report = Report::new(&arguments.label, arguments.clients, &server);
    let namespace = format!("bench-{}", std::process::id());
    objects::make_namespace(&client, &namespace).await?;
    let outcome = workloads(arguments, &client, &server, &namespace, &mut report).await;
    objects::remove_namespace(&client, &namespace).await;
    outcome?;
    print!("{}", report.table());
    report.write(&arguments.output)
}

async fn workloads(
    arguments: &Options,
    client: &Client,
    server: &ServerProcess,
    namespace: &str,
    report: &mut Report,
) -> Result<(), Failure> {
    let wanted = |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|only| only == name);
    let load = Load { clients: arguments.clients, seconds: arguments.seconds };
    if wanted("get") {
        report.add(workload::get(client, server, namespace, 1, load).await?);
    }
    if wanted("create") {
        report.add(workload::create(client, server, namespace, "create", 1, load).await?);
    }
    if wanted("list") {
        for size in &arguments.list_sizes {
            let namespace = format!("{namespace}-list-{size}");
            objects::make_namespace(client, &namespace).await?;
            objects::fill(client, Kind::ConfigMap, &namespace, 0, *size).await?;
            let collection = Kind::ConfigMap.collection(&namespace);
            let load = Load { clients: 1, ..load };
            let measured = workload::list(client, server, &collection, "list", *size, load).await;
            objects::remove_namespace(client, &namespace).await;
            report.add(measured?);
        }
    }
    if wanted("pods") {
        for measured in pods::all(client, server, pods::LISTED, load).await? {
            report.add(measured);
        }
    }
    if wanted("watch") {
        for watchers in &arguments.watchers {
            let watching = Watching {
                workload: "watch",
                watchers: *watchers,
                per_connection: watching::SHARED,
                deliveries_per_second: None,
                seconds: arguments.seconds,
            };
            report.add(watching::watch(client, server, watching).await?);
        }
    }
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
