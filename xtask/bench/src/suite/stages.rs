//! The stages of the suite, over one store.

mod aggregated;
mod custom;
mod events;
mod extension;
mod fairness;
mod gate;
mod pods;
mod requests;
mod restart;
mod testing;

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;

use super::SuiteOptions;
use super::backend::Backend;
use super::etcd::Etcd;
use super::figures::{Figures, Limit};
use crate::Failure;
use crate::closed_loop::Load;
use crate::measurement::Measurement;
use crate::process::{Directory, Launch, ServerProcess};

/// Number of writing clients when throughput is measured.
const WRITERS: usize = 64;

/// Number of clients otherwise.
const CLIENTS: usize = 16;

/// Idle time before a server's memory is measured.
const QUIET: Duration = Duration::from_secs(2);

/// A stage, in the order in which they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Stage {
    /// The time from start to ready, and the memory of an idle server.
    Start,
    /// Writes per second.
    Throughput,
    /// Requests for objects.
    Requests,
    /// Pods, and leases.
    Pods,
    /// Fairness between users.
    Fairness,
    /// Authorization, admission, priority and fairness, and audit.
    Gate,
    /// Watches.
    Events,
    /// Custom resources.
    Custom,
    /// Requests and events that extension servers answer.
    Aggregated,
    /// An extension server behind the main server, and many APIServices.
    Extension,
    /// A restart with many objects.
    Restart,
    /// Servers for tests, in memory.
    Testing,
}

/// The stages over one store.
pub(super) struct Stages<'a> {
    options: &'a SuiteOptions,
    directory: &'a Directory,
    backend: Backend,
    figures: &'a mut Figures,
    etcd: Option<Etcd>,
    /// Number of servers so far, which names the data directories.
    servers: usize,
}

/// The storage of a server.
struct StoragePlace {
    data: PathBuf,
    prefix: String,
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

// === impl Stages ===

impl<'a> Stages<'a> {
    /// All stages over a store.
    pub(super) fn new(
        options: &'a SuiteOptions,
        directory: &'a Directory,
        backend: Backend,
        figures: &'a mut Figures,
    ) -> Self {
        Self { options, directory, backend, figures, etcd: None, servers: 0 }
    }

    /// Runs them.
    pub(super) async fn run(mut self) {
        if self.backend == Backend::Etcd {
            match Etcd::start(&self.directory.join("etcd")).await {
                Ok(etcd) => self.etcd = Some(etcd),
                Err(error) => return self.failed("etcd", error),
            }
        }
        for stage in Stage::value_variants() {
            if !self.options.stages.is_empty() && !self.options.stages.contains(stage) {
                continue;
            }
            let outcome = match stage {
                Stage::Start => self.start().await,
                Stage::Throughput => self.throughput().await,
                Stage::Requests => self.requests().await,
                Stage::Pods => self.pods().await,
                Stage::Fairness => self.fairness().await,
                Stage::Gate => self.gate().await,
                Stage::Events => self.events().await,
                Stage::Custom => self.custom_resources().await,
                Stage::Aggregated => self.aggregated().await,
                Stage::Extension => self.extension().await,
                Stage::Restart => self.restart().await,
                Stage::Testing if self.backend == Backend::Etcd => continue,
                Stage::Testing => self.testing().await,
            };
            if let Err(error) = outcome {
                self.failed(&format!("{stage:?}"), error);
            }
        }
    }

    /// Measures the time from start to ready on an empty store, and the memory of an idle server.
    async fn start(&mut self) -> Result<(), Failure> {
        let mut times = Vec::new();
        let mut idle_mebibytes = 0.0;
        for number in 1..=self.options.starts {
            let place = self.place();
            let server = self.server(&place).await?;
            times.extend(server.ready_after().map(|after| after.as_secs_f64() * 1e3));
            if number == self.options.starts {
                tokio::time::sleep(QUIET).await;
                idle_mebibytes = server.resident_mebibytes();
            }
            server.stop().await;
        }
        self.fact("start to ready, empty store", median(times), "ms", Limit::Most(100.0));
        self.fact("resident memory, idle", idle_mebibytes, "MiB", Limit::Most(28.0));
        Ok(())
    }

    fn fact(&mut self, name: impl Into<String>, value: f64, unit: &'static str, limit: Limit) {
        self.figures.fact(Some(self.backend), name, value, unit, limit);
    }

    fn measured(&mut self, measurement: Measurement) {
        self.figures.measurements.push((self.backend, measurement));
    }

    fn failed(&mut self, stage: &str, error: impl std::fmt::Display) {
        let failure = format!("{}: {stage}: {error}", self.backend.name());
        eprintln!("{failure}");
        self.figures.failures.push(failure);
    }

    /// Returns the storage of a new server.
    fn place(&mut self) -> StoragePlace {
        self.servers += 1;
        let name = format!("{}-{}", self.backend.name(), self.servers);
        StoragePlace { data: self.directory.join(&name), prefix: format!("/{name}") }
    }

    async fn server(&self, place: &StoragePlace) -> Result<ServerProcess, Failure> {
        self.server_with(place, &[]).await
    }

    async fn server_with(&self, place: &StoragePlace, flags: &[String]) -> Result<ServerProcess, Failure> {
        let etcd = self.etcd.as_ref().map(|etcd| (&*etcd.url, &*place.prefix));
        ServerProcess::start(Launch { data: &place.data, etcd, main: None, flags }).await
    }

    fn load(&self, clients: usize) -> Load {
        Load { clients, seconds: self.options.suite_seconds }
    }
}
