//! `cargo xtask bench --suite`: everything the budgets are about, in one run, unattended.
//!
//! Starts its own servers, over the embedded store and over an etcd of its own, and writes one page with plots.

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
use backend::Backend;
use figures::Figures;
use stages::Stages;

/// What `cargo xtask bench --suite` may be told.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "With --suite")]
pub(crate) struct SuiteOptions {
    /// Measure everything, on servers of its own over both stores, and write one page of it.
    #[arg(long, conflicts_with_all = ["server", "etcd_servers", "only"])]
    pub(crate) suite: bool,
    /// How many objects there are while requests are measured.
    #[arg(long, value_delimiter = ',', default_value = "1000,5000,10000,100000")]
    objects: Vec<usize>,
    /// How many watchers there are while events are.
    #[arg(long, value_delimiter = ',', default_value = "1,100,1000,10000")]
    suite_watchers: Vec<usize>,
    /// How many pods of 4 KB the server is restarted with.
    #[arg(long, default_value_t = 150_000)]
    pods: usize,
    /// How long each workload of the suite runs, in seconds.
    #[arg(long, default_value_t = 2)]
    suite_seconds: u64,
    /// How often the server is started on an empty store; the middle one counts.
    #[arg(long, default_value_t = 5)]
    starts: usize,
    /// Only over these stores: embedded, etcd.
    #[arg(long, value_delimiter = ',', default_value = "embedded,etcd")]
    stores: Vec<Backend>,
    /// Measure what target/release has, without building it first.
    #[arg(long)]
    no_build: bool,
}

/// Runs all stages and writes the page. A stage that fails is told in the page; the others still run.
pub(crate) async fn run(options: &SuiteOptions, output: &Path) -> Result<(), String> {
    if !options.no_build {
        process::build()?;
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
    if figures.failures.is_empty() { Ok(()) } else { Err(figures.failures.join("\n")) }
}
