//! `cargo xtask bench --suite`: measures everything with a budget, in one unattended run.
//!
//! Starts its own servers, over the embedded store and over its own etcd, and writes one page with plots.

mod backend;
mod bare;
mod etcd;
mod figures;
mod page;
mod stages;

use std::path::Path;
use std::time::Instant;

use clap::Args;

use super::process::{self, Directory};
use crate::Failure;
use backend::Backend;
use figures::Figures;
use stages::{Stage, Stages};

/// Options of `cargo xtask bench --suite`.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "With --suite")]
pub(crate) struct SuiteOptions {
    /// Measure everything, on its own servers over both stores, and write one page.
    #[arg(long, conflicts_with_all = ["server", "etcd_servers", "only"])]
    pub(crate) suite: bool,
    /// Number of objects while requests are measured.
    #[arg(long, value_delimiter = ',', default_value = "1000,5000,10000,100000")]
    objects: Vec<usize>,
    /// Number of watchers while events are measured.
    #[arg(long, value_delimiter = ',', default_value = "1,100,1000,10000")]
    suite_watchers: Vec<usize>,
    /// Number of pods of 4 KB in the store when the server is restarted.
    #[arg(long, default_value_t = 150_000)]
    pods: usize,
    /// Number of definitions of custom resources.
    #[arg(long, default_value_t = 1_000)]
    definitions: usize,
    /// Duration of each workload of the suite, in seconds.
    #[arg(long, default_value_t = 2)]
    suite_seconds: u64,
    /// Duration of the comparison of idle servers, in seconds.
    #[arg(long, default_value_t = 60)]
    idle_seconds: u64,
    /// Number of starts on an empty store; the median counts.
    #[arg(long, default_value_t = 5)]
    starts: usize,
    /// Only over these stores: embedded, etcd.
    #[arg(long, value_delimiter = ',', default_value = "embedded,etcd")]
    stores: Vec<Backend>,
    /// Only these stages [default: all].
    #[arg(long, value_delimiter = ',')]
    stages: Vec<Stage>,
    /// Measure the binary in target/release, without building it first.
    #[arg(long)]
    no_build: bool,
}

/// Runs all stages and writes the page. The page reports stages that fail; the others still run.
pub(crate) async fn run(options: &SuiteOptions, output: &Path) -> Result<(), Failure> {
    if !options.no_build {
        process::build()?;
        process::build_extension()?;
        bare::build()?;
    }
    let begun = Instant::now();
    let directory = Directory::temporary()?;
    let mut figures = Figures::default();
    figures.binary_size();
    for backend in &options.stores {
        println!("== {} ==", backend.name());
        Stages::new(options, &directory, *backend, &mut figures).run().await;
    }
    let minutes = begun.elapsed().as_secs_f64() / 60.0;
    page::write(&figures, output, minutes)?;
    println!("done in {minutes:.1} minutes");
    if figures.failures.is_empty() { Ok(()) } else { Err(figures.failures.join("\n").into()) }
}
